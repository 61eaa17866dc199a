"""The library: from the text of a run to a report, from many logs to one summary.

Nothing here touches a file, a clock or a process.

:func:`summary_of_log` is a pure function of one log and :func:`combine_summaries` is associative and commutative, with
``LogSummary()`` as its neutral element. So logs can be read in any order, by any number of processes or machines, and
the sum is the same to the byte. It is a sum: a log that is given twice counts twice.

A summary grows with the number of distinct root causes, not with the number of logs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal

from msgspec.structs import asdict, replace

from loop_close import detectors as registry
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.facts import failure_place
from loop_close.judge import judge, promoted, report_of, with_suspects
from loop_close.model import Evidence, Observation, Report, RootCause, Verdict
from loop_close.prompt import safe, span
from loop_close.prompt.compose import Section, compose
from loop_close.prompt.place import probable_place
from loop_close.prompt.report_json import dump
from loop_close.prompt.sections import built_in
from loop_close.readers.logs import MAX_LOG, XML
from loop_close.readers.streams import observe, observe_texts
from loop_close.records import Record
from loop_close.settings import DEFAULT_BUDGET, check_setting
from loop_close.text import decoded, listed, one_line
from loop_close.text.redact import clean

SCHEMA = "loop-close.summary/1"
_EXAMPLES = 3
_NAMED = 20
_MAX_MESSAGE, _MAX_NAME = 1_000, 300
_SHOWN, _BRIEF = 20, 160
_NUMBERS = re.compile("([0-9]+)")
_Order = tuple[object, ...]


class CauseSummary(Record, frozen=True):
    """A root cause over all logs that have it, as the first of them shows it; all text is safe to show and bounded.

    :ivar last_log: the last log by name that has it.
    :ivar kind: the detector's kind, such as ``test-failure``.
    :ivar location: (file, line, function) of the failure itself.
    :ivar suspect: (file, line, function, probability) of the likeliest place; None if none is known.
    :ivar examples: (log, test) of the first three logs; no test for what is not a test.
    """

    last_log: str
    logs: int
    failures: int
    kind: str
    exception: str
    message: str
    location: tuple[str, int, str]
    suspect: tuple[str, int, str, float] | None
    examples: tuple[tuple[str, str], ...]

    @property
    def first_log(self) -> str:
        """The first log by name that has it."""
        return self.examples[0][0]


Uncounted = Literal["unknown", "unread", "not a log"]


class LogSummary(Record, frozen=True):
    """The summary of any number of logs; without arguments, of none.

    Two summaries are equal if they are of the same logs, in whatever order these were combined.

    :ivar green: the number of logs in which nothing is wrong; ``red`` of those that show a failure.
    :ivar unknown: of logs that do not show whether the run was green.
    :ivar unread: of logs that could not be read.
    :ivar not_a_log: of files that are not logs, such as binary ones.
    :ivar files: (name, status, reason) of the first twenty that are neither green nor red, by name.
    :ivar causes: by the id of the root cause.
    """

    green: int = 0
    red: int = 0
    unknown: int = 0
    unread: int = 0
    not_a_log: int = 0
    files: tuple[tuple[str, Uncounted, str], ...] = ()
    causes: Mapping[str, CauseSummary] = {}

    @property
    def logs(self) -> int:
        """The number of logs, those that could not be read included."""
        return self.green + self.red + self.unknown + self.unread

    @property
    def failures(self) -> int:
        """The number of failures in all logs."""
        return sum(cause.failures for cause in self.causes.values())

    @property
    def is_green(self) -> bool:
        """Whether there are logs, all were read, and nothing is wrong in any."""
        return 0 < self.green == self.logs


def summary_of_log(name: str, text: str | bytes, root: str = "") -> LogSummary:
    """The summary of one log: output of tests, checkers or programs, or a file of JUnit XML.

    Pure and total: the same name and text give the same summary, and any text gives one. As in
    :func:`~loop_close.close_loop`, the last 1,000,000 characters of a log count, JUnit XML counts whole, and without
    an exit code a log is green only if the summary of a tool says so.

    :param name: the name to show the log by; logs are sorted by it, numbers in it by their value.
    :param text: bytes are UTF-8, UTF-16 with a byte order mark, or JUnit XML in its own encoding.
    :param root: the project's root; counts only if the text contains it. Makes paths relative.
    """
    whole = text if isinstance(text, str) else decoded(text)
    if not whole.strip():
        return unread_log(name, "empty", "unknown")
    is_cut = len(whole) > MAX_LOG and not XML.match(whole)
    return _summary(name, report_of(observe_texts([whole], root=_root(whole, root))), is_cut=is_cut)


def _root(text: str, root: str) -> str:
    return root if f"{root}/" in text or f"{root}\\" in text else ""


def unread_log(name: str, reason: str, status: Uncounted = "unread") -> LogSummary:
    """The summary of a file that is neither a green nor a red log, such as one that could not be read."""
    file = (safe(name, _MAX_NAME), status, safe(reason, _MAX_NAME))
    return replace(LogSummary(files=(file,)), **{status.replace(" ", "_"): 1})


def _summary(name: str, report: Report, *, is_cut: bool = False) -> LogSummary:
    if report.verdict == "green":
        return LogSummary(green=1)
    if report.causes:
        shown = safe(name, _MAX_NAME)
        return LogSummary(red=1, causes={cause.id: _cause(shown, cause) for cause in report.causes})
    reason = report.observation.incomplete or report.stall_reason
    if reason == "no-patterns-matched":
        reason = f"only its last {MAX_LOG:,} characters were read" if is_cut else "it shows no result"
    return unread_log(name, reason, "unknown")


def _cause(log: str, cause: RootCause) -> CauseSummary:
    failure, at = cause.failures[0], probable_place(cause)
    file, line, function = failure_place(failure)
    place = (safe(at.file, _MAX_NAME), at.line, safe(at.function, _MAX_NAME))
    return CauseSummary(
        last_log=log,
        logs=1,
        failures=sum(each.number for each in cause.failures),
        kind=cause.kind,
        exception=safe(failure.exception, _MAX_NAME),
        message=safe(failure.message, _MAX_MESSAGE),
        location=(safe(file, _MAX_NAME), line, safe(function, _MAX_NAME)),
        suspect=(*place, at.score) if at.score is not None else None,
        examples=((log, safe(failure.nodeid, _MAX_NAME)),),
    )


def combine_summaries(left: LogSummary, right: LogSummary) -> LogSummary:
    """The summary of the logs of both.

    Associative and commutative. Costs time for the root causes of the smaller one, and a copy of the larger.
    """
    less, more = sorted((left.causes, right.causes), key=len)
    causes = dict(more)
    for name, cause in less.items():
        known = causes.get(name)
        causes[name] = cause if known is None else _together(known, cause)
    files = sorted((*left.files, *right.files), key=lambda file: (*_name_order(file[0]), file))
    return LogSummary(
        green=left.green + right.green,
        red=left.red + right.red,
        unknown=left.unknown + right.unknown,
        unread=left.unread + right.unread,
        not_a_log=left.not_a_log + right.not_a_log,
        files=tuple(files[:_NAMED]),
        causes=causes,
    )


def _together(one: CauseSummary, other: CauseSummary) -> CauseSummary:
    examples = sorted(
        (*one.examples, *other.examples), key=lambda example: (*_name_order(example[0]), example)
    )
    return replace(
        min(one, other, key=_cause_order),
        last_log=max(one.last_log, other.last_log, key=_name_order),
        logs=one.logs + other.logs,
        failures=one.failures + other.failures,
        examples=tuple(examples[:_EXAMPLES]),
    )


@lru_cache(maxsize=4_096)
def _name_order(name: str) -> _Order:
    """Numbers by their value: ``run-9`` comes before ``run-10``. Equal only for equal names."""
    parts = _NUMBERS.split(name)
    values = (each.lstrip("0") for each in parts[1::2])
    parts[1::2] = [f"{len(each):06}{each}" for each in values]
    return tuple(parts), name


def _cause_order(cause: CauseSummary) -> _Order:
    """By the first log; between logs of one name by all that is shown, so that their order does not matter."""
    shown = (cause.message, cause.exception, cause.kind, cause.location, cause.suspect or ())
    return *_name_order(cause.first_log), *shown


def _most_frequent(summary: LogSummary) -> list[tuple[str, CauseSummary]]:
    """By the number of logs, then of failures, then by the first log and the id."""
    order = sorted(summary.causes.items(), key=lambda each: (_name_order(each[1].first_log), each[0]))
    return sorted(order, key=lambda each: (-each[1].logs, -each[1].failures))


def summary_document(summary: LogSummary) -> dict[str, Any]:
    """The summary as plain values, as ``schema/summary-1.json`` describes them; the most frequent cause first."""
    return {
        "schema": SCHEMA,
        "logs": {
            "number": summary.logs,
            "green": summary.green,
            "red": summary.red,
            "unknown": summary.unknown,
            "unread": summary.unread,
        },
        "not_logs": summary.not_a_log,
        "failures": summary.failures,
        "root_causes": [_cause_document(name, cause) for name, cause in _most_frequent(summary)],
        "files": [dict(zip(("file", "status", "reason"), file, strict=True)) for file in summary.files],
    }


def _cause_document(name: str, cause: CauseSummary) -> dict[str, Any]:
    place = ("file", "line", "function", "score")
    return {
        "id": name,
        "first_log": cause.first_log,
        **asdict(cause),
        "location": dict(zip(place, cause.location, strict=False)),
        "suspect": dict(zip(place, cause.suspect, strict=True)) if cause.suspect is not None else None,
        "examples": [{"log": log, "test": test} for log, test in cause.examples],
    }


def summary_json(summary: LogSummary) -> str:
    """The summary as JSON, as ``loop-close analyze DIRECTORY --json`` prints it."""
    return "".join(dump(summary_document(summary)))


def summary_text(summary: LogSummary) -> str:
    """The summary as Markdown: the counts, the 20 most frequent root causes, the files that did not count."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: LogSummary) -> Iterator[str]:
    causes = _most_frequent(summary)
    yield _title(summary, len(causes))
    for number, (name, cause) in enumerate(causes[:_SHOWN], 1):
        yield ""
        yield from _cause_lines(number, name, cause)
    if len(causes) > _SHOWN:
        yield from ("", f"{_many(len(causes) - _SHOWN, 'more root cause')}: see `--json`.")
    left = summary.unknown + summary.unread + summary.not_a_log
    if left:
        yield from ("", f"Neither green nor red: {_many(left, 'file')}.")
    yield from (f"- {status}: {span(name)}: {span(reason)}" for name, status, reason in summary.files)
    if left > len(summary.files):
        yield f"- and {left - len(summary.files):,} more"


