"""A root cause as paragraphs: the probable place, why, its source, the proof, other places, the tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.facts import (
    failure_place,
    file_of,
    is_shown,
    is_syntax_error,
    qualname,
    running_line,
    sides,
    test_function,
)
from loop_close.model import Failure, Frame, Place, Raised, Report, RootCause, SourceLines, Suspect
from loop_close.prompt import safe, span, spans
from loop_close.prompt.compose import Paragraph, Rank
from loop_close.prompt.failure import (
    brief,
    message_rows,
    missing_lines,
    other_kinds,
    relative_lines,
    value_lines,
)
from loop_close.prompt.loop import past_lines
from loop_close.prompt.place import (
    LEAST_SHOWN,
    frames_of,
    percent,
    place_in_words,
    probable_place,
    shown_frames,
)
from loop_close.prompt.source import MOST_ROWS, function_rows, statement_rows
from loop_close.text import code, fence, one_line

#: Root causes shown as blocks; of the others so many get a line each.
MAX_BLOCKS, MAX_LINES = 10, 20
# Lines around one that cannot be parsed: an open bracket is mostly near.
_SYNTAX = 9
# Of places less probable than this share of the first one the source is not shown.
_RIVAL = 0.5
_MAX_SOURCES = 6
_MAX_CALLERS = 2
_MAX_NAMED = 3
# So many failing tests are named beside the one that is shown; the command runs all of them.
_MAX_TESTS = 2
_WORDS = re.compile(r"[A-Za-z0-9 .,:;()/%'-]*(?:[A-Za-z0-9]_[A-Za-z0-9][A-Za-z0-9 .,:;()/%'-]*)*", re.ASCII)


def root_causes(report: Report, advisers: Mapping[str, Detector]) -> Iterator[Paragraph]:
    """The paragraphs of all root causes, each below its heading; of a single one the title says what a heading does.

    :param advisers: by kind of evidence, the detectors whose advice is worth its words.
    """
    shown: dict[tuple[str, int], int] = {}
    for number, cause in enumerate(report.causes[:MAX_BLOCKS], 1):
        of = number if len(report.causes) > 1 else 0
        if of:
            heading = f"## {number}. {_headline(cause, report)}"
            rank = Rank.FIRST_CAUSE if number == 1 else Rank.HEADING
            yield Paragraph(lines=("", heading), rank=rank, name="root causes", cause=of)
        for rank, name, lines in _parts(number, cause, report, advisers, shown):
            if kept := tuple(filter(None, lines)):
                yield Paragraph(lines=kept, rank=rank, name=name, cause=of)
    others = len(report.causes) - MAX_BLOCKS
    above: tuple[str, ...] = ("", f"{others} more, in a line each:", "")
    for number, cause in enumerate(report.causes[MAX_BLOCKS : MAX_BLOCKS + MAX_LINES], MAX_BLOCKS + 1):
        line = f"{number}. {_headline(cause, report)}: {brief(cause.failures[0])}"
        yield Paragraph(lines=(*above, line), rank=Rank.MORE_CAUSES, name="root causes")
        above = ()
    if others > MAX_LINES:
        line = f"… and {others - MAX_LINES} more root causes."
        yield Paragraph(lines=("", line), rank=Rank.HEADING, name="number of the others")


_Part = tuple[Rank, str, Iterable[str]]
#: How useful the answer, the source and the details of a root cause are, by whether it is the first.
_RANKS = {
    True: (Rank.FIRST_CAUSE, Rank.FIRST_SOURCE, Rank.FIRST_CAUSE),
    False: (Rank.OTHER_CAUSES, Rank.OTHER_SOURCES, Rank.DETAILS),
}


def _parts(
    number: int,
    cause: RootCause,
    report: Report,
    advisers: Mapping[str, Detector],
    shown: dict[tuple[str, int], int],
) -> Iterator[_Part]:
    """What a root cause has to say, in the order in which it is read, as (rank, name, lines).

    :param shown: by file and first line of a function, the number of the root cause that shows its source.
    """
    rank, source_rank, more = _RANKS[number == 1]
    failure, at = cause.failures[0], probable_place(cause)
    source = _source_of(cause, at)
    earlier = shown.setdefault((at.file, source.start), number) if source.lines else number
    same = [f"The source is in section {earlier}."] if earlier != number else []
    yield rank, "reasons", [*_where(cause, report), *_why(cause), *_findings(cause), *same]
    yield more, "passing tests", _guards(cause)
    if not same:
        yield source_rank, "source", _source(source, cause, at, report)
    missing = _missing(failure.raised) if failure.raised is not None else ()
    yield rank, "failing statements", [*_proof(failure), *missing]
    yield rank, "second look", _again(failure)
    yield more, "values", value_lines(failure)
    others = [each for each in cause.suspects[1:] if each.score >= LEAST_SHOWN]
    yield rank, "other places", _others(others)
    yield more, "tracebacks", _raised_at(failure.raised, at)
    yield more, "other exceptions", other_kinds(cause.failures)
    yield more, "advice", _advice(cause, advisers)
    yield more, "tests", [*_tests(cause.failures), *past_lines(cause, report.loop)]
    for each, excerpt in zip(others, cause.excerpts[1:], strict=False):
        if (
            each.score >= _RIVAL * cause.suspects[0].score
            and excerpt.lines
            and (each.file, excerpt.start) not in shown
        ):
            shown[each.file, excerpt.start] = number
            named = f"Source of {span(each.constant or each.function, 80)}:"
            rows = function_rows(excerpt, marked=each.odd[0], ran=_lines_run(cause, each, report))
            yield Rank.FINDINGS, "source of other places", [named, *rows]


def _headline(cause: RootCause, report: Report) -> str:
    return place_in_words(cause, partial(span, limit=80))


# --- why


def all_reasons(suspect: Suspect) -> Iterator[str]:
    """Why it is suspected, in a few words each: the counts first."""
    (failed, all_failed), (passed, all_passed) = suspect.failed, suspect.passed
    passing = f" and {passed:,} of {all_passed:,} passing" if all_passed else ""
    tests = "test" if all_failed == 1 and not passing else "tests"
    counts = [f"run by {failed:,} of {all_failed:,} failing{passing} {tests}"] if all_failed else []
    if suspect.constant:  # the counts are those of the function that loads it
        first, *rest = suspect.reasons
        yield from (", ".join([first, *counts]), *rest)
        return
    yield from counts
    line, failed, passed = suspect.odd
    if line:
        yield f"line {line} by {failed:,} failing and {passed:,} passing"
    yield from suspect.reasons


def _why(cause: RootCause) -> Iterator[str]:
    """The reasons for the first suspect, in one sentence."""
    for suspect in cause.suspects[:1]:
        if reasons := "; ".join(map(_contained, all_reasons(suspect))):
            yield f"Why: {reasons}."


def _guards(cause: RootCause) -> Iterator[str]:
    """Passing tests that run the first suspect."""
    for suspect in cause.suspects[:1]:
        if suspect.guards:
            guards = [*_by_file(suspect.guards), *[""] * (suspect.passed[0] - len(suspect.guards))]
            yield f"Also passing here: {spans(guards, min(_MAX_NAMED, len(suspect.guards)))}; they run it too."


def _contained(reason: str) -> str:
    """A reason as part of a sentence; one with signs that may mean something in markdown, from a name, as code."""
    shown = one_line(safe(reason), 300)
    return shown if _WORDS.fullmatch(shown) else code(shown, 300)


def _where(cause: RootCause, report: Report) -> Iterator[str]:
    """Of several sources, those in which it fails, and those that ran its tests and in which they pass."""
    if not report.sources:
        return
    failing, passing = sides(cause, report)
    passes = f"; passes on {spans([each.source for each in passing], _MAX_SOURCES)}" if passing else ""
    yield f"Fails on {spans([each.source for each in failing], _MAX_SOURCES)}{passes}."


def _findings(cause: RootCause) -> Iterator[str]:
    """What else was found in the functions that may be at fault."""
    for each in cause.findings[:_MAX_NAMED]:
        name = each.failure.tool if each.failure is not None else each.label
        yield f"{span(name, 80)} at {span(f'{each.file}:{each.line}')}: {span(each.snippet, 200)}"
    if (more := len(cause.findings) - _MAX_NAMED) > 0:
        yield f"… and {more} more findings there."


# --- the source


def _source_of(cause: RootCause, at: Place) -> SourceLines:
    """The function's lines: as they were read from the file, else as the traceback has them.

    No lines for the function of the test whose statement is shown as the proof.
    """
    failure = cause.failures[0]
    shown = (frame for frame in _test_and_helper(failure) if frame is not None and frame.source.lines)
    if any((frame.file, frame.function) == (at.file, at.function) for frame in shown):
        return SourceLines()
    raised = failure.raised
    frames = (f for f in shown_frames(raised) if f.file == at.file and at.function in ("", f.function))
    found = [*cause.excerpts[:1], *(each.source for each in frames)]
    known = (each for each in found if each.lines)
    return next((each for each in known if not at.line or at.line in each.numbers), SourceLines())


def _source(source: SourceLines, cause: RootCause, at: Place, report: Report) -> list[str]:
    """The rows of the place, with marks."""
    if not cause.suspects:
        most = _SYNTAX if is_syntax_error(cause.failures[0].raised) else MOST_ROWS
        return function_rows(source, marked=at.line, most=most)
    first = cause.suspects[0]
    # A function's first line is where it is, and says nothing of what is wrong.
    marked = at.line if at.line != first.line else 0
    return function_rows(source, marked=marked, ran=_lines_run(cause, first, report))


def _lines_run(cause: RootCause, suspect: Suspect, report: Report) -> frozenset[int]:
    """The lines of the suspect that failing tests of the cause ran; empty if it is unknown for some of them."""
    calls = report.observation.calls
    tests = {failure.nodeid for failure in cause.failures}
    if not tests <= calls.failed.keys():
        return frozenset()
    lines = range(suspect.line, max(suspect.end_line, suspect.line) + 1)
    own = {n for n, each in enumerate(calls.functions) if each.file == suspect.file and each.line in lines}
    return frozenset(line for test in tests for index, line in calls.failed[test] if index in own)


# --- the proof


def _proof(failure: Failure) -> Iterator[str]:
    """One failing test: its name, its statement and that of a helper in which it failed, what it got."""
    said = message_rows(failure)
    when = [failure.phase] if failure.phase in ("setup", "teardown", "collect") else []
    test, helper = _test_and_helper(failure)
    line = []
    if test is not None and test.line:
        is_own = test.file == file_of(failure.nodeid)
        line = [f"line {test.line}" if is_own else span(f"{test.file}:{test.line}")]
    if failure.nodeid:
        about = f" ({', '.join([*when, *line])})" if when or line else ""
        case = f" {span(failure.subtest, 60)}" if failure.subtest else ""
        yield f"Shown by {span(failure.nodeid, 160)}{case}{about}:"
    statement = _statement(test)
    if helper is not None:
        where = one_line(safe(f"{helper.file}:{helper.line}"), 160)
        statement += [f"# {where}", *_statement(helper, with_above=False)]
    rows = [*statement, *(f"E  {row}" for row in said)] if statement else said
    yield from fence("\n".join(rows), "python" if statement else "text")


def _again(failure: Failure) -> Iterator[str]:
    """What a second look saw: another outcome of the test, and the calls that led to the failure with their values."""
    look = failure.again
    if look is None:
        return
    if look.outcome != "failed":
        yield f"When it ran again after the run, it {look.outcome}."
    elif look.exception or look.message:
        yield f"When it ran again after the run, it failed with {span(f'{look.exception}: {look.message}', 200)}."
    if look.calls:
        passing = "  # also in a passing test"
        # What it raised is the message of the failure.
        raised = f"raised {failure.exception}("
        rows = [
            f"{'  ' * each.depth}{each.function}({each.arguments})"
            f" {raised[:-1] if each.result.startswith(raised) else each.result}"
            f"{f', then {each.changed}' if each.changed else ''}{passing if each.is_known else ''}"
            for each in look.calls
        ]
        yield "Calls when it ran again:"
        yield from fence("\n".join(rows), "text")


def _test_and_helper(failure: Failure) -> tuple[Frame | None, Frame | None]:
    """Of test code on the traceback the test, at its line nearest to the exception, and what it failed in.

    The first is what called the others if the test itself is not among them; the second is None if it is the first.
    """
    frames = [frame for frame in shown_frames(failure.raised) if frame.is_test]
    if not frames:
        return None, None
    own = (file_of(failure.nodeid), qualname(failure.nodeid))
    test = next((frame for frame in reversed(frames) if (frame.file, frame.function) == own), frames[0])
    last = frames[-1]
    is_one = (last.file, last.function) == (test.file, test.function)
    return (last, None) if is_one else (test, last)


def _statement(frame: Frame | None, *, with_above: bool = True) -> list[str]:
    """The running statement of a frame; none where its source is not known."""
    return statement_rows(frame.source, frame.line, with_above=with_above) if frame is not None else []


def _others(suspects: Sequence[Suspect]) -> Iterator[str]:
    """The other places, in one line; of a file that the one before has too the line alone."""
    file, shown = "", []
    for each in suspects:
        line = each.odd[0] or each.line
        where = f"{'' if each.file == file else each.file}:{line}" if line else each.file
        shown.append(f"{span(where)} {span(each.constant or each.function, 80)} ({percent(each.score)})")
        file = each.file
    if shown:
        yield f"Other places: {', '.join(shown)}."


# --- exceptions


def _raised_at(raised: Raised | None, at: Place) -> Iterator[str]:
    """The traceback in the code under test, the frame nearest to the exception first; without it if it is the place."""
    frames = [frame for frame in reversed(frames_of(raised)) if not frame.is_test and is_shown(frame)]
    if not frames:
        return
    first, *callers = (f"{span(f'{f.file}:{f.line}')} in {span(f.function, 80)}" for f in frames)
    line, is_place = running_line(frames[0]), (frames[0].file, frames[0].line) == (at.file, at.line)
    said = [] if is_place else [f"Traceback: {first}{f': {span(line)}' if line else ''}"]
    if callers:
        more = ["…"] * (len(callers) > _MAX_CALLERS)
        said.append(f"{'called' if said else 'Called'} from {', '.join([*callers[:_MAX_CALLERS], *more])}")
    if said:
        yield f"{'; '.join(said)}."


def _missing(raised: Raised) -> list[str]:
    """What is missing, and the exceptions that it holds or came from."""
    return [*missing_lines(raised), *relative_lines(raised)]


def _advice(cause: RootCause, advisers: Mapping[str, Detector]) -> Iterator[str]:
    """General advice; that of others after their detector's name for it."""
    detector = advisers.get(cause.kind)
    if detector is not None and detector.hint:
        is_ours = any(each.kind == cause.kind for each in DEFAULT_DETECTORS)
        named = "" if is_ours else f"{detector.count_of(cause.evidence[:1])}: "
        yield one_line(f"{named}{detector.hint}", 500)


