"""One root cause as a block of the prompt: the probable place, why, its source, the proof, other places, the tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import dropwhile, takewhile

from msgspec.structs import replace

from loop_close import lazy
from loop_close.causes.rank import RAISED_BY_IT, RAISED_IN_IT
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.facts import (
    base_name,
    differences,
    innermost,
    is_a,
    package_differences,
    qualname,
    sides,
    test_function,
    values,
)
from loop_close.model import Failure, Frame, Raised, Report, RootCause, SourceLines, Suspect
from loop_close.prompt import line_of, safe, short, span, spans
from loop_close.prompt.failure import (
    BRIEF,
    comparison_row,
    difference_row,
    generated_lines,
    message_rows,
    missing_lines,
    other_lines,
    related,
    relative_lines,
    row_of_tests,
    swallowed_lines,
    value_lines,
)
from loop_close.prompt.loop import past_lines
from loop_close.prompt.place import (
    PROBABLE,
    ProbablePlace,
    cited_lines,
    earlier_with_same_place,
    frames_of,
    how_sure,
    name_of,
    percent,
    probable_place,
    representative,
)
from loop_close.prompt.source import MARKED, NOT_RUN, function_rows, statement_rows
from loop_close.syntax.meaning import MODULE
from loop_close.text import MAX_MESSAGE, code, fence, one_line

#: Levels of detail. 0: one line. 1: heading, reason and message. 2: the marked line in its source, the statement of
#: the test, other places. 3: more of the source, the values. 4: the source, whole if it is no longer than most are.
#: From SHOWS_OTHERS on: the source of other places.
LEVELS = 7
SHOWS_OTHERS = 5
# Rows of source at each level, of the place and of others.
_BODY = (0, 0, 9, 20, 40, 40, 40)
_MORE_BODY = (0, 0, 0, 0, 0, 8, 40)
# Where the first place is less likely than this, the source of the next one is shown; of the next two below the second.
_UNCLEAR, _FAR_FROM_CLEAR = 0.5, 0.3
_LEAST_SHOWN = 0.05
# Lines around one that cannot be parsed: an open bracket is mostly near.
_SYNTAX = 9
# Characters of a function's name.
_NAME = 80
# Characters of a case: a longer one is made of values, of which the first tell which it is.
_CASE = 50
_MAX_FINDINGS = 3
_MAX_SOURCES = 6
_WORDS = lazy.pattern(r"[A-Za-z0-9 .,:;()/%'-]*(?:[A-Za-z0-9]_[A-Za-z0-9][A-Za-z0-9 .,:;()/%'-]*)*", re.ASCII)
# Members of an exception group in one line: its own message says only how many they are.
_HELD = 4
#: What the marks in the source mean; each once in a prompt.
LEGEND = "`-`: not run by these failing tests."
LEGENDS = {
    "raised": "`>`: raised here.",
    "odd": "`>`: run more often by failing tests.",
    "edited": "`>`: edited before this began to fail.",
    "removed": "`>`: lines above it were removed before this began to fail.",
}


def block_lines(
    number: int,
    cause: RootCause,
    level: int,
    report: Report,
    advisers: Mapping[str, Detector],
    shown: Collection[object] = (),
) -> list[str]:
    """The root cause, its ``number`` first, from one line (level 0) to all that helps (level 6).

    :param advisers: by kind of evidence, the detectors whose advice is worth its words.
    :param shown: (file, function, first line) of the functions whose source the prompt shows in other blocks.
    """
    failure, at = representative(cause), probable_place(cause, report.loop)
    # Of a single cause the title says it all but the probability.
    is_alone = len(report.causes) == 1
    heading = [] if is_alone else [f"## {number}. {_headline(cause, at)}"]
    if level == 0:
        return [*heading, f"{_brief(failure)}. {row_of_tests(_failures(cause), level, failure)}".rstrip()]
    same = earlier_with_same_place(report.causes, number) if at.source_key in shown else 0
    why = [f"The same place as in section {same}."] if same else _why(cause, at, report, is_alone=is_alone)
    lines = [*heading, *_where(cause, report), *why, *_findings(cause)]
    rows = [*_source(cause, at, report, level)] if level >= 2 and at.source_key not in shown else []
    lines += rows
    lines += _proof(cause, at, level, has_source=bool(rows))
    path = _path_to(failure.raised, at)
    if not same and (level >= 2 or (cause.suspects and cause.suspects[0].score < PROBABLE)):
        lines += _others(cause, path)  # before all that names functions which are less likely
    if path is not None and (level < 2 or not any(_is_in(path[1], each) for each in cause.suspects[1:])):
        lines.append(f"{path[0].capitalize()} at {_with_text(path[1])}")
    if failure.raised is not None and level >= 1:
        lines += [*generated_lines(failure.raised), *missing_lines(failure.raised)]
    lines += relative_lines(failure.raised, level)
    if level >= 2:
        lines += swallowed_lines(cause, report) if not same else ()
        lines += other_lines(cause)
        lines += _more_sources(cause, report, shown, _MORE_BODY[level]) if not same else ()
        lines += _advice(cause, advisers)
    named = _named_test(cause, at, level, is_alone=is_alone)
    lines += filter(None, [row_of_tests(_failures(cause), level, failure, named)])
    return [*lines, *past_lines(cause, report.loop)]


def brief_line(number: int, cause: RootCause, report: Report) -> str:
    """The root cause in one line of a list."""
    failure, at = representative(cause), probable_place(cause, report.loop)
    line = _line_of_test(failure, at)
    shown = f", shown by {line}" if line and at.score is not None and at.score < PROBABLE else ""
    tests = row_of_tests(_failures(cause), 0, failure)
    return f"{number}. {_headline(cause, at)}{shown}: {_brief(failure)}. {tests}".rstrip()


def _headline(cause: RootCause, at: ProbablePlace) -> str:
    if at.score is not None:
        sure = how_sure(at.score).capitalize()
        what = f"{span(at.called, 80)} at " if at.called else ""
        return f"{sure} {what}{span(at.where)} ({percent(at.score)})"
    where = f" at {span(at.where)}" if at.file else ""
    inside = f" in {span(at.called, 80)}" if at.called else ""
    return f"{span(name_of(cause), 60)}{where}{inside}"


def _brief(failure: Failure) -> str:
    """The message in one line; instead of pytest's diff the first difference.

    With what a group holds, else with what the exception came from.
    """
    raised = failure.raised
    found = next((each for each in differences(failure) if each.path), None)
    if found is not None:
        row = difference_row(found, BRIEF)
    else:
        row = comparison_row(one_line(safe(failure.message), MAX_MESSAGE), failure, BRIEF)
    said = code(row, BRIEF) if row.strip() else "(no message)"
    if raised is None:
        return said
    others = [*related(raised, 0)][: _HELD if raised.members else 1]
    more = ", ".join(f"{span(other.type, 60)} {line_of(other.message, 60)}" for *_, other in others)
    return f"{span(raised.type, 60)} {said}{f', {others[0][1]} {more}' if more else ''}"


def all_reasons(
    suspect: Suspect,
    *,
    is_alone: bool = True,
    is_sample: bool = False,
    has_subtests: bool = False,
    all_failing: int = 0,
) -> Iterator[str]:
    """Why it is suspected, in a few words each: the counts first.

    :param is_alone: whether the failing tests are all of the run's, and not those of one root cause among others.
    :param is_sample: calls were not recorded in all tests, to save time.
    :param has_subtests: some subtests fail. pytest counts them apart, so its number of failing tests differs.
    :param all_failing: how many tests fail, also those of which no calls were recorded.
    """
    counts = _counts(
        suspect,
        is_alone=is_alone,
        is_sample=is_sample,
        has_subtests=has_subtests,
        all_failing=all_failing,
    )
    if suspect.constant:  # the counts are those of the function that loads it
        first, *rest = suspect.reasons
        yield from (f"{first}, {counts}" if counts else first, *rest)
        return
    if counts:
        yield counts
    line, failed, passed = suspect.odd
    if line:
        of = "" if is_alone else " of its"
        yield f"line {line} run by {failed:,}{of} failing and {passed:,} passing tests"
    yield from suspect.reasons


def _counts(
    suspect: Suspect, *, is_alone: bool, is_sample: bool, has_subtests: bool, all_failing: int
) -> str:
    (failed, all_failed), (passed, all_passed) = suspect.failed, suspect.passed
    every = "all" if has_subtests else "both" if all_failed == 2 else f"all {all_failed:,}"
    some = every if failed == all_failed else f"{failed:,} of {all_failed:,}"
    recorded = "recorded " if is_sample else ""
    others = f" and {passed:,} of {all_passed:,} {recorded}passing" if all_passed else ""
    if failed == all_failed == 1:
        return f"called by {'the' if is_alone else 'its'} failing test{others}{' ones' if others else ''}"
    of_sample = "recorded " if all_failed < all_failing else ""
    if all_failed and is_alone:
        return f"called by {some} {of_sample}failing{others} tests"
    if all_failed:
        return f"called by {some} of its {of_sample}failing tests{others}{' ones' if others else ''}"
    return ""


def _where(cause: RootCause, report: Report) -> Iterator[str]:
    """Of several sources, those in which it fails, and those that ran its tests and in which they pass."""
    if not report.sources:
        return
    failing, passing = sides(cause, report)
    passes = f"; passes on {spans([each.source for each in passing], _MAX_SOURCES)}" if passing else ""
    yield f"Fails on {spans([each.source for each in failing], _MAX_SOURCES)}{passes}."
    if passing and (packages := package_differences(failing, passing)):
        yield f"Installed only where it fails: {', '.join(map(_contained, packages))}."


def _findings(cause: RootCause) -> Iterator[str]:
    """What checkers found in the functions that are probably at fault."""
    for each in cause.findings[:_MAX_FINDINGS]:
        failure = each.failure
        if failure is not None:
            rule = f" ({span(failure.code, 40)})" if failure.code else ""
            at = span(f"{each.file}:{each.line}")
            yield f"{span(failure.tool, 20)} at {at}: {line_of(failure.message, 200)}{rule}"
    if len(cause.findings) > _MAX_FINDINGS:
        yield f"… and {len(cause.findings) - _MAX_FINDINGS} more findings there."


def _no_suspect(cause: RootCause, report: Report) -> Iterator[str]:
    """Where an assertion about values fails, and calls are known: among how many functions none is likely enough."""
    calls = report.observation.calls
    if calls is None or not is_a(representative(cause).raised, "AssertionError"):
        return
    tests = {failure.nodeid for failure in _failures(cause)} & calls.failed.keys()
    ran = {index for test in tests for index, _ in calls.failed[test]}
    if len(ran) > 1:
        it = "this test" if len(tests) == 1 else "these tests"
        yield f"None of the {len(ran):,} functions that {it} ran stands out."


def _why(cause: RootCause, at: ProbablePlace, report: Report, *, is_alone: bool) -> Iterator[str]:
    """Why the first suspect is suspected, in one sentence; without one, that none stands out.

    Of an exception, another line than that which raised it would only confuse.
    """
    if not cause.suspects:
        yield from _no_suspect(cause, report)
        return
    calls = report.observation.calls
    is_sample = calls is not None and calls.passed_over > 0
    failures, suspect = _failures(cause), cause.suspects[0]
    is_another = at.why == "raised" and suspect.odd[0] != at.mark
    found = all_reasons(
        replace(suspect, odd=(0, 0, 0)) if is_another else suspect,
        is_alone=is_alone,
        is_sample=is_sample,
        has_subtests=any(failure.subtest for failure in failures),
        all_failing=len({failure.nodeid for failure in failures}),
    )
    reasons = "; ".join(map(_contained, found))
    if is_alone:
        yield f"Probability {percent(cause.suspects[0].score)}{f': {reasons}' if reasons else ''}."
    elif reasons:
        yield f"{reasons[0].upper()}{reasons[1:]}."


def _contained(reason: str) -> str:
    """A reason as part of a sentence; one with signs that may mean something in markdown, from a name, as code."""
    shown = one_line(safe(reason), 300)
    return shown if _WORDS.fullmatch(shown) else code(shown, 300)


def _source(cause: RootCause, at: ProbablePlace, report: Report, level: int) -> Iterator[str]:
    """The source of the place, with marks."""
    suspect = cause.suspects[0] if cause.suspects else None
    source = _source_of(cause, at, suspect)
    if source is None or not source.lines:
        return
    raised = representative(cause).raised
    is_syntax = suspect is None and raised is not None and "text" in raised.details
    column = _column(raised) if is_syntax else 0
    ran = _lines_run(cause, suspect, report) if suspect is not None else frozenset()
    rows = function_rows(
        source,
        marked=at.mark,
        is_mark_run=at.why != "edited",
        alike=_lines_alike(cause, suspect, report) if suspect is not None and at.why == "odd" else (),
        ran=ran,
        cited=cited_lines(cause, at.file, report),
        most=_SYNTAX if is_syntax else _BODY[level],
        column=column,
    )
    yield from rows
    marked = sum(row.startswith(MARKED) for row in rows)
    # Of the one line that sets failing tests apart, the reasons have the number and the counts. They also say where the
    # exception was raised.
    is_said = not marked or (marked == 1 and at.why == "odd")
    if at.why == "raised" and suspect is not None:
        is_said |= not {RAISED_IN_IT, RAISED_BY_IT}.isdisjoint(suspect.reasons)
    why = LEGENDS.get(at.why, "") if level >= 2 and not is_said else ""
    is_partly_run = any(row.startswith(NOT_RUN) for row in rows)
    legend = " ".join(filter(None, (why, LEGEND if is_partly_run else "")))
    if legend:
        yield legend


def more_places(cause: RootCause) -> Iterator[tuple[Suspect, SourceLines]]:
    """The next suspects that need a look, as the first one is not clear: one, or two if it is far from clear."""
    first = cause.suspects[0].score if cause.suspects else 1.0
    most = 0 if first >= _UNCLEAR else 1 if first >= _FAR_FROM_CLEAR else 2
    for each in cause.suspects[1 : 1 + most]:
        is_shown = each.score >= _LEAST_SHOWN and (each.function != MODULE or each.constant)
        if each.source is not None and is_shown:
            yield each, each.source


def _more_sources(cause: RootCause, report: Report, shown: Collection[object], most: int) -> Iterator[str]:
    """The source of further places, at most so many rows of each, unless another block shows it."""
    is_partly_run = False
    for each, source in more_places(cause) if most else ():
        if (each.file, each.function, each.line) in shown:
            continue
        ran, cited = _lines_run(cause, each, report), cited_lines(cause, each.file, report)
        # Its line is not marked: the mark may mean something else in the first place.
        rows = function_rows(source, marked=each.odd[0], mark="", ran=ran, cited=cited, most=most)
        yield from (f"Source of {span(each.constant or each.function, 80)}:", *rows) if rows else ()
        is_partly_run = is_partly_run or any(row.startswith(NOT_RUN) for row in rows)
    if is_partly_run:
        yield LEGEND


def _source_of(cause: RootCause, at: ProbablePlace, suspect: Suspect | None) -> SourceLines | None:
    """The function's lines: as they were read from the file, else as the traceback has them."""
    known = suspect.source if suspect is not None else None
    if known is not None and (not at.mark or at.mark in known.numbers):
        return known
    raised = representative(cause).raised
    frames = [f for f in raised.frames if f.source is not None] if raised is not None else []
    site = raised.site.frame if raised is not None and raised.site is not None else None
    if suspect is None and site is not None and site.source is not None:
        return None if site.is_test else site.source  # of a test the statement is shown as the proof
    own = [f for f in frames if (f.file, f.function) == (at.file, at.function)]
    return own[-1].source if own else None


