"""What shells say of commands that they cannot run, and of those that a signal ended."""

from __future__ import annotations

import re

from loop_close.model import Failure
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.paths import project_path

_MAX_LINE = 1_000
_MAX_FOUND = 500
_LAST_LINES = 3
_REASON = (
    r"(?:command not found|not found|No such file or directory|Permission denied|cannot execute: .{1,200})"
)
_WHO = (
    r"(?:-?(?:/[\w./-]{1,200}/)?(?:ba|da|z|k|a)?sh|(?P<script>[\w./-]{1,300}))"
    r":(?: ?(?:line )?(?P<line>\d{1,9}):)? "
)
# bash: line 1: foo: command not found · sh: 1: foo: not found · ./run.sh: line 3: exec: foo: not found
_NOT_RUN = re.compile(_WHO + rf"(?:exec: )?(?P<name>[^\s:][^:]{{0,200}}): (?P<reason>{_REASON})\Z")
# zsh:1: command not found: foo
_ZSH = re.compile(
    _WHO
    + r"(?P<reason>command not found|no such file or directory|permission denied): (?P<name>\S.{0,200})\Z"
)
# env: ‘foo’: No such file or directory · make: foo: No such file or directory
_BY_TOOL = re.compile(
    r"(?:/[\w./-]{1,200}/)?(?:env|g?make|xargs|nohup|timeout|nice|sudo|time|stdbuf|setsid|flock)(?:\[\d{1,4}\])?: "
    rf"(?:failed to run command )?['‘\"]?(?P<name>[^\s'‘’\":]{{1,200}})['’\"]?: (?P<reason>{_REASON})\Z"
)
_BY_BUILD = re.compile(
    r"error: (?:command '(?P<name>[^'\n]{1,200})' (?P<reason>not found|failed: No such file or directory)"
    r"|[Ff]ailed to spawn: `(?P<spawned>[^`\n]{1,200})`)\Z"
)
_SIGNALS = {
    "segmentation fault": "SIGSEGV",
    "aborted": "SIGABRT",
    "abort": "SIGABRT",
    "bus error": "SIGBUS",
    "floating point exception": "SIGFPE",
    "illegal instruction": "SIGILL",
    "illegal hardware instruction": "SIGILL",
    "killed": "SIGKILL",
    "terminated": "SIGTERM",
}
_SIGNAL = rf"(?P<signal>{'|'.join(_SIGNALS)})(?: +\(core dumped\))?"
# crash.sh: line 1: 18168 Segmentation fault      python3 segv.py · the number has a width of 5
_ENDED = re.compile(_WHO + rf" {{0,9}}\d{{1,10}} {_SIGNAL}(?: +(?P<command>\S.{{0,500}}))?\Z", re.IGNORECASE)
# zsh: segmentation fault  python3 segv.py
_ZSH_ENDED = re.compile(rf"zsh: (?:\d{{1,10}} )?{_SIGNAL}(?: +(?P<command>\S.{{0,500}}))?\Z", re.IGNORECASE)
# make: *** [Makefile:6: crash] Segmentation fault
_MAKE_ENDED = re.compile(
    rf"g?make(?:\[\d{{1,4}}\])?: \*\*\* \[(?P<command>.{{1,200}})\] {_SIGNAL}\Z", re.IGNORECASE
)
_BARE = re.compile(rf"{_SIGNAL}\Z", re.IGNORECASE)
# Every line that tells something has one of these in it.
_WORDS = (
    *("not found", "such file or directory", "ermission denied", "cannot execute: ", "ailed to spawn: "),
    *(": line ", "zsh: ", "*** ["),
)


def read(text: str, root: str) -> Reading:
    """Commands that are not there, cannot be run, or were ended by a signal."""
    found = [(_failure(text[start:end], root), start, end) for start, end in _lines(text)]
    found += [(_bare(text[start:end]), start, end) for start, end in _last_lines(text)]
    told = [one for one in found if one[0] is not None]
    return Reading(
        failures=tuple(dict.fromkeys(failure for failure, _, _ in told if failure is not None)),
        spans=tuple(sorted((start, end) for _, start, end in told)),
    )


def _lines(text: str) -> list[tuple[int, int]]:
    """The lines worth a closer look, as offsets."""
    found: set[tuple[int, int]] = set()
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            start = text.rfind("\n", max(0, at - _MAX_LINE), at) + 1
            end = text.find("\n", at, at + _MAX_LINE)
            end = end if end >= 0 else min(len(text), at + _MAX_LINE)
            if start or at < _MAX_LINE:
                found.add((start, end))
            at = text.find(word, end)
    lines = sorted(found)
    return lines if len(lines) <= 2 * _MAX_FOUND else lines[:_MAX_FOUND] + lines[-_MAX_FOUND:]


def _failure(line: str, root: str) -> Failure | None:
    for pattern in (_ENDED, _ZSH_ENDED, _MAKE_ENDED):
        if found := pattern.match(line):
            return _ended(found, root)
    for pattern in (_BY_TOOL, _ZSH, _NOT_RUN, _BY_BUILD):
        if (found := pattern.match(line)) and (failure := _not_run(found, root)):
            return failure
    return None


def _ended(found: re.Match[str], root: str) -> Failure:
    file, line = _script(found, root)
    command = (found["command"] or "").strip()
    message = f"{found['signal']}: {command}" if command else found["signal"]
    return _process(_SIGNALS[found["signal"].lower()], message, file, line)


def _not_run(found: re.Match[str], root: str) -> Failure | None:
    said = found.groupdict()
    name = said["name"] or said.get("spawned") or ""
    reason = (said["reason"] or "No such file or directory").removeprefix("failed: ")
    file, line = _script(found, root)
    if not name.strip() or not _is_of_shell(found.group(), said):
        return None
    code = "command-not-run" if "denied" in reason.lower() or "execute" in reason else "command-not-found"
    return _process(code, f"{name}: {reason}", file, line)


def _is_of_shell(line: str, said: dict[str, str | None]) -> bool:
    """Whether a shell says it: any program may say ``x: y: not found``, and compilers do with a line number."""
    script, number = said.get("script"), said.get("line")
    if script is None:
        return True
    return number is not None and (f": line {number}: " in line or script.endswith("sh"))


def _script(found: re.Match[str], root: str) -> tuple[str, int]:
    said = found.groupdict()
    if not said.get("script") or not said.get("line"):
        return "", 0
    file = project_path(said["script"], root)
    return (file, int(said["line"])) if file else ("", 0)


def _last_lines(text: str) -> list[tuple[int, int]]:
    """The lines that the output ends with, as offsets."""
    found = []
    end = len(text)
    for _ in range(_LAST_LINES):
        start = text.rfind("\n", max(0, end - _MAX_LINE), end) + 1
        if not start and end > _MAX_LINE:
            break
        found.append((start, end))
        end = max(0, start - 1)
    return list(dict.fromkeys(found))


def _bare(line: str) -> Failure | None:
    """A signal's name alone, which counts only where the output ends with it."""
    found = _BARE.match(line)
    return _process(_SIGNALS[found["signal"].lower()], line) if found else None


def _process(code: str, message: str, file: str = "", line: int = 0) -> Failure:
    return Failure(nodeid="", phase="process", tool="shell", code=code, message=message, file=file, line=line)


READER = Reader(
    id="shell",
    description="commands that a shell could not run, or that a signal ended",
    read=read,
)
