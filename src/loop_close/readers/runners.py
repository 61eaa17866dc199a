"""Output of unittest, coverage, pre-commit, tox and shells."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase, Raised
from loop_close.readers import (
    CUT,
    MARK,
    Read,
    Reading,
    line_end,
    merged,
    project_path,
)
from loop_close.readers.printed import printed_tracebacks, raised_in_line
from loop_close.text import cut

_MAX_FAILURES = 20_000


def _process(tool: str, code: str, message: str, file: str = "", line: int = 0) -> Failure:
    return Failure(nodeid="", phase="process", tool=tool, code=code, message=message, file=file, line=line)


# --- shells

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
_ANY_LINE = re.compile(r"[^\n]+")
_SHELL = (_ENDED, _ZSH_ENDED, _MAKE_ENDED, _BY_TOOL, _BY_BUILD, _ZSH, _NOT_RUN)
# Every line of a shell that is read contains one of these.
_WORD = re.compile(
    r"not found|such file or directory|ermission denied|cannot execute: |ailed to spawn: |: line |zsh: |\*\*\* \["
)


def read_shell(text: str, root: str) -> Reading:
    """Commands that are not there, cannot be run, or were ended by a signal."""
    matches = [(start, end, text[start:end]) for start, end in _lines_with(_WORD, text)]
    matches = matches if len(matches) <= 2 * _MAX_FOUND else matches[:_MAX_FOUND] + matches[-_MAX_FOUND:]
    last = max(0, len(text) - _LAST_LINES * _MAX_LINE)
    lines = [(m.start(), m.end(), m[0]) for m in _ANY_LINE.finditer(text, last)]
    found = [(_shell_failure(line[:_MAX_LINE], root), start, end) for start, end, line in matches]
    # a signal's name alone counts only where the output ends with it
    for start, end, line in lines[-_LAST_LINES:]:
        if signal := _BARE.match(line):
            found.append((_process("shell", _SIGNALS[signal["signal"].lower()], line), start, end))
    return Reading(
        failures=tuple(dict.fromkeys(failure for failure, _, _ in found if failure is not None)),
        spans=merged((start, end) for failure, start, end in found if failure is not None),
    )


def _lines_with(word: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The offsets of the lines that contain a word."""
    end = -1
    for found in word.finditer(text):
        if found.start() > end:
            end = line_end(text, found.end())
            yield text.rfind("\n", 0, found.start()) + 1, end


def _shell_failure(line: str, root: str) -> Failure | None:
    found = next((m for pattern in _SHELL if (m := pattern.match(line))), None)
    if found is None:
        return None
    said = {"script": None, "line": None, "name": None, "reason": None} | found.groupdict()
    file = (project_path(said["script"], root) if said["script"] and said["line"] else None) or ""
    place = file, int(said["line"] or 0) if file else 0
    if signal := said.get("signal"):
        command = (said["command"] or "").strip()
        return _process(
            "shell", _SIGNALS[signal.lower()], f"{signal}: {command}" if command else signal, *place
        )
    # any program may say ``x: y: not found``, and compilers do with a line number
    number = said["line"]
    if said["script"] and not (number and (f": line {number}: " in line or said["script"].endswith("sh"))):
        return None
    name = said["name"] or said.get("spawned") or ""
    reason = (said["reason"] or "No such file or directory").removeprefix("failed: ")
    code = "command-not-run" if "denied" in reason.lower() or "execute" in reason else "command-not-found"
    return _process("shell", code, f"{name}: {reason}", *place)


# --- tox

_NAME = r"(?P<name>[\w.][\w.,-]{0,100})"
_END = re.compile(
    r"^ {2}(?:evaluation failed :\(|(?P<green>congratulations :\)))(?: \([\d.]{1,12} seconds\))?$",
    re.MULTILINE,
)
# What tox says of an environment when it ended, and in its summary; tox 3 says it otherwise.
_RESULT = re.compile(
    rf"^(?: {{2}})?{_NAME}: (?P<word>FAIL|SKIP)(?: code -?\d{{1,10}})?"
    r"(?: ✖ in [\d.]{1,12} seconds| \([^\n]{1,200}\))$"
    rf"|^ERROR: {{2,3}}(?P<old>[\w.][\w.,-]{{0,100}}): (?P<words>(?:parallel child exit code|commands failed"
    r"|could not install deps|InterpreterNotFound|undefined environment)[^\n]{0,1000})$"
    r"|^(?P<root>ROOT): HandledError\| (?P<why>[^\n]{1,1000})$",
    re.MULTILINE,
)
_WHY = re.compile(
    rf"^{_NAME}: (?:exit (?P<exit>-?[1-9]\d{{0,9}}) \([\d.]{{1,12}} seconds\) [^\n>]{{0,1000}}> "
    r"(?P<command>[^\n]{1,2000}?)(?: pid=\d{1,10})?"
    r"|(?P<words>failed with [^\n]{1,1000}|Exception running subprocess [^\n]{1,1000}|skipped because [^\n]{1,1000}))$",
    re.MULTILINE,
)