def _column(raised: Raised | None) -> int:
    """Of a syntax error the column, from 1; else 0."""
    column = raised.details.get("column", "") if raised is not None and "text" in raised.details else ""
    return int(column) if column.isdecimal() and len(column) < 6 else 0


def _lines_run(cause: RootCause, suspect: Suspect | None, report: Report) -> frozenset[int]:
    """The lines of the suspect that failing tests of the cause ran; empty if it is unknown for some of them."""
    calls = report.observation.calls
    tests = {failure.nodeid for failure in _failures(cause)}
    if calls is None or suspect is None or not tests <= calls.failed.keys():
        return frozenset()
    indexes = {
        number
        for number, called in enumerate(calls.functions)
        if called.file == suspect.file and suspect.line <= called.line <= max(suspect.end_line, suspect.line)
    }
    hits = (hit for test in sorted(tests) for hit in calls.failed[test])
    return frozenset(line for index, line in hits if index in indexes)


def _lines_alike(cause: RootCause, suspect: Suspect, report: Report) -> frozenset[int]:
    """The lines right after the one that counts which the same numbers of failing and passing tests ran."""
    calls = report.observation.calls
    if calls is None:
        return frozenset()
    tests = {failure.nodeid for failure in _failures(cause)}
    hits = Counter(hit for test in tests & calls.failed.keys() for hit in calls.failed[test])
    own = sorted((line, i) for i, line in hits if calls.functions[i].file == suspect.file)
    indexes = {i for line, i in own if line == suspect.odd[0]}
    found = [(line, hits[i, line], calls.functions[i].line_passed(line)) for line, i in own if i in indexes]
    after = dropwhile(lambda each: each[0] != suspect.odd[0], found)
    return frozenset(line for line, *_ in takewhile(lambda each: each[1:] == suspect.odd[1:], after))