def _title(summary: LogSummary, causes: int) -> str:
    rows = (
        (summary.red, "red"),
        (summary.green, "green"),
        (summary.unknown, "unknown"),
        (summary.unread, "not read"),
    )
    counts = ", ".join(f"{number:,} {word}" for number, word in rows if number)
    title = f"# {_many(summary.logs, 'log')}: {counts}".removesuffix(": ")
    by = f"; {_many(summary.failures, 'failure')} by {_many(causes, 'root cause')}"
    return f"{title}{by}" if causes else title


def _cause_lines(number: int, name: str, cause: CauseSummary) -> Iterator[str]:
    file, line, function = (cause.suspect or cause.location)[:3]
    at = f" at {span(f'{file}:{line}' if line else file)}" if file else ""
    inside = f" in {span(f'{function}()', 80)}" if function and function != "<module>" else ""
    said = f": {span(cause.message, _BRIEF)}" if cause.message.strip() else ""
    yield f"{number}. {span(cause.exception or cause.kind, 60)}{at}{inside}{said}"
    logs = " to ".join(span(log) for log in dict.fromkeys((cause.first_log, cause.last_log)))
    indent = " " * len(f"{number}. ")
    yield f"{indent}{_many(cause.logs, 'log')}, {_many(cause.failures, 'failure')}: {logs}"
    tests = list(dict.fromkeys(test for _, test in cause.examples if test))
    shown = f"; tests such as {', '.join(map(span, tests))}" if tests else ""
    yield f"{indent}Cause `{name}`, {cause.kind}{shown}"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