def read_tox(text: str, root: str) -> Reading:
    """A failure for each environment that failed; where the whole failed without one, for each that was skipped."""
    ends, results, whys = (list(pattern.finditer(text)) for pattern in (_END, _RESULT, _WHY))
    is_red = any(not end["green"] for end in ends)
    reasons: dict[str, str] = {}
    for why in whys:  # tox stops at the first
        reasons.setdefault(why["name"], why["words"] or f"exit {why['exit']}: {why['command']}")
    failed = {
        m["name"] or m["old"] or m["root"]: m["words"] or m["why"] or "failed"
        for m in results
        if m["word"] != "SKIP"
    }
    if is_red and not failed:
        failed = {m["name"]: "skipped" for m in results} or {"": "an environment failed"}
    elif not ends and not failed:  # the summary was cut
        failed = {why["name"]: "failed" for why in whys if why["exit"]}
    spans = [m.span() for m in (*ends, *results, *(whys if not ends else ()))]
    if not failed:
        return Reading()
    return Reading(
        failures=tuple(
            _process("tox", name, f"{name}: {reasons.get(name, words)}" if name else words)
            for name, words in islice(failed.items(), _MAX_FOUND)
        ),
        spans=merged(spans),
        is_certain=bool(ends),
    )


# --- pre-commit

_MAX_LINES = 8
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
            failures.append(_hook(detail, rest))
    return Reading(failures=tuple(failures[:_MAX_FOUND]), spans=tuple(spans), is_certain=bool(spans))


def _hook(detail: re.Match[str], lines: list[str]) -> Failure:
    why = "it modified files" if detail["modified"] else f"exit code {detail['code'] or 1}"
    said = "\n".join(each[:_MAX_FOUND] for each in lines[:_MAX_LINES])
    message = f"{detail['id']}: {why}{f':{chr(10)}{said}' if said else ''}"
    return _process("pre-commit", detail["id"], message)


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
    """One failure, with the table of the files if it was printed; nothing for sufficient coverage."""
    found = list(_SHORT.finditer(text))
    if not found:
        return Reading()
    # pytest-cov says it twice; its second sentence has the digits
    message = next((m["message"] for m in found if m["message"]), None) or found[0]["total"]
    table = _table(text)
    failure = Failure(
        nodeid="", phase="check", message=message, tool="coverage", code="fail-under", sections=table
    )
    return Reading(failures=(failure,), spans=tuple(m.span() for m in found))


def _table(text: str) -> tuple[tuple[str, str], ...]:
    """The table of the files up to its total, bounded; of several the last."""
    heads = list(_TABLE.finditer(text))
    total = _TOTAL.search(text, heads[-1].end()) if heads else None
    if total is None:
        return ()
    return (("coverage", text[heads[-1].start() : total.end()][-_MAX_TABLE:]),)


# --- unittest