def _proof(cause: RootCause, at: ProbablePlace, level: int, *, has_source: bool) -> Iterator[str]:
    """One failing test: its statement, what it got, the values of the names in it.

    :param has_source: the source of the place is shown, with the statement if the line that counts is the test's.
    """
    failure = representative(cause)
    raised = failure.raised
    test = _test_frame(raised)
    said = message_rows(failure, level)
    is_shown = _has_statement(failure, level)
    function = test.function if is_shown and test is not None else ""
    names = [line] if (line := _line_of_test(failure, at)) else []
    case = _case_of(failure, cause, level)
    if case and function in ("", MODULE, qualname(failure.nodeid)):
        names.append(span(f"{qualname(failure.nodeid)}{case}"))
    elif (line or case) and function not in ("", MODULE):
        names.append(span(function, _NAME))
        names += [f"in {span(f'{qualname(failure.nodeid)}{case}')}"] if case else []
    if names:
        yield f"Shown by {' '.join(names)}:"
    is_above = has_source and test is not None and (test.file, test.line) == (at.file, at.mark)
    if not is_shown or is_above or test is None or test.source is None:
        yield from fence("\n".join(said) or "(no message)")
    else:
        # An exception that the code under test raised says itself what was called.
        is_hidden = level >= 3 and test == innermost(raised)
        statement = statement_rows(test.source, test.line, with_assignments=is_hidden)
        yield from fence("\n".join([*map(short, statement), *(f"E  {row}" for row in said)]), "python")
    if level >= 3:
        yield from value_lines(failure)


