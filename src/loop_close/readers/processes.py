"""Exceptions of Python processes: printed tracebacks, faulthandler dumps, and exceptions that no code handled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from loop_close.conventions import is_test_file
from loop_close.facts import failing_frame, links
from loop_close.model import Failure, Frame, Raised, Site, Warned
from loop_close.readers import Read, Reading, line_end, merged, project_path, warning_at
from loop_close.readers.printed import (
    MARKERS,
    Printed,
    assemble,
    bases_of,
    printed_tracebacks,
    raised_in_line,
)
from loop_close.text import cut

_Said = TypeVar("_Said")
#: Start and end of the text that was read, and its content.
_Found = tuple[int, int, _Said]

# --- tracebacks, and the errors that Python prints without one

#: The place that a syntax error points to, and its last line.
SYNTAX = re.compile(
    r'^(?P<margin>[ \t]{0,40})  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})[^\n]*\n'
    r"(?P<shown>(?:(?P=margin) [^\n]*\n){0,20})(?P=margin)(?P<said>(?P<type>\w{1,200})(?:: [^\n]{1,2000})?)$",
    re.MULTILINE,
)
_SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
_PYTHON = r"^(?:[^\s:]{0,300}[/\\])?python[\d.]{0,8}t?(?:\.exe)?: "
_NO_MODULE = re.compile(
    _PYTHON + r"(?:(?P<message>No module named '?(?P<name>[\w.]{1,200}+)'?(?:[.;] ?[^\n]{0,300})?)"
    r"|Error while finding module specification for '(?P<wanted>[^'\n]{1,200})'"
    r" \(ModuleNotFoundError: (?P<why>[^\n]{1,500})\))$",
    re.MULTILINE,
)
# The last line of a traceback alone, as ``| tail -1`` and log collectors leave it, of the kinds that say enough.
_LAST_LINE = re.compile(
    r"^(?:E {3,7}|Sorry: )?(?P<said>(?:(?:ModuleNotFound|Import)Error: No module named '"
    r"|(?:Syntax|Indentation|Tab|NotImplemented)Error: )[^\n]{1,500})$",
    re.MULTILINE,
)
_MARKER = re.compile(r"^(?P<word>TODO|FIXME)(?:\([^()\n]{1,40}\))?: \S[^\n]{0,500}$", re.MULTILINE)
_MAX_MARKERS = 50
_NO_FILE = re.compile(
    _PYTHON + r"(?P<message>can't (?:open|find) [^\n]{0,40}?'(?P<path>[^'\n]{1,500})'[^\n]{0,200})$",
    re.MULTILINE,
)


def read_tracebacks(text: str, root: str) -> Reading:
    """Each traceback as a failure of the process, equal ones once; lines that say what is to be done as warnings."""
    tracebacks = ((start, end, raised) for raised, start, end in printed_tracebacks(text, root))
    found = _apart([*tracebacks, *_others(text, root)])
    distinct = {text[start:end]: raised for start, end, raised in found}
    markers = [*islice(_MARKER.finditer(text), _MAX_MARKERS)]
    return Reading(
        failures=tuple(_process_failure(raised) for raised in distinct.values()),
        warnings=tuple(Warned(category=marker["word"], message=marker[0]) for marker in markers),
        spans=merged([*((start, end) for start, end, _ in found), *(marker.span() for marker in markers)]),
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
    frames = map(failing_frame, links(raised))
    file, line = next(((frame.file, frame.line) for frame in frames if frame is not None), ("", 0))
    return Failure(
        nodeid="", phase="process", message=message or raised.message, file=file, line=line, raised=raised
    )


def _others(text: str, root: str) -> Iterator[_Found[Raised]]:
    """Errors without a traceback: of ``py_compile``, of a script that is not there or cannot be parsed."""
    if "Error" in text:
        for found in SYNTAX.finditer(text):
            if found["type"] in _SYNTAX_ERRORS and project_path(found["file"], root):
                yield *found.span(), assemble(found["said"], [syntax_place(found)], root=root)
        for line in _LAST_LINE.finditer(text):
            yield *line.span(), assemble(line["said"], (), root=root)
    for found in _NO_MODULE.finditer(text) if "python" in text else ():
        message = found["message"] or found["why"]
        name = (found["name"] or found["wanted"]).rstrip(".")
        yield *found.span(), _built_in("ModuleNotFoundError", message, {"name": name})
    for found in _NO_FILE.finditer(text) if ": can't " in text else ():
        path = project_path(found["path"], root) or found["path"]
        yield *found.span(), _built_in("FileNotFoundError", found["message"], {"path": path})


def syntax_place(found: re.Match[str]) -> Printed:
    """The place that a syntax error points to, from a match of :data:`SYNTAX`."""
    shown = [line[len(found["margin"]) + 4 :] for line in found["shown"].splitlines()]
    lines = [line for line in shown if not MARKERS.fullmatch(line)]
    return Printed(found["file"], int(found["line"]), None, lines)


def _built_in(name: str, message: str, details: dict[str, str]) -> Raised:
    return Raised(type=name, message=message, bases=bases_of(name), details=details)


# --- dumps of faulthandler

_MAX_FRAMES = 16
_THREAD = re.compile(
    r"\n(?P<current>Current )?[Tt]hread 0x[0-9a-fA-F]{1,16}(?: \[[^\]\n]{0,100}\])?"
    r" \(most recent call first\):(?=\n|\Z)"
)
_FRAME = re.compile(
    r'\n  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9}|\?\?\?) in (?P<function>[^\n]{1,300})(?=\n|\Z)'
)
_DUMP = re.compile(
    # Below the progress of a test runner it begins where that leaves off.
    r"^(?:\S{1,500}\.py(?:::\S{1,500})? )?(?:[.sxXuFE]{1,400}|\w{1,300} \([\w.]{1,500}\)[^\n]{0,300} \.\.\. )?"
    r"(?:(?P<type>Fatal Python error|Windows fatal exception): (?P<message>[^\n]{1,1000})"
    r"|(?P<timeout>Timeout \([\d:.]{1,20}\)!))(?=\n)"
    r"(?P<body>(?>(?:\n(?:(?:Current t|T)hread (?:0x|'s C stack )|  |Binary file |Python runtime state: "
    r"|Extension modules: |[\w.]{1,200}Error: |Object type |object (?:address|refcount|type) )[^\n]*+|\n(?=\n))*)"
    r"(?:\n+(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)"
    r"(?: \(core dumped\))?(?=\n|\Z))?)",
    re.MULTILINE,
)


def read_faulthandler(text: str, root: str) -> Reading:
    """Each dump as a failure of the process, of the thread that it says is the current one."""
    failures: list[Failure] = []
    spans: list[tuple[int, int]] = []
    for dump in _DUMP.finditer(text):
        _, *threads = _THREAD.split(dump["body"])
        if not threads:
            continue
        # the current thread, else the first one that runs the project's code
        stacks = sorted(zip(threads[::2], threads[1::2], strict=True), key=lambda thread: thread[0] is None)
        frames = next(filter(None, (_stack(stack, root) for _, stack in stacks)), ())
        raised = Raised(
            type="Timeout" if dump["timeout"] else dump["type"],
            message=dump["timeout"] or dump["message"],
            frames=frames,
            site=Site(frame=frames[-1]) if frames else None,
        )
        failures.append(_process_failure(raised))
        spans.append((dump.start("timeout" if dump["timeout"] else "type"), dump.end()))
    return Reading(failures=tuple(failures), spans=tuple(spans))


def _stack(text: str, root: str) -> tuple[Frame, ...]:
    """The frames of a thread in the project, innermost last."""
    found = [(project_path(at["file"], root), at) for at in _FRAME.finditer(text)]
    frames = [
        Frame(
            file=file,
            line=int(at["line"]) if at["line"].isdecimal() else 0,
            function=at["function"],
            is_test=is_test_file(file),
        )
        for file, at in found
        if file
    ]
    return tuple(frames[:_MAX_FRAMES][::-1])


# --- unhandled exceptions of tasks, threads, callbacks and finalizers; coroutines never awaited

_MAX_FOUND = 2_000
_PHRASES = (
    *("exception was never retrieved", "Exception in callback ", "during asyncio.run() shutdown"),
    *("exception calling callback <", "Exception in thread ", "Exception ignored "),
)
# The line, maybe below what a logger puts before its message, and those about the task or handle.
_UNHANDLED = re.compile(
    r"^(?:[^\n]{0,120}[\s:|\]])??(?P<head>(?:Task|Future) exception was never retrieved"
    r"|Exception in callback [^\n]{1,500}|unhandled exception during asyncio\.run\(\) shutdown"
    r"|exception calling callback <[^\n]{1,300}|Exception in thread [^\n]{1,200}:"
    r"|Exception ignored (?:in|on|while)\b[^\n]{0,500})\n"
    r"(?:(?:future|task|handle|source_traceback|protocol|transport|context|message): [^\n]*\n"
    r"|(?:  File |    |Object created at )[^\n]*\n){0,40}",
    re.MULTILINE,
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
    everything += [(*m.span(), _destroyed(m, root)) for m in _DESTROYED.finditer(text)]
    if "' was never awaited" in text:
        everything += [
            (*m.span(), warning_at("RuntimeWarning", m["message"], m["file"], m["line"], root))
            for m in _NEVER_AWAITED.finditer(text)
        ]
    apart = _apart(everything)[:_MAX_FOUND]
    return Reading(
        failures=tuple(one for *_, one in apart if isinstance(one, Failure)),
        warnings=tuple(one for *_, one in apart if isinstance(one, Warned)),
        spans=tuple((start, end) for start, end, _ in apart),
    )


def _unhandled(text: str, root: str) -> Iterator[_Found[Failure]]:
    if not any(phrase in text for phrase in _PHRASES):
        return
    tracebacks = {start: (raised, end) for raised, start, end in printed_tracebacks(text, root)}
    for found in _UNHANDLED.finditer(text):
        below = found.end()
        end = line_end(text, below)
        # an exception that no code raised has no traceback
        alone = raised_in_line(text[below : min(end, below + 16_000)], root)
        raised, last = tracebacks.get(below, (alone, end))
        if raised is not None:
            said = f"{raised.type}: {raised.message}" if raised.message else raised.type
            message = cut(f"{found['head'].rstrip(':')}: {said}")
            yield found.start("head"), last, _process_failure(raised, message)


def _destroyed(found: re.Match[str], root: str) -> Warned:
    place, name = _AT.search(found["task"]), _COROUTINE.search(found["task"])
    path, line = place.groups() if place else ("", "")
    message = f"{found['message']} {name['name']}()" if name else found["message"]
    return warning_at("asyncio", message, path, line, root)


READERS: dict[str, Read] = {
    "traceback": read_tracebacks,
    "faulthandler": read_faulthandler,
    "asyncio": read_asyncio,
}
