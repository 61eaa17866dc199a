"""Dumps of ``faulthandler``: fatal errors of the interpreter and time limits, with the frames of its threads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.conventions import is_test_file
from loop_close.model import Failure, Frame, Raised, Site
from loop_close.readers.contract import Reader, Reading, is_at_end
from loop_close.readers.paths import project_path
from loop_close.readers.tracebacks import process_failure

_MAX_FRAMES = 16
_MAX_LINES = 5_000
_HEAD = re.compile(
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
# What stands in a dump between the threads.
_INSIDE = re.compile(
    r"\Z|  <|  \.\.\.\Z|  Garbage-collecting\Z|  Binary file |Python runtime state: |Extension modules: "
    r"|Current thread's C stack trace |[\w.]{1,200}Error: |Object type |object (?:address|refcount|type) "
)
_DEATH = re.compile(
    r"(?:(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)(?: \(core dumped\))?)\Z"
)


def read(text: str, root: str) -> Reading:
    """Each dump as a failure of the process, of the thread that it says is the current one."""
    if "(most recent call first):" not in text and "Fatal Python error: " not in text:
        return Reading()
    failures: list[Failure] = []
    spans: list[tuple[int, int]] = []
    is_fatal = False
    for found in _HEAD.finditer(text):
        if spans and found.start() < spans[-1][1]:
            continue
        dump = _Dump(text, found.end() + 1, root)
        if dump.threads or "Python runtime state:" in text[found.end() : found.end() + 200]:
            failures.append(_failure(found, dump))
            spans.append((found.start("timeout" if found["timeout"] else "type"), dump.end))
            is_fatal = found["timeout"] is None
    is_last = is_fatal and is_at_end(text, spans[-1][1])
    return Reading(failures=tuple(failures), spans=tuple(spans), is_certain=is_last)


class _Dump:
    """What follows the first line of a dump.

    :ivar threads: each thread's project frames, innermost first, and whether it is the current one.
    :ivar end: where the dump ends.
    """

    def __init__(self, text: str, start: int, root: str) -> None:
        self.threads: list[tuple[bool, list[Frame]]] = []
        self.end = start - 1
        for line, end in _lines(text, start):
            if found := _THREAD.match(line):
                self.threads.append((found["current"] is not None, []))
            elif self.threads and (at := _FRAME.match(line)):
                self._add(at, root)
            elif _DEATH.match(line):
                self.end = end
                break
            elif not _INSIDE.match(line):
                break
            self.end = end if line else self.end

    def _add(self, at: re.Match[str], root: str) -> None:
        file = project_path(at["file"], root)
        frames = self.threads[-1][1]
        if file is not None and len(frames) < _MAX_FRAMES:
            line = int(at["line"]) if at["line"].isdecimal() else 0
            frames.append(Frame(file=file, line=line, function=at["function"], is_test=is_test_file(file)))

    def frames(self) -> tuple[Frame, ...]:
        """The current thread's frames, else those of the first thread that runs the project's code."""
        current = next((frames for is_current, frames in self.threads if is_current), [])
        return tuple(reversed(current or next((frames for _, frames in self.threads if frames), [])))


def _lines(text: str, start: int) -> Iterator[tuple[str, int]]:
    for _ in range(_MAX_LINES):
        if start >= len(text):
            return
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        yield text[start:end], end
        start = end + 1


def _failure(head: re.Match[str], dump: _Dump) -> Failure:
    frames = dump.frames()
    raised = Raised(
        type="Timeout" if head["timeout"] else head["type"],
        message=head["timeout"] or head["message"],
        frames=frames,
        site=Site(frame=frames[-1]) if frames else None,
    )
    return process_failure(raised)


READER = Reader(
    id="faulthandler",
    description="fatal errors of the interpreter and time limits, as faulthandler dumps them",
    read=read,
)