def _case_of(failure: Failure, cause: RootCause, level: int) -> str:
    """Which case or subtest of its test it is, as ``[it]`` or `` (n=1)``, where the cause has other failures too.

    It is empty where the values of the names, which are shown from level 3 on, say as much.
    """
    subtest = f" {failure.subtest}" if failure.subtest else ""
    case = f"{failure.nodeid[len(test_function(failure.nodeid)) :]}{subtest}"
    is_wanted = level >= 2 and len(cause.evidence) > 1
    if not case or not is_wanted or (level >= 3 and _is_evident(case, failure)):
        return ""
    return f"{' ' * (case[0] == ' ')}{one_line(safe(case), _CASE)}"


def _is_evident(case: str, failure: Failure) -> bool:
    """Whether the values of the names in the statement say which case it is: each part of it is one of them."""
    shown = {text.strip("'\"") for _, text in values(failure)}
    shown |= {f"{name}={text}" for name, text in values(failure)}
    is_parameters = case.startswith("[")
    parts = case[1:-1].split("-") if is_parameters else case.strip(" ()").split(", ")
    return bool(case) and shown.issuperset(parts)


def _has_statement(failure: Failure, level: int) -> bool:
    """Whether the proof has the failing statement of the test."""
    test = _test_frame(failure.raised)
    return (
        level >= 2
        and test is not None
        and test.source is not None
        and not is_a(failure.raised, "DocTestFailure")
    )