_RULER = "=" * 70
_LINE = "-" * 70
_HEAD = re.compile(
    rf"^{_RULER}\n(?P<kind>ERROR|FAIL|UNEXPECTED SUCCESS)(?: \[[\d.]{{1,12}}s\])?: (?P<what>[^\n]{{1,2000}})\n"
    rf"(?P<more>(?:(?!{_LINE})[^\n]{{1,1000}}\n){{0,20}})(?P<line>{_LINE}\n)?",
    re.MULTILINE,
)
_CASE = r"\w{1,300} \(\w{1,200}\.[\w.]{1,800}\)(?: [\[(][^\n]{0,500})?"
# What is left of a failure: its heading without a ruler, its line of progress, the words of Django's parallel runner.
_REST = re.compile(
    rf"^(?:FAIL|ERROR): (?P<named>{_CASE})$|^ {{0,2}}(?P<shown>{_CASE})(?:\n[^\n]{{1,400}})? \.\.\. (?:FAIL|ERROR)$"
    rf"|^(?P<parallel>{_CASE}) failed:\n\n[^\n]{{1,2000}}\n\nUnfortunately, [^\n]{{1,200}}"
    r"(?:\n[^\n]{0,200}){1,5} tblib:$",
    re.MULTILINE,
)
_RED = re.compile(r"(?:FAIL|ERROR)(?:: \w{1,300} \(|$)| failed:$", re.MULTILINE)
_SUCCESS = re.compile(r"^UNEXPECTED SUCCESS: (?P<what>[^\n]{1,2000})$", re.MULTILINE)
_SUMMARY = re.compile(
    r"^(?:-{70}\n)?Ran (?P<ran>\d{1,9}) tests? in [\d.]{1,12}s$(?:\n\n(?P<verdict>OK|FAILED|NO TESTS RAN)"
    r"(?: \((?P<numbers>[^()\n]{1,200})\))?$)?|^FAILED \((?P<alone>(?:[a-z ]{6,22}=\d{1,9}(?:, (?=[a-z]))?){1,5})\)$",
    re.MULTILINE,
)
_TEST = re.compile(r"(?P<name>[^\s()]{1,500}) \((?P<owner>[^\s()]{1,1000})\)(?: (?P<sub>[\[(].{0,1000}))?\Z")
_CAPTURED = re.compile(r"^(Stdout|Stderr):$", re.MULTILINE)
_FAILED_IMPORT = re.compile(r"\AImportError: Failed to import test module: [^\n]{1,500}\n")
_FIXTURES: dict[str, Phase] = {
    **dict.fromkeys(("setUpClass", "setUpModule", "setUp", "asyncSetUp"), "setup"),
    **dict.fromkeys(("tearDownClass", "tearDownModule", "tearDown", "asyncTearDown"), "teardown"),
}
_DOTS = re.compile(r"^[.FEsxu]{1,100000}$", re.MULTILINE)
_NUMBER = re.compile(r"(?P<what>[a-z ]{1,30})=(?P<number>\d{1,9})")


