"""The report as JSON, schema ``loop-close.report/1``: its records, which the schema is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from loop_close import model
from loop_close.facts import differences, failure_place, innermost, links, values
from loop_close.model import Difference, Line, Phase, Place, Provenance, SecondLook, Suspect
from loop_close.prompt import safe
from loop_close.prompt.cause import all_reasons
from loop_close.prompt.loop import attempts_at
from loop_close.prompt.place import place_in_words, probable_place
from loop_close.prompt.sections import alone, in_short
from loop_close.records import Counts, Edits, Loop, Record, Signal, State
from loop_close.text import one_line, with_texts

SCHEMA = "loop-close.report/1"


class Link(Place, frozen=True, kw_only=True):
    """An exception, at the frame in the project that is nearest to it.

    :ivar nearest: existing names that are similar to the missing one, the most similar first.
    :ivar members: the exceptions of an exception group.
    """

    exception: str
    message: str
    nearest: tuple[str, ...] = ()
    members: tuple[Link, ...] = ()


class Evidence(Record, frozen=True):
    """A failure, or a finding that is of no test.

    :ivar test: the node id; empty for what is of no test. A finding has none of what follows.
    :ivar cause: the id of the root cause.
    :ivar chain: the exception, then what it was raised from.
    :ivar differences: where the two values that an assertion compared first differ.
    :ivar values: the names in the failing statement with their values, in its order.
    :ivar again: what a second look at the test saw.
    """

    kind: str
    file: str
    line: Line
    snippet: str
    label: str = ""
    test: str = ""
    phase: Phase | None = None
    subtest: str = ""
    cause: str = ""
    chain: tuple[Link, ...] = ()
    differences: tuple[Difference, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    again: SecondLook | None = None


class Cause(Record, frozen=True):
    """A root cause.

    :ivar id: the same in every run with this cause.
    :ivar title: where to look first and how probable it is, or what failed and where.
    :ivar place: where to look first; ``location`` is where it failed.
    :ivar count: how many failures there are of it.
    :ivar attempts: how many edits did not clear it.
    :ivar findings: what else was found in the first suspects.
    """

    id: str
    kind: str
    title: str
    message: str
    exception: str = ""
    place: Place = model.NO_PLACE
    location: Place = model.NO_PLACE
    tests: tuple[str, ...] = ()
    count: int = 0
    attempts: int = 0
    suspects: tuple[Suspect, ...] = ()
    findings: tuple[Evidence, ...] = ()

    @property
    def said(self) -> str:
        """What was raised, on the lines of its message; an assertion needs no name."""
        message = self.message or self.kind
        is_named = message.startswith(("assert ", self.exception))  # as any text does with no exception
        return message if is_named else f"{self.exception}: {message}"


class Source(Record, frozen=True):
    """The result of one source: what ran, and where.

    :ivar summary: in a line.
    :ivar root_causes: their ids; ``failed`` names the tests.
    :ivar scope: how tests were chosen; empty for all.
    :ivar rerun: the command that runs just the failing tests again; empty for none.
    """

    source: str
    summary: str
    verdict: model.Verdict = "error"
    counts: Counts = Counts()
    root_causes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    incomplete: str = ""
    run: Provenance = Provenance()
    scope: str = ""
    rerun: str = ""


class Tracked(Record, frozen=True):
    """Of how many tests it is known which functions they called.

    :ivar omitted: failing tests of which it is not known.
    :ivar remembered: how many of the passing tests are known from an earlier run.
    :ivar why_off: why nothing is known; empty otherwise.
    """

    failing: int = 0
    passing: int = 0
    omitted: int = 0
    remembered: int = 0
    why_off: str = ""


class Without(Record, frozen=True):
    """What the present tests say without the edits of some files.

    :ivar files: they were as in the run that is compared with.
    :ivar is_chosen: only tests ran that are known to have run the edited functions, at most three of each.
    :ivar ran: how many tests passed or failed; ``failing`` how many failed, and ``failed`` names them, bounded.
    :ivar uncollected: modules that could not be collected, bounded.
    :ivar absent: how many test functions ran with the edits, and not without them.
    :ivar apart: how many failed that do not pass in a copy with the edits either. They count nowhere else.
    :ivar reason: why nothing is known, or a part is missing; empty if all is known.
    """

    files: tuple[str, ...]
    is_chosen: bool = False
    ran: int = 0
    failing: int = 0
    failed: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()
    absent: int = 0
    apart: int = 0
    reason: str = ""

    @property
    def is_noticed(self) -> bool:
        """Whether a test fails, or a module cannot be collected."""
        return bool(self.failing or self.uncollected)


class Undo(Record, frozen=True):
    """Whether a test notices the edits, as ``loop-close check --undo`` finds out.

    :ivar tree: the digest of the files.
    :ivar run: the number of the run with whose files they were compared: the last one that was done, else the first.
    :ivar seconds: the time limit.
    :ivar found: of all edited files together, then of each, if there are several.
    :ivar left_out: checks of which no pytest reported.
    :ivar reason: why nothing was asked; empty otherwise.
    """

    tree: str
    run: int = 0
    seconds: float = 0.0
    found: tuple[Without, ...] = ()
    left_out: tuple[str, ...] = ()
    reason: str = ""


class Document(Record, frozen=True, kw_only=True):
    """A report. Paths are relative to the root, with forward slashes; lines count from 1, 0 is unknown.

    Each text is free of control characters and credentials.

    :ivar summary: the result of the run, in a line.
    :ivar source: what made the run, such as ``pytest``; ``number`` is that of the run in the history, 0 without one.
    :ivar scope: how tests were chosen on the command line; empty for all.
    :ivar verdict: what the run shows by itself; ``error``: it is not green, and no failure is known.
    :ivar stall_reason: the most blocking kind with its number, ``no-stall-detected``, or why the run shows nothing.
    :ivar incomplete: why the run is incomplete; empty if it is complete.
    :ivar next_prompt: the text for the agent's next turn, as Markdown.
    :ivar loop: the runs since the project was last done, with this one.
    :ivar signals: why the loop does not advance, the most telling first.
    :ivar state: whether the work is done; None where nothing asked.
    :ivar since: how the files differ from those after the run ``loop.base``.
    :ivar undo: None where ``loop-close check --undo`` did not ask.
    :ivar edited: after a green run of all tests, the functions that were edited since the loop began, each as file,
        qualified name, and whether a test ran it; None if it is not known.
    :ivar shared: what other agents tried for the root causes; None without a shared history.
    :ivar sources: in a report of several.
    :ivar parts: what ``loop-close merge`` reads: what each process reported, packed.
    """

    schema: str = SCHEMA
    summary: str
    source: str = ""
    number: int = 0
    run: Provenance = Provenance()
    scope: str = ""
    exit_code: int | None = None
    verdict: model.Verdict
    stall_reason: str = ""
    incomplete: str
    next_prompt: str = ""
    counts: Counts = Counts()
    loop: Loop = Loop()
    signals: tuple[Signal, ...] = ()
    state: State | None = None
    since: Edits = Edits()
    undo: Undo | None = None
    edited: tuple[tuple[str, str, bool], ...] | None = None
    calls: Tracked = Tracked()
    root_causes: tuple[Cause, ...]
    shared: tuple[model.OtherAttempt, ...] | None = None
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]
    parts: tuple[str, ...] = ()


def report_document(report: model.Report, next_prompt: str) -> dict[str, Any]:
    """The report as plain values, every text made safe."""
    seen, calls, loop = report.observation, report.observation.calls, report.loop
    causes = {id(each): cause.id for cause in report.causes for each in (*cause.evidence, *cause.findings)}
    made = Document(
        summary=in_short(report),
        source=seen.source,
        number=report.run,
        run=seen.provenance,
        scope=seen.scope,
        exit_code=seen.exit_code,
        verdict=report.verdict,
        stall_reason=report.stall_reason,
        incomplete=seen.incomplete,
        next_prompt=next_prompt,
        counts=seen.counts,
        loop=loop,
        signals=report.signals,
        state=report.state,
        since=report.since,
        edited=report.edited,
        calls=Tracked(
            failing=len(calls.failed),
            passing=calls.passed,
            omitted=calls.omitted,
            remembered=calls.remembered,
            why_off=seen.why_no_calls,
        ),
        root_causes=tuple(_cause(each, loop) for each in report.causes),
        shared=report.shared,
        sources=tuple(map(_source, report.sources)),
        evidence=tuple(_evidence(each, causes.get(id(each), "")) for each in report.evidence),
    )
    return dict(safe_values(made))


def safe_values(value: Any) -> Any:
    """A record, or what holds records, as the values of JSON, every text made safe; the next prompt is."""
    return with_texts(value, lambda text, field: text if field == "next_prompt" else safe(text))


def _source(each: model.SourceResult) -> Source:
    seen = each.observation
    return Source(
        source=each.source,
        verdict=each.verdict,
        summary=in_short(alone(each)),
        counts=seen.counts,
        root_causes=each.causes,
        failed=tuple(sorted({f.nodeid for f in seen.failures if f.nodeid})),
        incomplete=seen.incomplete,
        run=seen.provenance,
        scope=seen.scope,
        rerun="" if each.verdict == "green" else seen.rerun,
    )


def _cause(cause: model.RootCause, loop: Loop) -> Cause:
    failure, tests = cause.failures[0], [each.nodeid for each in cause.failures]
    file, line, function = failure_place(failure)
    return Cause(
        id=cause.id,
        kind=cause.kind,
        title=place_in_words(cause, one_line),
        exception=failure.exception,
        message=failure.message,
        place=probable_place(cause),
        location=Place(file=file, line=line, function=function),
        tests=tuple(sorted(set(tests))),
        count=len(tests),
        attempts=attempts_at(cause, loop),
        suspects=tuple(replace(each, reasons=tuple(all_reasons(each))) for each in cause.suspects),
        findings=tuple(_evidence(each, cause.id) for each in cause.findings),
    )


def _evidence(evidence: model.Evidence, cause: str) -> Evidence:
    found = Evidence(
        kind=evidence.kind,
        file=evidence.file,
        line=evidence.line,
        label=evidence.label,
        snippet=evidence.snippet,
    )
    failure = evidence.failure
    if failure is None:
        return found
    return replace(
        found,
        test=failure.nodeid,
        phase=failure.phase,
        cause=cause,
        subtest=failure.subtest,
        chain=tuple(_link(each) for each in links(failure.raised)),
        differences=differences(failure),
        values=values(failure),
        again=failure.again,
    )


def _link(raised: model.Raised) -> Link:
    at = innermost(raised) or model.NO_PLACE
    return Link(
        exception=raised.type,
        message=raised.message,
        file=at.file,
        line=at.line,
        function=at.function,
        nearest=raised.nearest,
        members=tuple(map(_link, raised.members)),
    )


def dump(document: Mapping[str, Any]) -> Iterator[str]:
    """JSON text in pieces: one line for each key, and for each item of a list of objects.

    Such lines can be searched with grep, and are several times faster to write than indented JSON.
    """
    yield "{\n"
    for number, (key, value) in enumerate(document.items()):
        yield f"{',' if number else ''}{json.dumps(key)}: "
        is_long = isinstance(value, list) and value and isinstance(value[0], dict)
        yield from _items(value) if is_long else [json.dumps(value, ensure_ascii=False)]
        yield "\n"
    yield "}\n"


def _items(values: list[Any]) -> Iterator[str]:
    for number, item in enumerate(values):
        yield f"{',' if number else '['}\n{json.dumps(item, ensure_ascii=False)}"
    yield "\n]"


def state_document(state: State, loop: Loop) -> dict[str, Any]:
    """Whether the work is done, and where the loop stands: what ``status --json`` and MCP's ``loop_status`` give."""
    return {
        **with_texts(state, lambda text, field: text),
        "loop": {
            **{name: getattr(loop, name) for name in ("base", "stalled", "best", "fixed", "flaky")},
            "runs": len(loop.steps),
            "attempts": len(loop.attempts),
            "failing": [
                {"source": e.source, "test": e.test, "since": e.since, "had_passed": e.had_passed}
                for e in loop.failing
            ],
        },
    }
