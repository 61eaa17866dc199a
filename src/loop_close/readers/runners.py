"""Commands that failed, as shells, tox and pre-commit say it; and coverage below its limit."""

from __future__ import annotations

import re
from itertools import islice

from loop_close.model import Failure
from loop_close.readers.contract import MARK, Reader, Reading, is_at_end, project_path

_SHELL_MAX_LINE = 1_000
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
# Every line of a shell that is read contains one of these.
_WORDS = (
    *("not found", "such file or directory", "ermission denied", "cannot execute: ", "ailed to spawn: "),
    *(": line ", "zsh: ", "*** ["),
)


def read_shell(text: str, root: str) -> Reading:
    """Commands that are not there, cannot be run, or were ended by a signal."""
    found = [(_shell_failure(text[start:end], root), start, end) for start, end in _lines(text)]
    found += [(_bare(text[start:end]), start, end) for start, end in _last_lines(text)]
    return Reading(
        failures=tuple(dict.fromkeys(failure for failure, _, _ in found if failure is not None)),
        spans=tuple(sorted((start, end) for failure, start, end in found if failure is not None)),
    )


def _lines(text: str) -> list[tuple[int, int]]:
    """The lines worth a closer look, as offsets."""
    found: set[tuple[int, int]] = set()
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            start = text.rfind("\n", max(0, at - _SHELL_MAX_LINE), at) + 1
            end = text.find("\n", at, at + _SHELL_MAX_LINE)
            end = end if end >= 0 else min(len(text), at + _SHELL_MAX_LINE)
            if start or at < _SHELL_MAX_LINE:
                found.add((start, end))
            at = text.find(word, end)
    lines = sorted(found)
    return lines if len(lines) <= 2 * _MAX_FOUND else lines[:_MAX_FOUND] + lines[-_MAX_FOUND:]


def _shell_failure(line: str, root: str) -> Failure | None:
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
        start = text.rfind("\n", max(0, end - _SHELL_MAX_LINE), end) + 1
        if not start and end > _SHELL_MAX_LINE:
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


SHELL = Reader(
    id="shell",
    description="commands that a shell could not run, or that a signal ended",
    read=read_shell,
)


# --- tox

_TOX_MAX_FAILURES = 500
_NAME = r"(?P<name>[\w.][\w.,-]{0,100})"
_END = re.compile(
    r"^ {2}(?:evaluation failed :\(|congratulations :\))(?: \([\d.]{1,12} seconds\))?$", re.MULTILINE
)
_FAILED = re.compile(
    rf"^ {{2}}{_NAME}: FAIL(?: code (?P<code>-?\d{{1,10}}))?(?: \([^\n]{{1,200}}\))?$", re.MULTILINE
)
_WHY = re.compile(
    rf"^{_NAME}: (?:exit (?P<exit>-?\d{{1,10}}) \([\d.]{{1,12}} seconds\) [^\n>]{{0,1000}}> "
    r"(?P<command>[^\n]{1,2000}?)(?: pid=\d{1,10})?"
    r"|(?P<words>failed with [^\n]{1,1000}|Exception running subprocess [^\n]{1,1000}))$",
    re.MULTILINE,
)
# tox 3
_OLD = re.compile(
    r"^ERROR: {2,3}(?P<name>[\w.][\w.,-]{0,100}): (?P<words>(?:parallel child exit code|commands failed"
    r"|could not install deps|InterpreterNotFound|undefined environment)[^\n]{0,1000})$",
    re.MULTILINE,
)
_OLD_HEAD = re.compile(r"^_{10,100} summary _{10,100}$", re.MULTILINE)
_HANDLED = re.compile(r"^(?P<name>ROOT): HandledError\| (?P<words>[^\n]{1,1000})$", re.MULTILINE)


def read_tox(text: str, root: str) -> Reading:
    """A failure for each environment that failed by the summary."""
    failures = _failures(text)
    spans = [m.span() for pattern in (_END, _FAILED, _OLD, _HANDLED) for m in pattern.finditer(text)]
    is_certain = _END.search(text) is not None or _HANDLED.search(text) is not None
    if not failures or not (is_certain or _OLD_HEAD.search(text)):
        return Reading()
    return Reading(failures=tuple(failures), spans=tuple(sorted(spans)), is_certain=True)


def _failures(text: str) -> list[Failure]:
    reasons: dict[str, str] = {}
    for why in _WHY.finditer(text):  # tox stops at the first
        reasons.setdefault(
            why["name"], f"exit {why['exit']}: {why['command']}" if why["exit"] else why["words"]
        )
    ended = {m["name"]: f"exit code {m['code']}" if m["code"] else "failed" for m in _FAILED.finditer(text)}
    ended |= {m["name"]: m["words"] for pattern in (_OLD, _HANDLED) for m in pattern.finditer(text)}
    return [
        Failure(
            nodeid="", phase="process", tool="tox", code=name, message=f"{name}: {reasons.get(name, words)}"
        )
        for name, words in islice(ended.items(), _TOX_MAX_FAILURES)
    ]