def read_unittest(text: str, root: str) -> Reading:
    """A failure for each ``FAIL`` and ``ERROR`` and each unexpected success; counts from the summaries."""
    heads = list(_HEAD.finditer(text)) if _RULER in text else []
    summaries = list(_SUMMARY.finditer(text)) if "Ran " in text or "FAILED (" in text else []
    starts = [*sorted(mark.start() for mark in (*heads, *summaries)), len(text)]
    ends = [starts[bisect_right(starts, head.start())] for head in heads]
    blocks = [(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]
    failures = [failure for head, body in blocks for failure in _unittest_failures(head, body, root)]
    spans = [
        *((head.start(), end) for head, end in zip(heads, ends, strict=True)),
        *(m.span() for m in summaries),
    ]
    if not heads and _RED.search(text) and not any(m["verdict"] == "OK" for m in summaries):
        rest = list(_REST.finditer(text))
        failures = list({_rest(found): None for found in rest})
        spans += [found.span() for found in rest]
    is_open = bool(summaries) and summaries[-1]["ran"] is not None and not summaries[-1]["verdict"]
    whats = [what for head, body in blocks for what in _descriptions(head, body)]
    return Reading(
        failures=tuple(failures[:_MAX_FAILURES]),
        counts=_unittest_counts(summaries, heads, whats, text) if summaries else None,
        spans=merged(spans),
        is_certain=bool(spans),
        incomplete=CUT if is_open else "",
    )


def _rest(found: re.Match[str]) -> Failure:
    nodeid, subtest, phase = _unittest_names(found["named"] or found["shown"] or found["parallel"])
    return Failure(nodeid=nodeid, subtest=subtest, phase=phase, message=found[0].strip())


def _descriptions(head: re.Match[str], body: str) -> list[str]:
    """What the block is about, in unittest's words; unexpected successes share a block."""
    if head["kind"] != "UNEXPECTED SUCCESS":
        return [head["what"]]
    # unittest-xml-reporting shows an object of its own, and the test below it
    first = head["more"].partition("\n")[0] if head["what"].startswith("<") else head["what"]
    return [first, *(m["what"] for m in _SUCCESS.finditer(head["more"] + body))]


def _unittest_failures(head: re.Match[str], body: str, root: str) -> Iterator[Failure]:
    if head["kind"] == "UNEXPECTED SUCCESS":
        for what in _descriptions(head, body):
            nodeid, subtest, _ = _unittest_names(what)
            yield Failure(nodeid=nodeid, subtest=subtest, phase="call", message="unexpected success")
    elif head["line"] or not (head["more"] + body).strip("-\n "):
        yield _unittest_failure(head["what"], body, root)


def _unittest_failure(what: str, body: str, root: str) -> Failure:
    nodeid, subtest, phase = _unittest_names(what)
    body, *captured = _CAPTURED.split(body)  # the output that ``--buffer`` puts below a traceback
    outputs = zip(captured[::2], captured[1::2], strict=True)
    raised = _unittest_raised(body.strip("\n"), root)
    failure = Failure(
        nodeid=nodeid,
        phase=phase,
        message=raised.message if raised is not None else cut(body.strip()),
        subtest=subtest,
        raised=raised,
        sections=tuple((title, output.strip("\n")) for title, output in outputs),
    )
    if raised is None:
        return failure
    if phase == "call" and raised.frames:
        failure = replace(failure, phase=_FIXTURES.get(raised.frames[0].function, "call"))
    # the test's own method, else the outermost of the project
    name = nodeid.rpartition(".")[2]
    frame = next((f for f in raised.frames if f.function == name), next(iter(raised.frames), None))
    file, line = (
        (frame.file, frame.line) if frame else (raised.details.get("path", ""), raised.details.get("line", 0))
    )
    return replace(failure, file=file, line=int(line))


def _unittest_names(what: str) -> tuple[str, str, Phase]:
    """The test's id as ``python -m unittest`` takes it, the subtest, and the phase as far as the name shows it."""
    found = _TEST.match(what)
    if found is None:
        return what, "", "call"
    name, owner = found["name"], found["owner"]
    if owner.startswith("unittest.loader._FailedTest"):
        return name, "", "collect"
    if name in _FIXTURES:
        return owner, "", _FIXTURES[name]
    # Python 3.10 and before leave the method out of the parentheses
    is_whole = owner == name or owner.endswith(f".{name}")
    return owner if is_whole else f"{owner}.{name}", found["sub"] or "", "call"


def _unittest_raised(body: str, root: str) -> Raised | None:
    """The exception; all that follows it in its block belongs to its message."""
    body = _FAILED_IMPORT.sub("", body)
    found = list(printed_tracebacks(body, root))
    if not found:
        return raised_in_line(body, root)
    raised, _, end = found[-1]
    rest = body[end:].rstrip()
    return replace(raised, message=cut(raised.message + rest)) if rest and not raised.members else raised


def _unittest_counts(
    summaries: Sequence[re.Match[str]], heads: Sequence[re.Match[str]], whats: Sequence[str], text: str
) -> Counts:
    """The numbers of the summaries.

    A test with failing subtests is one, a failing ``setUpClass`` is none. An unexpected success without a
    block counts as a failed test.

    :param whats: what the blocks are about.
    """
    numbers: Counter[str] = Counter()
    for number in chain.from_iterable(_NUMBER.finditer(m["numbers"] or m["alone"] or "") for m in summaries):
        numbers[number["what"].strip()] += int(number["number"])
    unexpected, skipped, xfailed = (
        numbers[name] for name in ("unexpected successes", "skipped", "expected failures")
    )
    unseen = max(0, numbers["failures"] + numbers["errors"] + unexpected - len(whats))
    broken = {_unittest_names(what)[0] for what in whats if what.partition(" ")[0] not in _FIXTURES}
    inner = len([head for head in heads if head["kind"] == "FAIL" and _unittest_names(head["what"])[1]])
    ran = sum(int(m["ran"] or 0) for m in summaries)
    passed = ran - len(broken) - unseen - xfailed
    # Python 3.12.1 leaves skipped tests out of those it ran
    seen = sum(line[0].count(".") for line in _DOTS.finditer(text)) + text.count(" ... ok\n")
    return Counts(
        passed=max(0, passed - skipped, min(seen, passed)),
        failed=max(0, numbers["failures"] - inner) + min(unseen, unexpected),
        failed_subtests=min(inner, numbers["failures"]),
        errors=numbers["errors"],
        skipped=skipped,
        xfailed=xfailed,
        xpassed=unexpected - min(unseen, unexpected),
        collected=ran,
    )


READERS: dict[str, Read] = {
    "shell": read_shell,
    "tox": read_tox,
    "pre_commit": read_pre_commit,
    "coverage": read_coverage,
    "unittest": read_unittest,
}
