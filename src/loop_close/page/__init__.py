"""The history as one self-contained HTML page: template, style and script beside this module, data in JSON."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loop_close import files
from loop_close.emit.charts import TEXT_RUNS, history_lines
from loop_close.emit.report import ReportError, checked, parsed
from loop_close.emit.timeline import (
    OUTCOMES,
    VERDICTS,
    Timeline,
    TimelineCause,
    run_lengths,
    source_of,
    timeline,
)
from loop_close.prompt.place import percent
from loop_close.records import Run, Signal, State

#: How a page of ours begins: no other file is replaced.
BEGINNING = "<!doctype html>\n<!-- loop-close report -->"
#: How many runs a page shows by default.
RUNS = 500
_FOLDER = Path(__file__).parent
_MAX_REPORT = 50_000_000
_UNESCAPED = ("style", "script", "data")
_MARK = re.compile(r"\{\{([a-z-]+)\}\}")


def read_timeline(
    runs: Sequence[Run],
    root: Path,
    *,
    source: str | None = None,
    limit: int = RUNS,
    state: State | None = None,
    signals: Sequence[Signal] = (),
) -> Timeline:
    """The last of these runs, as the page shows them.

    :param root: the project's root, whose report of the last run says more of its root causes.
    :param source: only runs of this check or source; None for all.
    :param state: what the gate says; ``signals`` those of the loop.
    """
    chosen = [run for run in runs if source in (None, source_of(run))]
    shown, omitted = chosen[-limit:], max(0, len(chosen) - limit)
    latest = latest_causes(root, shown)
    return timeline(shown, root.name, state=state, signals=signals, latest=latest, omitted=omitted)


def latest_causes(root: Path, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The root causes of the report in the state folder; empty if it is of another run, or cannot be read."""
    path = root / files.REPORT
    try:
        if not path.is_file() or path.stat().st_size > _MAX_REPORT:  # a pipe would wait for a writer
            return []
        plain = parsed(path.read_text(encoding="utf-8", errors="replace"))
        document = checked(plain)
    except (OSError, ReportError):
        return []
    is_of_last = bool(runs) and plain.get("number") == runs[-1].number
    return list(document["root_causes"]) if is_of_last else []


def lines_of_runs(runs: Sequence[Run], source: str) -> list[str]:
    """The trend and the heat map of a source's last runs, as Markdown; empty if there is nothing to compare."""
    return history_lines(timeline([run for run in runs if source_of(run) == source][-TEXT_RUNS:]), source)


def page_of(shown: Timeline) -> str:
    """The page: the same timeline gives the same bytes. It loads nothing, and nothing in it but its script runs."""
    style, script = _asset("page.css"), _asset("page.js")
    parts = {
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "title": shown.project or "Tests",
        "style": style,
        "data": _island(_document(shown)),
        "script": script,
    }
    # In one pass: what is put in is never read as a part of the template.
    return _MARK.sub(lambda found: _filled(found[1], parts[found[1]]), _asset("page.html"))


def _filled(name: str, text: str) -> str:
    """A part for the template: escaped, unless it is named as code of ours or as escaped data."""
    return text if name in _UNESCAPED else html.escape(text)


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _island(document: Mapping[str, Any]) -> str:
    """JSON for an element of HTML: ASCII without the characters that could end the element or begin another."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _document(shown: Timeline) -> dict[str, Any]:
    """The timeline in few bytes: texts that come again are numbers, cells are run lengths."""
    texts: dict[str, int] = {}
    runs = [
        [
            run.source,
            run.number,
            run.started,
            run.seconds,
            run.verdict,
            run.failing,
            run.passed,
            run.skipped,
            run.edit,
            [texts.setdefault(each, len(texts)) for each in run.edits],
            [texts.setdefault(": ".join(each), len(texts)) for each in run.signals],
        ]
        for run in shown.runs
    ]
    return {
        "project": shown.project,
        "state": shown.state,
        "sources": shown.sources,
        "outcomes": {letter: list(words) for letter, words in OUTCOMES.items()},
        "verdicts": dict(VERDICTS),
        "runs": runs,
        "texts": list(texts),
        "tests": [[test.name, run_lengths(test.cells), _lengths(test.causes)] for test in shown.tests],
        "causes": [_cause(each) for each in shown.causes],
        "leftOut": shown.left_out,
    }


def _lengths(numbers: Sequence[int]) -> list[int]:
    """Each number and how often it is repeated, one after the other."""
    found: list[int] = []
    for number in numbers:
        if found and found[-2] == number:
            found[-1] += 1
        else:
            found += [number, 1]
    return found


def _cause(cause: TimelineCause) -> dict[str, Any]:
    facts = cause.facts
    at = facts["location"]
    return {
        "title": cause.title,
        "exception": facts["exception"] or facts["kind"],
        "message": facts["message"][:1_000],
        "where": f"{at['file']}:{at['line']}" if at["line"] else at["file"],
        "function": at["function"],
        "suspects": [
            {
                "where": f"{each['file']}:{each['line']}" if each["line"] else each["file"],
                "function": each["function"],
                "percent": percent(each["score"]),
                "score": round(each["score"], 3),
                "reasons": each["reasons"][:6],
            }
            for each in facts["suspects"][:5]
        ],
        "runs": [number for pair in sorted(cause.runs.items()) for number in pair],
        "tests": cause.tests,
        "count": len(facts["tests"]),
        "isCurrent": cause.is_current,
        "isCheck": cause.is_check,
        "prompt": cause.prompt,
    }
