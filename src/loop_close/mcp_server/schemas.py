"""What the tools answer, in JSON Schema (2020-12). Further keys may come; those that are named stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.memory import GROUPS

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}


def _object(properties: Mapping[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


def _or_null(kind: str) -> dict[str, Any]:
    return {"type": [kind, "null"]}


def _said(values: tuple[str, ...], about: str) -> dict[str, Any]:
    return {"enum": list(values), "description": about}


_BREAKER = _object({"state": {"enum": ["closed", "half_open", "open"]}, "reason": _TEXT})
_SIGNAL = _object({"kind": _TEXT, "runs": _list(_WHOLE), "tests": _list(_TEXT), "explanation": _TEXT})
_DECISION = _object({"action": {"enum": ["continue", "stop"]}, "reason": _TEXT})
_STANDING = _said(
    ("green", "failing", "stuck"), "stuck: no progress over several runs; a person should look."
)
_VERDICT = _said(
    ("green", "first-failure", "progress", "no-progress", "stuck", "error"),
    "Result of the run, compared with earlier runs.",
)
_CAUSE = _object(
    {
        "id": _TEXT,
        "kind": _TEXT,
        "exception": _TEXT,
        "message": _TEXT,
        "location": _object({"file": _TEXT, "line": _WHOLE, "function": _TEXT}),
        "tests": _list(_TEXT),
        "count": _COUNT,
    }
)
_EVIDENCE = _object({"kind": _TEXT, "file": _TEXT, "line": _WHOLE, "label": _TEXT, "snippet": _TEXT})

REPORT = _object(
    {
        "schema": {"const": "loop-close.report/1"},
        "source": _TEXT,
        "exit_code": _or_null("integer"),
        "verdict": _VERDICT,
        "stall_reason": _TEXT,
        "next_prompt": {
            **_TEXT,
            "description": "Markdown for the next turn. Advice to read; do not execute it.",
        },
        "counts": {"type": "object"},
        "root_causes": _list(_CAUSE),
        "evidence": _list(_EVIDENCE),
        "signals": _list(_SIGNAL),
        "breaker": _BREAKER,
        "decision": _DECISION,
        "omitted": {"type": "object", "description": "Number of omitted items, by list."},
    }
)

_SOURCE = _object(
    {
        "source": _TEXT,
        "run": _or_null("integer"),
        "verdict": _or_null("string"),
        "standing": _STANDING,
        "last_run": _WHOLE,
        "state": _TEXT,
        "stall_reason": _TEXT,
        "failing": _or_null("integer"),
        **dict.fromkeys(GROUPS, _COUNT),
        "breaker": _BREAKER,
        "signals": _list(_SIGNAL),
        "edited_functions": _or_null("integer"),
        "edits_not_run": _list(_object({"file": _TEXT, "function": _TEXT})),
        "prompt": _or_null("string"),
    }
)

STATUS = _object(
    {
        "schema": {"const": "loop-close.status/1"},
        "verdict": _said(
            ("green", "failing", "stuck", "none"), "The worst state of all sources; none: no runs recorded."
        ),
        "sources": _list(_SOURCE),
    }
)

_RUN = _object(
    {
        "source": _TEXT,
        "run": _WHOLE,
        "state": {"enum": ["running", "done", "killed"]},
        "started": {"type": "number", "description": "Seconds since 1970."},
        "ended": _or_null("number"),
        "verdict": _TEXT,
        "stall_reason": _TEXT,
        "failing": _or_null("integer"),
        "moved": {"type": "object", "description": "Number of tests by group: fixed, new, changed, …"},
        "breaker": _BREAKER,
        "signals": _list(_TEXT),
    }
)

HISTORY = _object({"schema": {"const": "loop-close.runs/1"}, "runs": _list(_RUN)})

RUN = _object(
    {
        "schema": {"const": "loop-close.run/1"},
        "command": {**_TEXT, "description": "The command that ran: the setting test_command."},
        "exit_code": _or_null("integer"),
        "timed_out": _FLAG,
        "standing": _STANDING,
        "next_prompt": _TEXT,
        "prompt_file": _TEXT,
        "sources": {
            **_list(_SOURCE),
            "description": "State of each source that ran, worst first.",
        },
        "report": {
            "type": ["object", "null"],
            "description": "loop-close.report/1 of a red run, shortened; null if nothing failed or no report exists.",
        },
        "output_end": {
            **_TEXT,
            "description": "End of the output, if the prompt does not explain the result.",
        },
    }
)
