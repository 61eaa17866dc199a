"""Tracebacks that a program or Python itself printed, and what Python says instead of running one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.facts import innermost, links
from loop_close.model import Failure, Frame, Raised
from loop_close.readers.builtin_errors import bases_of
from loop_close.readers.contract import Reader, Reading, is_at_end
from loop_close.readers.paths import project_path
from loop_close.readers.printed import printed_tracebacks
from loop_close.readers.printed_parts import FRAME, MARKERS, Printed, assemble

Found = tuple[Raised, int, int]

_MAX_BLOCK = 6
_SYNTAX = re.compile(
    r"^(?P<margin>[ \t]{0,40})(?P<said>(?:Syntax|Indentation|Tab)Error: [^\n]{1,2000})$", re.MULTILINE
)
_SORRY = re.compile(
    r"^Sorry: (?P<type>IndentationError|TabError): (?P<message>[^\n]{1,500}?)"
    r" \((?P<file>[^\n()]{1,500}), line (?P<line>\d{1,9})\)$",
    re.MULTILINE,
)
_PYTHON = r"^(?:[^\s:]{0,300}[/\\])?python[\d.]{0,8}t?(?:\.exe)?: "
_NO_MODULE = re.compile(
    _PYTHON + r"(?:(?P<message>No module named '?(?P<name>[\w.]{1,200}+)'?(?:[.;] ?[^\n]{0,300})?)"
    r"|Error while finding module specification for '(?P<wanted>[^'\n]{1,200})'"
    r" \(ModuleNotFoundError: (?P<why>[^\n]{1,500})\))$",
    re.MULTILINE,
)
# The last line of a traceback alone, as ``| tail -1`` and log collectors leave it.
_LAST_LINE = re.compile(
    r"^(?:E {3,7})?(?P<type>ModuleNotFoundError|ImportError): "
    r"(?P<message>No module named '(?P<name>[\w.]{1,200})'[^\n]{0,300})$",
    re.MULTILINE,
)
_NAMED = re.compile(r"No module named '(?P<name>[^']{1,200})'")
_NO_FILE = re.compile(
    _PYTHON + r"(?P<message>can't (?:open|find) [^\n]{0,40}?'(?P<path>[^'\n]{1,500})'[^\n]{0,200})$",
    re.MULTILINE,
)


def read(text: str, root: str) -> Reading:
    """Each traceback as a failure of the process; equal ones once."""
    found = _apart([*printed_tracebacks(text, root), *_others(text, root)])
    distinct = {text[start:end]: raised for raised, start, end in found}
    is_stopped = bool(found) and found[-1][0].type == "KeyboardInterrupt" and is_at_end(text, found[-1][2])
    return Reading(
        failures=tuple(process_failure(raised) for raised in distinct.values()),
        spans=tuple((start, end) for _, start, end in found),
        is_certain=is_stopped,
        incomplete="interrupted by Ctrl-C" if is_stopped else "",
    )


def _apart(found: list[Found]) -> list[Found]:
    """In the order of the text; what lies inside of another, such as a syntax error in its traceback, left out."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: (one[1], -one[2])):
        if not kept or one[1] >= kept[-1][2]:
            kept.append(one)
    return kept


def process_failure(raised: Raised, message: str = "") -> Failure:
    """The exception as a failure of the process, at the project's innermost frame.

    :param message: in place of the exception's.
    """
    frame = _place(raised)
    file, line = (frame.file, frame.line) if frame is not None else ("", 0)
    return Failure(
        nodeid="", phase="process", message=message or raised.message, file=file, line=line, raised=raised
    )


def _place(raised: Raised) -> Frame | None:
    for link in links(raised):
        frame = link.site.frame if link.site is not None else innermost(link)
        if frame is not None:
            return frame
    return next((place for member in raised.members if (place := _place(member))), None)


def _others(text: str, root: str) -> Iterator[Found]:
    if "Error: " in text and '  File "' in text:
        yield from _syntax_errors(text, root)
    if "Sorry: " in text:
        yield from _sorry(text, root)
    if ": No module named " in text or "finding module specification" in text:
        yield from _missing_modules(text)
    if ": can't " in text:
        yield from _missing_files(text, root)


def _syntax_errors(text: str, root: str) -> Iterator[Found]:
    """Syntax errors without a traceback, as Python prints them of a script and ``py_compile`` of any file."""
    for found in _SYNTAX.finditer(text):
        place = _place_above(text, found.start(), found["margin"])
        if place is not None and project_path(place[0].file, root):
            yield assemble(found["said"], [place[0]], root=root), place[1], found.end()


def _place_above(text: str, end: int, margin: str) -> tuple[Printed, int] | None:
    """The ``File`` line over a syntax error with its source, and where that line starts."""
    below: list[str] = []
    for _ in range(_MAX_BLOCK):
        start = text.rfind("\n", max(0, end - 2_000), max(end - 1, 0)) + 1
        line = text[start : end - 1]
        if start >= end or not line.startswith(margin):
            return None
        body = line[len(margin) :]
        if at := FRAME.match(body):
            marks = next((b[4:] for b in below if MARKERS.match(b)), "")
            lines = [b[4:] for b in below if not MARKERS.match(b)][:1]
            return Printed(at["file"], int(at["line"]), None, lines, marks), start
        below.insert(0, body)
        end = start
    return None


def _sorry(text: str, root: str) -> Iterator[Found]:
    """``py_compile`` of a file with wrong indentation."""
    for found in _SORRY.finditer(text):
        place = Printed(found["file"], int(found["line"]), None)
        yield assemble(f"{found['type']}: {found['message']}", [place], root=root), found.start(), found.end()


def _missing_modules(text: str) -> Iterator[Found]:
    for line in _LAST_LINE.finditer(text):
        kind, details = line["type"], {"name": line["name"]}
        raised = Raised(type=kind, message=line["message"], bases=bases_of(kind), details=details)
        yield raised, line.start(), line.end()
    for found in _NO_MODULE.finditer(text):
        message = found["message"] or found["why"]
        named = _NAMED.match(message)
        name = named["name"] if named else (found["name"] or found["wanted"]).rstrip(".")
        raised = Raised(
            type="ModuleNotFoundError",
            message=message,
            bases=bases_of("ModuleNotFoundError"),
            details={"name": name},
        )
        yield raised, found.start(), found.end()


def _missing_files(text: str, root: str) -> Iterator[Found]:
    for found in _NO_FILE.finditer(text):
        path = project_path(found["path"], root) or found["path"]
        name = "FileNotFoundError"
        details = {"path": path}
        raised = Raised(type=name, message=found["message"], bases=bases_of(name), details=details)
        yield raised, found.start(), found.end()


READER = Reader(
    id="traceback",
    description="tracebacks that a program printed, and Python's words where it could not run one",
    read=read,
)