def _named_test(cause: RootCause, at: ProbablePlace, level: int, *, is_alone: bool) -> str:
    """The test function, if the heading or the proof names the only failing case of it; else empty.

    Named is it by its file and its whole qualified name.
    """
    failure = representative(cause)
    test = _test_frame(failure.raised)
    own = test_function(failure.nodeid)
    named = [(at.file, at.function)] if level >= 2 and not is_alone and at.score is None else []
    if test is not None and _has_statement(failure, level) and _line_of_test(failure, at):
        named.append((test.file, test.function))
    ids = ["::".join((file, *name.split("."))) for file, name in named if len(name) <= _NAME]
    if failure.nodeid == own:
        return own if own in ids else ""
    is_only = {each.nodeid for each in _failures(cause) if test_function(each.nodeid) == own} == {
        failure.nodeid
    }
    case = _case_of(failure, cause, level)
    return own if own in ids and is_only and case and not case.endswith("…") else ""


def _line_of_test(failure: Failure, at: ProbablePlace) -> str:
    """The line of the test that failed, as code; empty if that is the place itself, or not known."""
    test = _test_frame(failure.raised)
    if test is None or (test.file, test.line) == (at.file, at.line):
        return ""
    return span(f"{test.file}:{test.line}")


def _test_frame(raised: Raised | None) -> Frame | None:
    """The line of the test that failed, nearest to the exception."""
    if raised is None:
        return None
    site = raised.site.frame if raised.site is not None else None
    if site is not None and site.is_test:
        return site
    return next((f for f in reversed(raised.frames) if f.is_test and not f.is_hidden), None)


