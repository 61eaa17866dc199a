"""Output of unittest, coverage, pre-commit, tox and shells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Frame, Phase, Raised
from loop_close.readers import CUT, MARK, Read, Reading, is_at_end, is_quoted_until, project_path
from loop_close.readers.printed import printed_tracebacks, raised_in_line
from loop_close.text import cut

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
    failures = _tox_failures(text)
    spans = [m.span() for pattern in (_END, _FAILED, _OLD, _HANDLED) for m in pattern.finditer(text)]
    is_certain = _END.search(text) is not None or _HANDLED.search(text) is not None
    if not failures or not (is_certain or _OLD_HEAD.search(text)):
        return Reading()
    return Reading(failures=tuple(failures), spans=tuple(sorted(spans)), is_certain=True)


def _tox_failures(text: str) -> list[Failure]:
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


# --- unittest

_RULER = "=" * 70
_LINE = "-" * 70
_MAX_FAILURES = 20_000
_HEAD = re.compile(
    rf"^{_RULER}\n(?P<kind>ERROR|FAIL|UNEXPECTED SUCCESS): (?P<what>[^\n]{{1,2000}})\n"
    rf"(?P<more>(?:(?!{_LINE})[^\n]{{1,1000}}\n){{0,20}})(?P<line>{_LINE}\n)?",
    re.MULTILINE,
)
_SUCCESS = re.compile(r"^UNEXPECTED SUCCESS: (?P<what>[^\n]{1,2000})$", re.MULTILINE)
_SUMMARY = re.compile(
    rf"^{_LINE}\nRan (?P<ran>\d{{1,9}}) tests? in [\d.]{{1,12}}s\n"
    r"(?:\n(?P<verdict>OK|FAILED|NO TESTS RAN)(?: \((?P<numbers>[^()\n]{1,200})\))?$)?",
    re.MULTILINE,
)
_TEST = re.compile(r"(?P<name>[^\s()]{1,500}) \((?P<owner>[^\s()]{1,1000})\)(?: (?P<sub>[\[(].{0,1000}))?\Z")
_CAPTURED = re.compile(r"^(?:Stdout|Stderr):$", re.MULTILINE)
_FAILED_IMPORT = re.compile(r"\AImportError: Failed to import test module: [^\n]{1,500}\n")
_FIXTURES: dict[str, Phase] = {
    **dict.fromkeys(("setUpClass", "setUpModule", "setUp", "asyncSetUp"), "setup"),
    **dict.fromkeys(("tearDownClass", "tearDownModule", "tearDown", "asyncTearDown"), "teardown"),
}
_OUTCOME = re.compile(
    r"^[.FEsxu]{1,100000}$"
    r"| \.\.\. (?:ok|FAIL|ERROR|skipped [^\n]{0,1000}|expected failure|unexpected success)$",
    re.MULTILINE,
)
_DOTS = re.compile(r"^[.FEsxu]{1,100000}$", re.MULTILINE)
_NUMBER = re.compile(r"(?P<what>[a-z ]{1,30})=(?P<number>\d{1,9})")


def read_unittest(text: str, root: str) -> Reading:
    """A failure for each ``FAIL`` and ``ERROR`` and each unexpected success; counts from the summaries."""
    if f"{_LINE}\nRan " not in text and f"{_RULER}\n" not in text:
        return Reading()
    blocks = list(_unittest_blocks(text))
    summaries = list(_SUMMARY.finditer(text))
    failures = tuple(failure for _, _, found in blocks for failure in _unittest_failures(found, root))
    heads = [what for _, _, found in blocks for what in _descriptions(found)]
    is_open = bool(summaries) and not any(m["verdict"] for m in summaries)
    is_open = is_open and is_at_end(
        text, summaries[-1].end()
    )  # the verdict is the line below the number of tests
    spans = sorted([(start, end) for start, end, _ in blocks] + [m.span() for m in summaries])
    return Reading(
        failures=failures[:_MAX_FAILURES],
        counts=_with_subtests(_unittest_counts(text, summaries, heads), blocks) if summaries else None,
        spans=tuple(spans),
        is_certain=any(m["verdict"] for m in summaries)
        or is_open
        or (not summaries and _is_cut(text, blocks)),
        incomplete=CUT if is_open else "",
    )


def _is_cut(text: str, blocks: Sequence[tuple[int, int, Block]]) -> bool:
    """Whether a text ends within the failures, below the outcomes of the tests: its end was cut off."""
    is_own = (
        blocks and _TEST.match(blocks[0][2][0]["what"]) and _OUTCOME.search(text, 0, blocks[0][0]) is not None
    )
    return bool(is_own) and not is_quoted_until(text[blocks[-1][0] :])


Block = tuple[re.Match[str], str]


def _unittest_blocks(text: str) -> Iterator[tuple[int, int, Block]]:
    """Each block's offsets, head and body; it goes to the next head or the summary."""
    marks = sorted([*_HEAD.finditer(text), *_SUMMARY.finditer(text)], key=lambda m: m.start())
    for n, mark in enumerate(marks):
        if "kind" in mark.re.groupindex:
            end = marks[n + 1].start() if n + 1 < len(marks) else len(text)
            yield mark.start(), end, (mark, text[mark.end() : end])


def _descriptions(block: Block) -> list[str]:
    """What the block is about, in unittest's words; unexpected successes share a block."""
    head, body = block
    others = _SUCCESS.finditer(head["more"] + body) if head["kind"] == "UNEXPECTED SUCCESS" else ()
    return [head["what"], *(m["what"] for m in others)]