# --- from text to a report, each step by itself

__all__ = [
    "LoopClosureReport",
    "close_loop",
    "emit_no_stall_report",
    "emit_report",
    "list_detector_ids",
    "observe",
    "run_detectors",
]

_MAX_SNIPPET, _MAX_LABEL = 2_000, 300
#: Files and pieces of evidence that the prompt of :func:`close_loop` lists.
_MOST_FILES, _MOST_EVIDENCE = 25, 10


class LoopClosureReport(Record, frozen=True, kw_only=True):
    """The report of a run.

    :ivar stall_reason: such as ``3 test failures detected``; ``no-stall-detected`` for a green run,
        ``no-patterns-matched`` when the run failed and the output does not show why.
    :ivar next_prompt: markdown for the agent's next turn. Advice: nothing in it is to be run unseen.
    :ivar evidence: what the detectors found, most blocking kind first; labels and snippets are bounded and hold
        no credentials. The failure behind evidence is unredacted: show it by way of the prompt.
    :ivar exit_code: None when it is not known.
    """

    stall_reason: str
    next_prompt: str
    evidence: tuple[Evidence, ...]
    exit_code: int | None
    verdict: Verdict


def close_loop(
    stdout: object = "",
    stderr: object = "",
    exit_code: object = None,
    detectors: Iterable[str | Detector] | None = None,
    *,
    root: str = "",
    budget: int = DEFAULT_BUDGET,
) -> LoopClosureReport:
    """Read what a command printed, and say what is wrong and what to do next.

    Deterministic and without I/O, so that it may be called on any output, any time. The last 1,000,000
    characters of each stream count. What is not text counts as empty, what is not a whole number as an exit code
    that is not known; an unknown exit code is good news only where a tool's own summary says so.

    :param detectors: those to run, by id or as records; None for :data:`DEFAULT_DETECTORS`.
    :param root: the project's root as the output spells it; makes paths relative. Empty when not known.
    :param budget: tokens that the prompt may cost, as :func:`~loop_close.prompt.compose.estimate_tokens` counts them.
    :raises ValueError: for a detector id that does not exist, naming those that do, and for a budget below 400.
    """
    chosen = _chosen(detectors)
    observation = observe(stdout, stderr, exit_code, root=root)
    report = report_of(observation, detectors=chosen)
    return _report(report, report.evidence, chosen, budget)