def _path_to(raised: Raised | None, at: ProbablePlace) -> tuple[str, Frame] | None:
    """Where the exception came from, unless that is the place itself or the test; then what called the place."""
    frame = innermost(raised)
    if frame is None or frame.is_test:
        return None
    here = (at.file, at.function)
    if (frame.file, base_name(frame.function)) != here:
        return "raised", frame
    above = [f for f in frames_of(raised) if (f.file, base_name(f.function)) != here]
    # What the place was given may be wrong.
    return ("called", above[-1]) if above and not above[-1].is_test else None


def _with_text(frame: Frame) -> str:
    line = _text_of(frame)
    return f"{span(f'{frame.file}:{frame.line}')} in {span(frame.function, 80)}{f': {line}' if line else ''}"


def _text_of(frame: Frame) -> str:
    source = frame.source
    if source is None or frame.line not in source.numbers:
        return ""
    return line_of(source.lines[frame.line - source.start], 120)


def _others(cause: RootCause, path: tuple[str, Frame] | None) -> Iterator[str]:
    """The other candidates, in one line; of a file that the one before has too the line alone.

    :param path: where the exception came from, or what called the place, from :func:`_path_to`.
    """
    file, shown = "", []
    how, frame = path if path is not None else ("", None)
    for each in cause.suspects[1:]:
        line, said = each.odd[0] or each.line, percent(each.score)
        if frame is not None and _is_in(frame, each):
            text = _text_of(frame)
            line = frame.line
            said += f"; {'raised' if how == 'raised' else 'calls it'} here{f': {text}' if text else ''}"
        where = f"{'' if each.file == file else each.file}:{line}" if line else each.file
        shown.append(f"{span(where)} {span(each.constant or each.function, 80)} ({said})")
        file = each.file
    if shown:
        yield f"Other places: {', '.join(shown)}."


def _is_in(frame: Frame, suspect: Suspect) -> bool:
    return (frame.file, base_name(frame.function)) == (suspect.file, suspect.function)


def _advice(cause: RootCause, advisers: Mapping[str, Detector]) -> Iterator[str]:
    """General advice if it fits this very failure; that of others after their detector's name for it."""
    detector = advisers.get(cause.kind)
    hint = detector.hint_for(cause.evidence[0]) if detector is not None else ""
    if detector is not None and hint:
        is_ours = any(each.kind == cause.kind for each in DEFAULT_DETECTORS)
        named = "" if is_ours else f"{detector.count_of(cause.evidence[:1])}: "
        yield one_line(f"{named}{hint}", 500)


def _failures(cause: RootCause) -> list[Failure]:
    return [each.failure for each in cause.evidence if each.failure is not None]
