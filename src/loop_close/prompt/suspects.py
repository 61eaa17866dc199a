"""The functions that probably hold the fault, below what was observed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.calls import Calls
from loop_close.facts import place
from loop_close.memory import Progress
from loop_close.model import Report, RootCause, Source, Suspect
from loop_close.prompt.cause import definition_of, representative, shown_of
from loop_close.prompt.show import excerpt, line_of, span
from loop_close.syntax.heads import body_start, edited_at
from loop_close.syntax.meaning import MODULE

#: Root causes with suspects in the prompt: the first are the ones to fix next.
_CAUSES = 3
_MOST = (5, 3, 2)
_BEFORE, _AFTER = 3, 2
_OPENING = 5


def suspect_lines(report: Report, tokens: int) -> Iterator[str]:
    """At most five suspects of the first root cause, fewer of the next ones; the source of the very first."""
    calls = report.observation.calls
    remembered = calls.remembered if calls is not None else 0
    numbered = [(n, cause) for n, cause in enumerate(report.causes, start=1) if _says_more(cause)][:_CAUSES]
    for (number, cause), most in zip(numbered, _MOST, strict=False):
        omitted = _omitted(cause, calls)
        yield from _heading(
            number, cause, most, is_alone=len(report.causes) == 1, remembered=remembered, omitted=omitted
        )
        yield from (_line(suspect) for suspect in cause.suspects[:most])
        if number == numbered[0][0]:
            yield from _source(cause, report.progress)
    why = report.observation.why_no_calls
    if why and report.observation.asks_for_calls:
        yield f"Which functions the tests called is not known, or not of all tests: {line_of(why)}."


def _omitted(cause: RootCause, calls: Calls | None) -> int:
    """How many of its failing tests were beyond the bound, so that nothing is known of what they called."""
    if calls is None or not calls.omitted:
        return 0
    tests = {each.failure.nodeid for each in cause.evidence if each.failure is not None}
    return min(calls.omitted, len(tests - calls.failed.keys()))


def _says_more(cause: RootCause) -> bool:
    """Whether there is more to say than the traceback that the root cause is told by."""
    known = [each for each in cause.suspects if each.failed[1] or each.edited or each.none_before]
    return len(known) > 1 or any(not _is_told(cause, suspect) for suspect in known)


def _is_told(cause: RootCause, suspect: Suspect) -> bool:
    file, _, function = place(representative(cause))
    return (file, function) == (suspect.file, suspect.function)


def _heading(
    number: int, cause: RootCause, most: int, *, is_alone: bool, remembered: int, omitted: int
) -> Iterator[str]:
    """What the counts are out of, said once for all suspects of a cause."""
    counted = next((s for s in cause.suspects[:most] if s.passed[1]), None)
    about = [] if is_alone else [f"of {number}"]
    if counted is not None:
        failed, passed = counted.failed[1], counted.passed[1]
        earlier = " (counted in an earlier run)" if remembered else ""
        some = "" if not omitted else f" ({omitted:,} more were not looked at)"
        about.append(
            f"called by how many of the {failed} failing{some} and {passed:,} passing tests{earlier}"
        )
    if about:
        text = ", ".join(about)
        yield f"{text[0].upper()}{text[1:]}:"


def _line(suspect: Suspect) -> str:
    where = f"{suspect.file}:{suspect.line}" if suspect.line else suspect.file
    said = "; ".join([*_counts(suspect), *suspect.reasons])
    return f"- {span(where)} {span(suspect.function, 80)}{': ' if said else ''}{said}"


def _counts(suspect: Suspect) -> Iterator[str]:
    if suspect.passed[1]:
        line, failed, passed = suspect.odd
        odd = f" (line {line}: {failed} and {passed})" if line else ""
        yield f"{suspect.failed[0]} and {suspect.passed[0]}{odd}"
    elif suspect.failed[1]:
        yield f"{suspect.failed[0]} failing"


def all_reasons(suspect: Suspect) -> Iterator[str]:
    """The reasons with the counts before them, each to be understood by itself."""
    (failed, all_failed), (passed, all_passed) = suspect.failed, suspect.passed
    if all_passed:
        yield f"called by {failed} of {all_failed} failing and {passed} of {all_passed} passing tests"
    elif all_failed:
        yield f"called by {failed} of {all_failed} failing tests"
    line, failed, passed = suspect.odd
    if line:
        yield f"line {line} run by {failed} failing and {passed} passing tests"
    yield from suspect.reasons


def edited_in(lines: Sequence[str], suspect: Suspect, progress: Progress | None) -> int | None:
    """The index of the line that was edited right before it began to fail; where that is gone, since then.

    :returns: None where it was not edited, or where the line is not to be found.
    """
    first, *others = _diffs(suspect, progress) or [""]
    found = (edited_at(lines, diff) for diff in (first, *reversed(others)))
    return next((at for at in found if at is not None), None)


def _diffs(suspect: Suspect, progress: Progress | None) -> list[str]:
    """What the edits that make it suspect changed, and those since, the oldest first."""
    steps = progress.episode.steps if progress is not None and suspect.edited else ()
    edits = (edit for step in steps if step.run >= suspect.edited for edit in step.edits.edits)
    return [
        e.diff for e in edits if e.is_effective and (e.file, e.function) == (suspect.file, suspect.function)
    ]


def _source(cause: RootCause, progress: Progress | None) -> list[str]:
    """The first suspect's lines, unless they stand above: where it was raised, or what made the values."""
    first = cause.suspects[0]
    if first.source is None or _is_told(cause, first):
        return []
    lines, start = first.source.lines, first.source.start
    body, line = start + body_start(lines), _line_in_question(first, first.source, progress)
    if definition_of(cause) == (first.file, first.line) and (line < start or line in shown_of(cause)):
        return []
    if line < start:  # none: the body from its start, with nothing marked
        return excerpt(first.source, body - 1, before=-1, after=_OPENING - (body > start + 1))
    before = min(_BEFORE, line - body) if line >= body else 0
    return excerpt(first.source, line, before=before, after=_AFTER if line >= body else 0)


def _line_in_question(suspect: Suspect, source: Source, progress: Progress | None) -> int:
    """The line that sets the failing tests apart, else the one that was edited; 0 for none."""
    if suspect.function == MODULE or suspect.odd[0]:
        return suspect.odd[0] or suspect.line
    at = edited_in(source.lines, suspect, progress)
    return source.start + at if at is not None else 0
