"""The server's tools: what each takes, its checks, its work and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from loop_close.cli.project import NO_RUN, project_at, root_in
from loop_close.cli.project_state import unseen_edits
from loop_close.cli.recorded import NoRunError, loop_words, read, shown, signal_document, summary_of
from loop_close.cli.status import document_of, worst_first
from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.judge import report_of
from loop_close.lazy import dataclass
from loop_close.memory import GROUPS, Breaker
from loop_close.prompt.compose import compose
from loop_close.prompt.report_json import report_document
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.readers.streams import observe
from loop_close.settings import DEFAULT_BUDGET, MIN_BUDGET
from loop_close.store import RunRow
from loop_close.text import listed

# --- what the tools take: their input schemas, and the check of a call against them

#: Seconds that a run of the tests may take by default.
TIME_LIMIT = 600

Kind = Literal["string", "integer", "names"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """An argument of a tool; none has to be given, and null counts as not given.

    :ivar least: of an integer.
    :ivar most: of an integer.
    :ivar among: the names that there are, of ``names``.
    """

    name: str
    kind: Kind
    description: str
    least: int | None = None
    most: int | None = None
    among: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The argument in JSON Schema."""
        if self.kind == "names":
            items = {"type": "string", "enum": list(self.among)}
            return {"type": ["array", "null"], "items": items, "description": self.description}
        bounds = {"minimum": self.least, "maximum": self.most}
        return {
            "type": [self.kind, "null"],
            "description": self.description,
            **{name: bound for name, bound in bounds.items() if bound is not None},
        }


def input_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """What a tool takes, in JSON Schema."""
    return {
        "type": "object",
        "properties": {field.name: field.schema() for field in fields},
        "additionalProperties": False,
    }


def checked(tool: str, fields: Sequence[Field], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that were given.

    :raises ToolError: naming the argument that does not exist or cannot have its value.
    """
    known = {field.name: field for field in fields}
    found = {}
    for name, value in (given or {}).items():
        if name not in known:
            takes = ", ".join(known) or "none"
            raise ToolError(f"{tool} has no argument {name!r}; its arguments: {takes}")
        if value is not None:
            found[name] = _CHECKS[known[name].kind](tool, known[name], value)
    return found


def _string(tool: str, field: Field, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ToolError(f"{tool}: {field.name} must be a string, not {_named(value)}")


def _integer(tool: str, field: Field, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # to JSON 1.0 is the integer 1
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and _is_within(field, value):
        return int(value)
    raise ToolError(f"{tool}: {field.name} must be {_whole_number(field)}, not {_named(value)}")


def _is_within(field: Field, value: int) -> bool:
    return (field.least is None or value >= field.least) and (field.most is None or value <= field.most)


def _whole_number(field: Field) -> str:
    if field.least is None or field.most is None:
        return "a whole number" if field.least is None else f"a whole number, at least {field.least}"
    return f"a whole number from {field.least} to {field.most}"


def _names(tool: str, field: Field, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ToolError(f"{tool}: {field.name} must be an array of strings, not {_named(value)}")
    unknown = [name for name in value if name not in field.among]
    if unknown:
        raise ToolError(f"{tool}: unknown name in {field.name}; known names: {', '.join(field.among)}")
    return value


_TYPES: Mapping[type, str] = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}


def _named(value: Any) -> str:
    """The type, and the value where that is short: it goes back to who sent it."""
    kind = _TYPES.get(type(value), "a number")
    return f"{kind} ({value})" if isinstance(value, bool | int | float) and len(str(value)) < 25 else kind


_CHECKS: Mapping[str, Callable[[str, Field, Any], Any]] = {
    "string": _string,
    "integer": _integer,
    "names": _names,
}


# --- what a tool answers, before it is put into the words of the protocol

_MAX_ITEMS = 25
_MAX_CHARACTERS = 600
_MAX_ERROR = 500
#: What bounds itself, or is a sum.
_WHOLE_NUMBER = ("next_prompt",)


class ToolError(Exception):
    """A call that cannot be answered; the text says why, and what would be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """What a tool answers.

    :ivar text: for a model to read.
    :ivar document: the same as plain values, as the tool's output schema describes them; None with an error.
    :ivar is_error: the call could not be answered. Failing tests and a loop that is stuck are answers.
    :ivar meta: for the host, by reverse-DNS key.
    """

    text: str
    document: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, bool] = field(default_factory=dict)