TOX = Reader(id="tox", description="environments that tox says have failed", read=read_tox)


# --- pre-commit

_PRE_COMMIT_MAX_FAILURES = 200
_MAX_LINES = 8
_PRE_COMMIT_MAX_LINE = 500
# NAME.....(REASON)STATUS, as pre_commit/commands/run.py writes it (4.7)
_STATUS = re.compile(
    r"^(?P<name>[^\n]{0,200}?)\.{3,200}(?:\([^()\n]{1,60}\))?(?P<status>Passed|Failed|Skipped)$", re.MULTILINE
)
_DETAIL = re.compile(
    r"\n- hook id: (?P<id>[^\n]{1,200})(?:\n- duration: [^\n]{1,40})?(?:\n- exit code: (?P<code>-?\d{1,10}))?"
    r"(?P<modified>\n- files were modified by this hook)?(?=\n|\Z)"
)


def read_pre_commit(text: str, root: str) -> Reading:
    """A failure for each hook that changed files, or whose output has lines that no reader knows."""
    lines = [*_STATUS.finditer(text)]
    failures, spans = [], []
    for number, line in enumerate(lines):
        detail = _DETAIL.match(text, line.end()) if line["status"] == "Failed" else None
        if detail is None:
            continue
        end = lines[number + 1].start() if number + 1 < len(lines) else len(text)
        output = text[detail.end() : end]
        rest = [each for each in output.split("\n") if each.strip() and each != MARK]
        spans.append((line.start(), end if rest else detail.end()))
        if (rest and MARK not in output) or detail["modified"] or not output.strip():
            failures.append(_pre_commit_failure(detail, rest))
    return Reading(
        failures=tuple(failures[:_PRE_COMMIT_MAX_FAILURES]), spans=tuple(spans), is_certain=bool(spans)
    )


def _pre_commit_failure(detail: re.Match[str], lines: list[str]) -> Failure:
    why = "it modified files" if detail["modified"] else f"exit code {detail['code'] or 1}"
    said = "\n".join(each[:_PRE_COMMIT_MAX_LINE] for each in lines[:_MAX_LINES])
    message = f"{detail['id']}: {why}{f':{chr(10)}{said}' if said else ''}"
    return Failure(nodeid="", phase="process", tool="pre-commit", code=detail["id"], message=message)


PRE_COMMIT = Reader(
    id="pre_commit", description="hooks that pre-commit says have failed", read=read_pre_commit
)


# --- coverage and pytest-cov

_MAX_TABLE = 16_000
_SHORT = re.compile(
    r"^(?:(?:FAIL|ERROR:) )?(?P<message>Required test coverage of [\d.]{1,12}% not reached\. "
    r"Total coverage: [\d.]{1,12}%)$"
    r"|^(?:ERROR: )?Coverage failure: (?P<total>total of [\d.]{1,12} is less than fail-under=[\d.]{1,12})$",
    re.MULTILINE,
)
_TABLE = re.compile(r"^Name +Stmts +Miss\b[^\n]{0,200}\n-{5,400}\n", re.MULTILINE)
_TOTAL = re.compile(r"^TOTAL +\d{1,12} [^\n]{0,200}%[^\n]{0,20}$", re.MULTILINE)


def read_coverage(text: str, root: str) -> Reading:
    """One failure with the table of the files, where it was printed; nothing for coverage that is enough."""
    found = list(_SHORT.finditer(text))
    if not found:
        return Reading()
    # pytest-cov says it twice; its second sentence has the digits
    message = next((m["message"] for m in found if m["message"]), None) or found[0]["total"]
    table = _table(text)
    is_certain = bool(table) or is_at_end(text, found[-1].end())
    failure = Failure(
        nodeid="", phase="check", message=message, tool="coverage", code="fail-under", sections=table
    )
    return Reading(failures=(failure,), spans=tuple(m.span() for m in found), is_certain=is_certain)


def _table(text: str) -> tuple[tuple[str, str], ...]:
    """The table of the files up to its total, bounded; of several the last."""
    heads = list(_TABLE.finditer(text))
    total = _TOTAL.search(text, heads[-1].end()) if heads else None
    if total is None:
        return ()
    return (("coverage", text[heads[-1].start() : total.end()][-_MAX_TABLE:]),)


COVERAGE = Reader(
    id="coverage",
    description="coverage below the limit, by coverage report or pytest-cov",
    read=read_coverage,
)

READERS = {reader.id: reader for reader in (SHELL, TOX, PRE_COMMIT, COVERAGE)}
