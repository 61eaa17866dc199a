"""Exceptions that nobody took: in tasks, threads, callbacks, finalizers; coroutines that nobody awaited."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.model import Failure, Raised, Warned
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.paths import project_path
from loop_close.readers.printed import printed_tracebacks, raised_in_line
from loop_close.readers.printed_parts import is_exception
from loop_close.readers.tracebacks import process_failure
from loop_close.text import cut

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
_HEAD = re.compile(
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


def read(text: str, root: str) -> Reading:
    """Those with an exception as failures of the process, the others as warnings."""
    found = _unhandled(text, root)
    if "Task was destroyed but it is pending!" in text:
        found += [(m.start(), m.end(), _destroyed(m, root)) for m in _DESTROYED.finditer(text)]
    if "' was never awaited" in text:
        found += [(m.start(), m.end(), _never_awaited(m, root)) for m in _NEVER_AWAITED.finditer(text)]
    found = _apart(found)
    return Reading(
        failures=tuple(one for *_, one in found if isinstance(one, Failure)),
        warnings=tuple(one for *_, one in found if isinstance(one, Warned)),
        spans=tuple((start, end) for start, end, _ in found),
    )


def _apart(found: list[tuple[int, int, Failure | Warned]]) -> list[tuple[int, int, Failure | Warned]]:
    kept: list[tuple[int, int, Failure | Warned]] = []
    for one in sorted(found, key=lambda one: one[:2]):
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return kept[:_MAX_FOUND]


def _unhandled(text: str, root: str) -> list[tuple[int, int, Failure | Warned]]:
    heads = sorted(head.span() for phrase in _PHRASES for head in _heads(text, phrase))
    tracebacks = (
        {start: (raised, end) for raised, start, end in printed_tracebacks(text, root)} if heads else {}
    )
    found: list[tuple[int, int, Failure | Warned]] = []
    for start, end in heads:
        at = _after(text, end + 1)
        told = tracebacks.get(at) or _without_frames(text, at, root)
        if told is not None:
            found.append((start, told[1], _failure(text[start:end], told[0])))
    return found


def _heads(text: str, phrase: str) -> Iterator[re.Match[str]]:
    """Lines that begin with the phrase, or whose message in a log does."""
    at = text.find(phrase)
    while at >= 0:
        start = text.rfind("\n", max(0, at - _MAX_LOGGED - 1), at) + 1
        head = _HEAD.match(text, at)
        if head is not None and at - start <= _MAX_LOGGED and _LOGGED.match(text[start:at]):
            yield head
        at = text.find(phrase, at + 1)


def _after(text: str, at: int) -> int:
    """Where the exception is told, behind the lines about the task or handle."""
    for _ in range(_MAX_BETWEEN):
        if not _BETWEEN.match(text, at):
            break
        end = text.find("\n", at)
        at = end + 1 if end >= 0 else len(text)
    return at


def _without_frames(text: str, at: int, root: str) -> tuple[Raised, int] | None:
    """The exception of a future that no code raised."""
    end = text.find("\n", at)
    end = end if end >= 0 else len(text)
    line = text[at : min(end, at + 16_000)]
    raised = raised_in_line(line, root) if is_exception(line) else None
    return (raised, end) if raised is not None else None


def _failure(head: str, raised: Raised) -> Failure:
    said = f"{raised.type}: {raised.message}" if raised.message else raised.type
    return process_failure(raised, cut(f"{head.rstrip(':')}: {said}"))


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


READER = Reader(
    id="asyncio",
    description="exceptions that no code took: of tasks, threads, callbacks and finalizers; coroutines never awaited",
    read=read,
)