def failed(why: str) -> ToolAnswer:
    """The answer to a call that cannot be answered, on one line."""
    return ToolAnswer(text=shown(why, _MAX_ERROR), is_error=True)


def bounded(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its lists and texts cut, and with what was left out counted as ``omitted``.

    A host cuts or refuses what is long, and the next prompt says what counts.
    """
    omitted: dict[str, int] = {}
    found = {
        key: value if key in _WHOLE_NUMBER else _cut(value, key, omitted) for key, value in document.items()
    }
    return {**found, "omitted": omitted}


def _cut(value: Any, key: str, omitted: dict[str, int]) -> Any:
    if isinstance(value, Mapping):
        return {name: _cut(each, name, omitted) for name, each in value.items()}
    if isinstance(value, list):
        more = len(value) - _MAX_ITEMS
        if more > 0:
            omitted[key] = omitted.get(key, 0) + more
        return [_cut(each, key, omitted) for each in value[:_MAX_ITEMS]]
    if isinstance(value, str) and len(value) > _MAX_CHARACTERS:
        return f"{value[: _MAX_CHARACTERS - 1]}…"
    return value


# --- what the tools answer, in JSON Schema (2020-12). Further keys may come; those that are named stay

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [*properties]}


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

REPORT_SCHEMA = _object(
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

_SOURCE_SCHEMA = _object(
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

STATUS_SCHEMA = _object(
    {
        "schema": {"const": "loop-close.status/1"},
        "verdict": _said(
            ("green", "failing", "stuck", "unknown", "none"),
            "The worst state of all sources; unknown: edited since all tests ran; none: no runs recorded.",
        ),
        "edited": _list(_TEXT),
        "sources": _list(_SOURCE_SCHEMA),
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

HISTORY_SCHEMA = _object({"schema": {"const": "loop-close.runs/1"}, "runs": _list(_RUN)})

RUN_SCHEMA = _object(
    {
        "schema": {"const": "loop-close.run/1"},
        "command": {**_TEXT, "description": "The command that ran: the setting test_command."},
        "exit_code": _or_null("integer"),
        "timed_out": _FLAG,
        "standing": _STANDING,
        "next_prompt": _TEXT,
        "prompt_file": _TEXT,
        "sources": {
            **_list(_SOURCE_SCHEMA),
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


# --- the tool ``loop_close``: what a command printed, to a report; it keeps and changes nothing

_MAX_NAME = 100


def close_streams(
    stdout: str = "",
    stderr: str = "",
    exit_code: int | None = None,
    source: str = "output",
    budget: int = DEFAULT_BUDGET,
    detectors: Sequence[str] | None = None,
) -> ToolAnswer:
    """The report on the streams and exit code of a command; the same input gives the same answer.

    :param source: what the run is called.
    :param budget: tokens that the prompt may cost.
    :param detectors: ids of those that look at the output; None for all.
    """
    observation = observe(
        stdout, stderr, exit_code, root=root_in((stdout, stderr)), source=shown(source, _MAX_NAME)
    )
    chosen = [each for each in DEFAULT_DETECTORS if detectors is None or each.id in detectors]
    report = report_of(observation, detectors=chosen)
    prompt = compose(report, DEFAULT_SECTIONS, budget=budget)
    document: dict[str, Any] = report_document(report, prompt)
    return ToolAnswer(text=prompt, document=bounded(document))


# --- the tools ``loop_status`` and ``loop_history``: what is remembered, read and not changed

_RUNS = 20
_NAMED = 5


def loop_status(source: str | None = None) -> ToolAnswer:
    """The status of the sources, the worst first; it is not an error if no run is recorded."""
    try:
        document = status_document(source)
    except NoRunError:
        if source is not None:
            raise
        document = {"schema": "loop-close.status/1", "verdict": "none", "edited": [], "sources": []}
    lines = [line for each in document["sources"] for line in _source_lines(each)]
    if document["edited"]:
        lines.append(f"edited since all tests ran: {', '.join(document['edited'][:_NAMED])}; run the tests")
    return ToolAnswer(text="\n".join(lines) or NO_RUN, document=document)


def status_document(source: str | None = None) -> dict[str, Any]:
    """What ``loop-close status --json`` prints.

    :raises UsageError: when nothing is remembered, or cannot be read.
    """
    project = project_at(Path.cwd())
    found = worst_first(project, source)
    edited, stale = unseen_edits(project, source, is_green=found[0].verdict == "green")
    return document_of(found, edited=edited, stale=stale)


def _source_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """A source as ``status`` shows it, shortened."""
    reason = f": {document['stall_reason']}" if document["stall_reason"] else ""
    known = (
        f"{document['verdict']} in run {document['run']}{reason}"
        if document["run"]
        else "no run has finished"
    )
    edited = f"; edited since: {listed(document['edited'], _NAMED)}" if document["edited"] else ""
    yield f"{document['source']}: {document['standing']} ({known}{edited})"
    if document["failing"]:
        named = ("fixed", "new", "changed", "unresolved")
        moved = ", ".join(f"{document[name]} {name}" for name in named if any(map(document.get, named)))
        yield f"  {document['failing']} failing{': ' if moved else ''}{moved}"
    if document["breaker"]["state"] != "closed":
        yield f"  {loop_words(Breaker(**document['breaker']))}"
    if names := document["not_run_here"]:
        yield f"  not green here since: {listed(names, _NAMED)}"
    if changes := [each for each in document["test_changes"] if each["state"] in ("open", "asked")]:
        tests = listed(changes, _NAMED, lambda each: f"{each['file']}::{each['test']} ({each['what']})")
        yield f"  tests that were changed: {tests}"
    if not_run := document["edits_not_run"]:
        names = listed(not_run, _NAMED, lambda each: f"{each['function']} ({each['file']})")
        yield f"  not run by any test, of {document['edited_functions']} edited functions: {names}"
    for signal in document["signals"]:
        yield f"  {signal['kind']}: {signal['explanation']}"
    if document["state"] != "done":
        yield f"  run {document['last_run']}: {document['state']}"
    if document["prompt"]:
        yield f"  prompt: {document['prompt']}"


def loop_history(source: str | None = None, limit: int = _RUNS) -> ToolAnswer:
    """The last runs, the newest last."""
    place = project_at(Path.cwd())
    try:
        rows = read(place.history, lambda history: history.rows(source, limit), source)
    except NoRunError:
        if source is not None:
            raise
        rows = ()
    runs = [_run_document(row) for row in rows]
    text = "\n".join(map(_run_line, runs)) or NO_RUN
    return ToolAnswer(text=text, document={"schema": "loop-close.runs/1", "runs": runs})


def _run_document(row: RunRow) -> dict[str, Any]:
    """A run as a line of ``history`` shows it."""
    summary = summary_of(row)
    return {
        "source": shown(row.source),
        "run": row.number,
        "state": row.state,
        "started": row.started,
        "ended": row.ended,
        "verdict": summary.verdict,
        "stall_reason": summary.reason,
        "failing": summary.failing,
        "moved": dict(summary.counts),
        "breaker": {"state": summary.breaker.state, "reason": shown(summary.breaker.reason)},
        "signals": [signal_document(signal)["kind"] for signal in summary.fired],
    }


def _run_line(document: Mapping[str, Any]) -> str:
    moved = ", ".join(f"{number} {name}" for name, number in document["moved"].items() if number)
    failing = "" if document["failing"] is None else f", {document['failing']} failing"
    signals = f"; {', '.join(document['signals'])}" if document["signals"] else ""
    breaker = Breaker(**document["breaker"])
    loop = f"; {loop_words(breaker)}" if breaker.state != "closed" else ""
    counts = f" ({moved})" if moved else ""
    return (
        f"{document['source']}, run {document['run']}: {document['verdict']}{failing}{counts}{loop}{signals}"
    )


_MAX_BUDGET = 50_000
_MAX_RUNS = 200
_MAX_SECONDS = 3_600
_SOURCE = Field(
    name="source",
    kind="string",
    description="Only this source of runs, for example 'pytest' (default: all sources).",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool.

    :ivar work: its function; None for ``loop_run``, which is asynchronous.
    :ivar is_read_only: it changes nothing, neither files nor what is remembered.
    """

    name: str
    title: str
    description: str
    fields: tuple[Field, ...]
    output: Mapping[str, Any]
    is_read_only: bool = True
    work: Callable[..., ToolAnswer] | None = None


_CLOSE = Tool(
    name="loop_close",
    title="Read test output",
    description="Reads the output of a test command, type checker or linter. Returns what is wrong, grouped by root"
    " cause, and what to do next. No side effects: the same input gives the same answer.",
    fields=(
        Field(
            name="stdout",
            kind="string",
            description="Output of the command. Only the last 1,000,000 characters are read.",
        ),
        Field(
            name="stderr",
            kind="string",
            description="Standard error of the command, if it is separate from stdout.",
        ),
        Field(name="exit_code", kind="integer", description="Exit code of the command. Omit it if unknown."),
        Field(name="source", kind="string", description="Name of the source of this run (default: output)."),
        Field(
            name="detectors",
            kind="names",
            among=tuple(detector.id for detector in DEFAULT_DETECTORS),
            description="Only these detectors look at the output (default: all).",
        ),
        Field(
            name="budget",
            kind="integer",
            least=MIN_BUDGET,
            most=_MAX_BUDGET,
            description=f"Maximum length of the next prompt in tokens (default: {DEFAULT_BUDGET}).",
        ),
    ),
    output=REPORT_SCHEMA,
    work=close_streams,
)
_STATUS = Tool(
    name="loop_status",
    title="State of the loop",
    description="Returns for each source of test runs whether its last run left it green, failing or stuck, with the"
    " reasons. Runs nothing.",
    fields=(_SOURCE,),
    output=STATUS_SCHEMA,
    work=loop_status,
)
_HISTORY = Tool(
    name="loop_history",
    title="Earlier test runs",
    description="Lists the recorded test runs, newest last, with verdict, failures and progress. Runs nothing.",
    fields=(
        _SOURCE,
        Field(
            name="limit",
            kind="integer",
            least=1,
            most=_MAX_RUNS,
            description="Number of runs (default: 20).",
        ),
    ),
    output=HISTORY_SCHEMA,
    work=loop_history,
)
RUN = Tool(
    name="loop_run",
    title="Run the tests",
    description="Runs the project's tests with the command from its settings ([tool.loop-close] test_command), records"
    " the run, and returns the next prompt: what is broken, by root cause, whether the loop makes progress, and"
    " whether to continue. The caller cannot choose the command.",
    fields=(
        Field(
            name="time_limit",
            kind="integer",
            least=1,
            most=_MAX_SECONDS,
            description=f"Time limit for the tests in seconds (default: {TIME_LIMIT}).",
        ),
    ),
    output=RUN_SCHEMA,
    is_read_only=False,
)

TOOLS: tuple[Tool, ...] = (_CLOSE, _STATUS, _HISTORY, RUN)
INSTRUCTIONS = (
    "loop-close reads and records test runs. After an edit, call loop_run: it runs the tests and returns the next"
    " prompt. Call loop_status to see whether the loop makes progress or is stuck. Call loop_close to read output that"
    " you already have."
)
