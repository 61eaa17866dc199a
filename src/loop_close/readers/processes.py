"""Exceptions of Python processes: printed tracebacks, faulthandler dumps, and exceptions that no code handled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from loop_close.conventions import is_test_file
from loop_close.facts import innermost, links
from loop_close.model import Failure, Frame, Raised, Site, Warned
from loop_close.readers import Read, Reading, line_end, merged, project_path
from loop_close.readers.printed import (
    FRAME,
    MARKERS,
    Printed,
    assemble,
    bases_of,
    is_exception,
    printed_tracebacks,
    raised_in_line,
)
from loop_close.text import cut

_Said = TypeVar("_Said")
#: Start and end of the text that was read, and its content.
_Found = tuple[int, int, _Said]

# --- tracebacks, and the errors that Python prints without one

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
# The last line of a traceback alone, as ``| tail -1`` and log collectors leave it, of the kinds that say enough.
_LAST_LINE = re.compile(
    r"^(?:E {3,7})?(?P<said>(?:(?:ModuleNotFound|Import)Error: No module named '"
    r"|(?:Syntax|Indentation|Tab|NotImplemented)Error: )[^\n]{1,500})$",
    re.MULTILINE,
)
_MARKER = re.compile(r"^(?P<word>TODO|FIXME)(?:\([^()\n]{1,40}\))?: \S[^\n]{0,500}$", re.MULTILINE)
_MAX_MARKERS = 50
_NAMED = re.compile(r"No module named '(?P<name>[^']{1,200})'")
_NO_FILE = re.compile(
    _PYTHON + r"(?P<message>can't (?:open|find) [^\n]{0,40}?'(?P<path>[^'\n]{1,500})'[^\n]{0,200})$",
    re.MULTILINE,
)


def read_tracebacks(text: str, root: str) -> Reading:
    """Each traceback as a failure of the process, equal ones once; lines that say what is to be done as warnings."""
    tracebacks = ((start, end, raised) for raised, start, end in printed_tracebacks(text, root))
    found = _apart([*tracebacks, *_others(text, root)])
    distinct = {text[start:end]: raised for start, end, raised in found}
    is_stopped = bool(found) and found[-1][2].type == "KeyboardInterrupt"
    markers = [*islice(_MARKER.finditer(text), _MAX_MARKERS)] if "\nTODO" in text or "\nFIXME" in text else []
    return Reading(
        failures=tuple(_process_failure(raised) for raised in distinct.values()),
        warnings=tuple(Warned(category=marker["word"], message=marker[0]) for marker in markers),
        spans=merged([*((start, end) for start, end, _ in found), *(marker.span() for marker in markers)]),
        incomplete="interrupted by Ctrl-C" if is_stopped else "",
    )


def _apart(found: Iterable[_Found[_Said]]) -> list[_Found[_Said]]:
    """In the order of the text, without what is inside of another, such as a syntax error in its traceback."""
    kept: list[_Found[_Said]] = []
    for one in sorted(found, key=lambda one: (one[0], -one[1])):
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return kept


def _process_failure(raised: Raised, message: str = "") -> Failure:
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


def _others(text: str, root: str) -> Iterator[_Found[Raised]]:
    """Errors without a traceback: of ``py_compile``, of a script that is not there or cannot be parsed."""
    if "Error: " in text and '  File "' in text:
        for found in _SYNTAX.finditer(text):
            place = _place_above(text, found.start(), found["margin"])
            if place is not None and project_path(place[0].file, root):
                yield place[1], found.end(), assemble(found["said"], [place[0]], root=root)
    if "Sorry: " in text:
        for found in _SORRY.finditer(text):
            at = Printed(found["file"], int(found["line"]), None)
            yield *found.span(), assemble(f"{found['type']}: {found['message']}", [at], root=root)
    if ": No module named " in text or "finding module specification" in text:
        yield from _missing_modules(text)
    for line in _LAST_LINE.finditer(text) if "Error: " in text else ():
        if (raised := raised_in_line(line["said"], root)) is not None:
            yield *line.span(), raised
    if ": can't " in text:
        for found in _NO_FILE.finditer(text):
            path = project_path(found["path"], root) or found["path"]
            yield *found.span(), _built_in("FileNotFoundError", found["message"], {"path": path})


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


def _missing_modules(text: str) -> Iterator[_Found[Raised]]:
    for found in _NO_MODULE.finditer(text):
        message = found["message"] or found["why"]
        named = _NAMED.match(message)
        name = named["name"] if named else (found["name"] or found["wanted"]).rstrip(".")
        yield *found.span(), _built_in("ModuleNotFoundError", message, {"name": name})


def _built_in(name: str, message: str, details: dict[str, str]) -> Raised:
    return Raised(type=name, message=message, bases=bases_of(name), details=details)


# --- dumps of faulthandler

_MAX_FRAMES = 16
_MAX_LINES = 5_000
_DUMP_HEAD = re.compile(
    # Below the progress of a test runner it begins where that leaves off.
    r"^(?:\S{1,500}\.py(?:::\S{1,500})? )?(?:[.sxXuFE]{1,400}|\w{1,300} \([\w.]{1,500}\)[^\n]{0,300} \.\.\. )?"
    r"(?P<type>Fatal Python error|Windows fatal exception): (?P<message>[^\n]{1,1000})$"
    r"|^(?P<timeout>Timeout \([\d:.]{1,20}\)!)$",
    re.MULTILINE,
)
_THREAD = re.compile(
    r"(?P<current>Current )?[Tt]hread 0x[0-9a-fA-F]{1,16}(?: \[[^\]\n]{0,100}\])? \(most recent call first\):\Z"
)
_FRAME = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9}|\?\?\?) in (?P<function>[^\n]{1,300})\Z'
)
# Lines of a dump between the threads.
_INSIDE = re.compile(
    r"\Z|  <|  \.\.\.\Z|  Garbage-collecting\Z|  Binary file |Python runtime state: |Extension modules: "
    r"|Current thread's C stack trace |[\w.]{1,200}Error: |Object type |object (?:address|refcount|type) "
)
_ANY_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_DEATH = re.compile(
    r"(?:(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)(?: \(core dumped\))?)\Z"
)


def read_faulthandler(text: str, root: str) -> Reading:
    """Each dump as a failure of the process, of the thread that it says is the current one."""
    failures: list[Failure] = []
    spans: list[tuple[int, int]] = []
    for head in _DUMP_HEAD.finditer(text):
        if spans and head.start() < spans[-1][1]:
            continue
        threads, end = _threads(text, head.end() + 1, root)
        if threads or "Python runtime state:" in text[head.end() : head.end() + 200]:
            # the current thread, else the first one that runs the project's code
            current = next((frames for is_current, frames in threads if is_current and frames), None)
            frames = (current or next((frames for _, frames in threads if frames), []))[::-1]
            raised = Raised(
                type="Timeout" if head["timeout"] else head["type"],
                message=head["timeout"] or head["message"],
                frames=tuple(frames),
                site=Site(frame=frames[-1]) if frames else None,
            )
            failures.append(_process_failure(raised))
            spans.append((head.start("timeout" if head["timeout"] else "type"), end))
    return Reading(failures=tuple(failures), spans=tuple(spans))


def _threads(text: str, start: int, root: str) -> tuple[list[tuple[bool, list[Frame]]], int]:
    """The threads of a dump, each with its project frames, innermost first; and where the dump ends.

    The first value of a thread says whether it is the current one.
    """
    threads: list[tuple[bool, list[Frame]]] = []
    last = start - 1
    for found in islice(_ANY_LINE.finditer(text, start), _MAX_LINES):
        line = found[0].rstrip("\n")
        if thread := _THREAD.match(line):
            threads.append((thread["current"] is not None, []))
        elif threads and (at := _FRAME.match(line)):
            file = project_path(at["file"], root)
            if file is not None and len(threads[-1][1]) < _MAX_FRAMES:
                number = int(at["line"]) if at["line"].isdecimal() else 0
                frame = Frame(file=file, line=number, function=at["function"], is_test=is_test_file(file))
                threads[-1][1].append(frame)
        elif not (_INSIDE.match(line) or _DEATH.match(line)):
            break
        last = found.start() + len(line) if line else last
        if _DEATH.match(line):
            break
    return threads, last


# --- unhandled exceptions of tasks, threads, callbacks and finalizers; coroutines never awaited

_MAX_BETWEEN = 40
_MAX_FOUND = 2_000
_MAX_LOGGED = 120
_PHRASES = (
    "Task exception was never retrieved",
    "Future exception was never retrieved",
    "Exception in callback ",
    "unhandled exception during asyncio.run() shutdown",
    "exception calling callback <",
    "Exception in thread ",
    "Exception ignored ",
)
# What a logger puts before its message.
_LOGGED = re.compile(r"(?:[^\n]*[\s:|\]])?\Z")
_UNHANDLED_HEAD = re.compile(
    r"(?:Task exception was never retrieved|Future exception was never retrieved"
    r"|Exception in callback [^\n]{1,500}|unhandled exception during asyncio\.run\(\) shutdown"
    r"|exception calling callback <[^\n]{1,300}|Exception in thread [^\n]{1,200}:"
    r"|Exception ignored (?:in|on|while)\b[^\n]{0,500})$",
    re.MULTILINE,
)
_BETWEEN = re.compile(
    r"(?:future|task|handle|source_traceback|protocol|transport|context|message): |  File |    |Object created at "
)
_DESTROYED = re.compile(
    r"(?P<message>Task was destroyed but it is pending!)\n(?:source_traceback:[^\n]*\n(?:  [^\n]*\n){0,60})?"
    r"task: <Task pending (?P<task>[^\n]{0,2000})$",
    re.MULTILINE,
)
_AT = re.compile(r"(?:defined|running) at (?P<file>[^\n>]{1,500}?):(?P<line>\d{1,9})")
_COROUTINE = re.compile(r"coro=<(?P<name>[\w.<>]{1,200})\(")
_NEVER_AWAITED = re.compile(
    r"^(?P<file>[^\s:][^:\n]{0,400}|[A-Za-z]:[^:\n]{1,400}):(?P<line>\d{1,9}): RuntimeWarning: "
    r"(?P<message>coroutine '[^'\n]{1,200}' was never awaited)$",
    re.MULTILINE,
)


def read_asyncio(text: str, root: str) -> Reading:
    """Those with an exception as failures of the process, the others as warnings."""
    everything: list[_Found[Failure | Warned]] = [*_unhandled(text, root)]
    if "Task was destroyed but it is pending!" in text:
        everything += [(*m.span(), _destroyed(m, root)) for m in _DESTROYED.finditer(text)]
    if "' was never awaited" in text:
        everything += [(*m.span(), _never_awaited(m, root)) for m in _NEVER_AWAITED.finditer(text)]
    found = _apart(everything)[:_MAX_FOUND]
    return Reading(
        failures=tuple(one for *_, one in found if isinstance(one, Failure)),
        warnings=tuple(one for *_, one in found if isinstance(one, Warned)),
        spans=tuple((start, end) for start, end, _ in found),
    )


def _unhandled(text: str, root: str) -> Iterator[_Found[Failure]]:
    heads = sorted(head.span() for phrase in _PHRASES for head in _heads(text, phrase))
    if not heads:
        return
    tracebacks = {start: (raised, end) for raised, start, end in printed_tracebacks(text, root)}
    for start, end in heads:
        at = _after(text, end + 1)
        found = tracebacks.get(at) or _without_frames(text, at, root)
        if found is not None:
            raised, last = found
            said = f"{raised.type}: {raised.message}" if raised.message else raised.type
            yield start, last, _process_failure(raised, cut(f"{text[start:end].rstrip(':')}: {said}"))


def _heads(text: str, phrase: str) -> Iterator[re.Match[str]]:
    """Lines that begin with the phrase, or whose message in a log does."""
    at = text.find(phrase)
    while at >= 0:
        start = text.rfind("\n", max(0, at - _MAX_LOGGED - 1), at) + 1
        head = _UNHANDLED_HEAD.match(text, at)
        if head is not None and at - start <= _MAX_LOGGED and _LOGGED.match(text[start:at]):
            yield head
        at = text.find(phrase, at + 1)


def _after(text: str, at: int) -> int:
    """Where the exception follows, after the lines about the task or handle."""
    for _ in range(_MAX_BETWEEN):
        if not _BETWEEN.match(text, at):
            break
        at = min(line_end(text, at) + 1, len(text))
    return at


def _without_frames(text: str, at: int, root: str) -> tuple[Raised, int] | None:
    """The exception of a future that no code raised."""
    end = line_end(text, at)
    line = text[at : min(end, at + 16_000)]
    raised = raised_in_line(line, root) if is_exception(line) else None
    return (raised, end) if raised is not None else None


def _destroyed(found: re.Match[str], root: str) -> Warned:
    place, name = _AT.search(found["task"]), _COROUTINE.search(found["task"])
    file = project_path(place["file"], root) if place else None
    message = f"{found['message']} {name['name']}()" if name else found["message"]
    return Warned(
        category="asyncio", message=message, file=file or "", line=int(place["line"]) if place and file else 0
    )


def _never_awaited(found: re.Match[str], root: str) -> Warned:
    file = project_path(found["file"], root) if found["file"] != "sys" else None
    line = int(found["line"]) if file else 0
    return Warned(category="RuntimeWarning", message=found["message"], file=file or "", line=line)


READERS: dict[str, Read] = {
    "traceback": read_tracebacks,
    "faulthandler": read_faulthandler,
    "asyncio": read_asyncio,
}