def run_detectors(observation: Observation, only: Iterable[str] | None = None) -> tuple[Evidence, ...]:
    """The evidence in an observation, most blocking kind first, then by file and line.

    :param observation: from :func:`observe`, or made by hand.
    :param only: ids of the detectors to run; None for all.
    :raises ValueError: for an id that does not exist, naming those that do.
    """
    return _fit_to_pass_on(registry.run_detectors(observation, _chosen(only)))


def _single(detector_id: str) -> Callable[[Observation], tuple[Evidence, ...]]:
    """One detector as a function of an observation."""
    return partial(run_detectors, only=(detector_id,))


# The single detectors of seed 000, by their names there.
detect_typecheck_errors = _single("typecheck-error")
detect_test_failures = _single("test-failure")
detect_missing_modules = _single("missing-module")
detect_syntax_errors = _single("syntax-error")
detect_not_implemented = _single("not-implemented")
detect_unhandled_async = _single("unhandled-async")
detect_incomplete_functions = _single("incomplete-function")
detect_todo_markers = _single("todo-marker")
detect_fixme_markers = _single("fixme-marker")
detect_stack_traces = _single("stack-trace")


def emit_report(
    evidence: Iterable[Evidence], exit_code: int | None = None, *, budget: int = DEFAULT_BUDGET
) -> LoopClosureReport:
    """A report of evidence that was found before. Without any it is that of :func:`emit_no_stall_report`.

    The first kind with evidence, in the order of the registry, is the stall reason; kinds that the registry does
    not know come last.
    """
    found = tuple(evidence)
    if not found:
        return emit_no_stall_report(exit_code)
    order = {d.kind: d.priority for d in DEFAULT_DETECTORS}
    ordered = sorted(found, key=lambda e: (order.get(e.kind, 999), e.kind, e.file, e.line, e.snippet))
    standing = [*promoted(ordered, order)]
    failures = tuple(e.failure for e in standing if e.failure is not None)
    observation = Observation(
        exit_code=exit_code, source="output", failures=failures, rerun="", expects_tests=False
    )
    return _report(with_suspects(judge(observation, standing)), tuple(ordered), DEFAULT_DETECTORS, budget)