def _unittest_failures(block: Block, root: str) -> Iterator[Failure]:
    head, body = block
    if head["kind"] == "UNEXPECTED SUCCESS":
        for what in _descriptions(block):
            nodeid, subtest, _ = _unittest_names(what)
            yield Failure(nodeid=nodeid, subtest=subtest, phase="call", message="unexpected success")
    elif head["line"] or not (head["more"] + body).strip("-\n "):
        yield _unittest_failure(head["what"], body, root)


def _unittest_failure(what: str, body: str, root: str) -> Failure:
    nodeid, subtest, phase = _unittest_names(what)
    body, sections = _parted(body)
    raised = _unittest_raised(body.strip("\n"), root)
    if raised is None:
        return Failure(
            nodeid=nodeid, subtest=subtest, phase=phase, message=cut(body.strip()), sections=sections
        )
    frame = _test_frame(raised, nodeid)
    if phase == "call" and raised.frames:
        phase = _FIXTURES.get(raised.frames[0].function, "call")
    return Failure(
        nodeid=nodeid,
        phase=phase,
        message=raised.message,
        file=frame.file if frame else raised.details.get("path", ""),
        line=frame.line if frame else int(raised.details.get("line", 0)),
        subtest=subtest,
        raised=raised,
        sections=sections,
    )


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


def _parted(body: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The traceback, and the output that ``--buffer`` puts below it."""
    marks = list(_CAPTURED.finditer(body))
    ends = [m.start() for m in marks[1:]] + [len(body)]
    sections = tuple(
        (m.group().rstrip(":"), body[m.end() : end].strip("\n")) for m, end in zip(marks, ends, strict=False)
    )
    return body[: marks[0].start()] if marks else body, sections


def _unittest_raised(body: str, root: str) -> Raised | None:
    """The exception; all that follows it in its block belongs to its message."""
    body = _FAILED_IMPORT.sub("", body)
    found = list(printed_tracebacks(body, root))
    if not found:
        return raised_in_line(body, root)
    raised, _, end = found[-1]
    rest = body[end:].rstrip()
    return replace(raised, message=cut(raised.message + rest)) if rest and not raised.members else raised


def _test_frame(raised: Raised, nodeid: str) -> Frame | None:
    """The frame of the test's own method, else the outermost of the project."""
    name = nodeid.rpartition(".")[2]
    return next((f for f in raised.frames if f.function == name), next(iter(raised.frames), None))


def _seen_to_pass(text: str) -> int:
    """Tests that passed by the dots or words printed as they ran."""
    return sum(m.group().count(".") for m in _DOTS.finditer(text)) + text.count(" ... ok\n")


def _are_apart(text: str, summaries: list[re.Match[str]]) -> bool:
    """Whether the outcomes of its tests are above each summary. Tests print summaries, too."""
    at = 0
    for summary in summaries:
        found = (m.group() for m in _OUTCOME.finditer(text, at, summary.start()))
        number = sum(1 if outcome.startswith(" ") else len(outcome) for outcome in found)
        if number < int(summary["ran"]):
            return False
        at = summary.end()
    return True


def _said_last(summaries: list[re.Match[str]], heads: list[str]) -> re.Match[str]:
    """The last summary, unless it alone says that nothing failed."""
    failing = [m for m in summaries if m["verdict"] == "FAILED"]
    return failing[-1] if failing and not heads else summaries[-1]


def _with_subtests(counts: Counts, blocks: Sequence[tuple[int, int, Block]]) -> Counts:
    """The counts with failed subtests apart: unittest counts each as a failure."""
    heads = (head for _, _, (head, _) in blocks if head["kind"] == "FAIL")
    inner = min(counts.failed, sum(_unittest_names(head["what"])[1] != "" for head in heads))
    return replace(counts, failed=counts.failed - inner, failed_subtests=inner)


def _unittest_counts(text: str, summaries: list[re.Match[str]], heads: list[str]) -> Counts:
    """The numbers of the summaries; only of the last one if they may be of one run.

    A test with failing subtests is one, a failing ``setUpClass`` is none. An unexpected success without a
    block counts as a failed test.
    """
    is_whole = len(summaries) == 1 or _are_apart(text, summaries)
    kept = summaries if is_whole else [_said_last(summaries, heads)]
    # Python 3.12.1 leaves skipped tests out of those it ran
    seen = _seen_to_pass(text) if is_whole else 0
    ran = sum(int(m["ran"]) for m in kept)
    numbers: dict[str, int] = {}
    for summary in kept:
        for number in _NUMBER.finditer(summary["numbers"] or ""):
            name = number["what"].strip()
            numbers[name] = numbers.get(name, 0) + int(number["number"])
    unexpected = numbers.get("unexpected successes", 0)
    failing = numbers.get("failures", 0) + numbers.get("errors", 0) + unexpected
    unseen = max(0, failing - len(heads))
    broken = (
        len({_unittest_names(what)[0] for what in heads if what.partition(" ")[0] not in _FIXTURES}) + unseen
    )
    broken = broken if is_whole else min(broken, failing)
    skipped, xfailed = numbers.get("skipped", 0), numbers.get("expected failures", 0)
    return Counts(
        passed=max(0, ran - broken - skipped - xfailed, min(seen, ran - broken - xfailed)),
        failed=numbers.get("failures", 0) + min(unseen, unexpected),
        errors=numbers.get("errors", 0),
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