# --- the tests


def _tests(failures: Sequence[Failure]) -> Iterator[str]:
    """Which other tests fail of the same cause; cases of one test function are counted. Without tests, other places."""
    if not failures[0].nodeid:
        places = dict.fromkeys(f"{file}:{line}" for file, line, _ in map(failure_place, failures) if file)
        if len(places) > 1:
            yield f"Also at {spans([*places][1:], _MAX_NAMED)}."
        return
    others = dict.fromkeys((each.nodeid, each.subtest) for each in failures)
    del others[failures[0].nodeid, failures[0].subtest]
    counts = Counter(test_function(nodeid) for nodeid, _ in others)
    few = sorted(counts.items())[:_MAX_TESTS]
    shown = _by_file([failures[0].nodeid, *(name for name, _ in few)])[1:]
    cases = [f" ({n} cases)" * (n > 1) for _, n in few]
    named = [f"{span(name, 160)}{number}" for name, number in zip(shown, cases, strict=True)]
    more = len(others) - sum(number for _, number in few)
    if named:
        yield f"{len(others):,} more failing: {', '.join(named)}{f' and {more:,} more' if more else ''}"


def _by_file(tests: Sequence[str]) -> list[str]:
    """Node ids; after one in the same file without the file."""
    pairs = zip(["", *map(file_of, tests)], tests, strict=False)
    return [test.removeprefix(f"{before}::") if before else test for before, test in pairs]