def emit_no_stall_report(exit_code: int | None = 0) -> LoopClosureReport:
    """The report of a run in which nothing was found: good news on exit code 0, else a request to look."""
    observation = Observation(exit_code=exit_code, source="output", rerun="", expects_tests=False)
    return _report(judge(observation, ()), (), DEFAULT_DETECTORS, DEFAULT_BUDGET)


def list_detector_ids() -> tuple[str, ...]:
    """The ids of the built-in detectors, most blocking first."""
    return tuple(d.id for d in DEFAULT_DETECTORS)


def _fit_to_pass_on(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """With words that are bounded and hold no credentials; the failure behind them stays as it was read."""
    return tuple(
        replace(e, snippet=clean(e.snippet, _MAX_SNIPPET), label=clean(e.label, _MAX_LABEL)) for e in evidence
    )


def _chosen(detectors: Iterable[str | Detector] | None) -> tuple[Detector, ...]:
    if detectors is None:
        return DEFAULT_DETECTORS
    known = {d.id: d for d in DEFAULT_DETECTORS}
    chosen = []
    for one in detectors:
        found = known.get(one) if isinstance(one, str) else one
        if found is None:
            raise ValueError(f"unknown detector {one!r}; known detectors: {', '.join(known)}")
        chosen.append(found)
    return tuple(chosen)


def _report(
    report: Report, evidence: tuple[Evidence, ...], detectors: Sequence[Detector], budget: int
) -> LoopClosureReport:
    """The report with its prompt: that of a run of the plugin, the seed's advice, and the files touched."""
    check_setting("budget", "budget", budget)
    sections = (*built_in(tuple(detectors)), _FILES)
    prompt = compose(report, sections, budget=budget)
    advice = [d.hint for e in evidence[:1] for d in detectors if d.kind == e.kind][:1]
    if advice and advice[0] not in prompt:
        lines = [one_line(safe(advice[0]), _MAX_MESSAGE)]
        fix = Section(id="fix-by", position=55, title="Fix by", render=lambda report: lines)
        prompt = compose(report, (*sections, fix), budget=budget)
    return LoopClosureReport(
        stall_reason=report.stall_reason,
        next_prompt=prompt,
        evidence=_fit_to_pass_on(evidence),
        exit_code=report.observation.exit_code,
        verdict=report.verdict,
    )


def _files_touched(report: Report) -> Iterator[str]:
    """The files of the evidence, sorted; before them the first pieces of evidence, where there are many."""
    places = [span(f"{e.file}:{e.line}") for e in report.evidence if e.file]
    if len(places) > _MOST_EVIDENCE:
        yield f"Evidence at {listed(places, _MOST_EVIDENCE)}"
    files = sorted({e.file for e in report.evidence if e.file})
    yield from (f"- {span(file)}" for file in files[:_MOST_FILES])
    if len(files) > _MOST_FILES:
        yield f"- and {len(files) - _MOST_FILES} more"


_FILES = Section(id="files", position=85, title="Files touched", render=_files_touched, tokens=400)
