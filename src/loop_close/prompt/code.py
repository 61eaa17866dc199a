"""The source around a failure: the statement, what it was called by, and what made its values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from loop_close.facts import innermost, is_about_no_exception, is_assertion
from loop_close.model import Failure, Frame, Origin, Raised, Site, Source
from loop_close.prompt.show import excerpt, line_of, opening, opening_numbers, span

_ON_LINE = re.compile(r"\bon line (\d{1,6})\b")
_BODY_LINES = (0, 0, 8, 8)


def code_lines(failure: Failure, level: int, *, with_origin: bool) -> Iterator[str]:
    """The source that helps to understand a failure, the more the higher the level.

    :param with_origin: show the function behind the values; False where the prompt has it already.
    """
    raised = failure.raised
    site = raised.site if raised is not None else None
    if raised is None or site is None:
        return
    yield from _statement(raised, site, level)
    frame = innermost(raised)
    if frame is not None and frame != site.frame and site.frame.function:
        yield f"Raised in {span(frame.function, 80)} at {_at(frame.file, frame.line)}."
    yield from _callers(raised, site)
    yield from _origins(raised, site)
    for origin in [o for o in site.origins if o.file][: int(with_origin)]:
        yield from _definition(origin, level)


def _statement(raised: Raised, site: Site, level: int) -> list[str]:
    frame = site.frame
    if frame.source is None:
        return []
    if "text" in raised.details:
        return _syntax(raised, frame, frame.source)
    before = level
    if frame.is_test and any(o.source for o in site.origins):
        before = level - 1  # the message tells the statement; what made the value is worth more lines
    return excerpt(frame.source, frame.line, before=before, after=1 if before else 0)


def _syntax(raised: Raised, frame: Frame, source: Source) -> list[str]:
    """The line that cannot be parsed; the fault may lie as far above it as the line that the message names."""
    named = _ON_LINE.search(raised.message)
    before = max(3, frame.line - int(named[1])) if named else 3
    column = raised.details.get("column", "")
    return excerpt(
        source, frame.line, before=before, after=1, column=int(column) if column.isdecimal() else 0
    )


def _callers(raised: Raised, site: Site) -> Iterator[str]:
    """Who called the function at fault: functions of the project, and the statement of the test."""
    frames = [f for f in raised.frames if not f.is_hidden]
    above = frames[: frames.index(site.frame)] if site.frame in frames else []
    path = [f for f in above if not f.is_test][-2:]
    if path:
        called = ", ".join(f"{span(f.function, 60)} ({_at(f.file, f.line)})" for f in reversed(path))
        yield f"Called from {called}."
    test = next((f for f in reversed(above) if f.is_test), None)
    if test is not None and not site.frame.is_test:
        yield f"The test's line, {_at(test.file, test.line)}: {line_of(_line(test), 140)}"


def _line(frame: Frame) -> str:
    source = frame.source
    if source is None or not source.start <= frame.line < source.start + len(source.lines):
        return ""
    return source.lines[frame.line - source.start]


def _origins(raised: Raised, site: Site) -> Iterator[str]:
    compared = is_assertion(raised) and not is_about_no_exception(raised)
    judged = compared or "NoneType" in raised.message
    known = ", ".join(f"{span(o.function, 80)} at {_at(o.file, o.line)}" for o in site.origins[:3] if o.file)
    if known:
        yield f"The values come from {known}." if judged else f"The statement uses {known}."
    unknown = ", ".join(span(o.function, 80) for o in site.origins[:2] if not o.file)
    if unknown:
        yield f"The values come from {unknown}."


def _definition(origin: Origin, level: int) -> Iterator[str]:
    """The first lines of what made the value, and what that calls: the fault may lie below it."""
    shown = opening(origin.source, origin.body, _BODY_LINES[level]) if origin.source is not None else []
    if level > 2 or not any(
        line.strip() == "…" for line in shown[-2:]
    ):  # the start of a long one tells little
        yield from shown
    calls = ", ".join(f"{span(name, 60)} ({_at(file, line)})" for file, line, name in origin.calls)
    if calls:
        yield f"It calls {calls}."


def lines_shown(origin: Origin) -> Collection[int]:
    """The numbers of those lines of its definition that are shown, where most are."""
    numbers = opening_numbers(origin.source, origin.body) if origin.source is not None else []
    return numbers[: _BODY_LINES[-1]]


def _at(file: str, line: int) -> str:
    return span(f"{file}:{line}")
