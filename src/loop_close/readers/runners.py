"""Output of unittest, coverage, pre-commit, tox and shells."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase, Raised
from loop_close.readers import CUT, MARK, Read, Reading, line_end, merged, project_path
from loop_close.readers.printed import printed_tracebacks, raised_in_line
from loop_close.text import cut

_MAX_FAILURES = 20_000


def _process(tool: str, code: str, message: str, file: str = "", line: int = 0) -> Failure:
    return Failure(nodeid="", phase="process", tool=tool, code=code, message=message, file=file, line=line)


# --- shells

_MAX_LINE = 1_000
_MAX_FOUND = 500
_REASON = (
    r"(?:command not found|not found|No such file or directory|Permission denied|cannot execute: .{1,200})"
)
# any program may say ``x: y: not found``, and compilers do with a line number
_WHO = (
    r"(?:-?(?:/[\w./-]{1,200}/)?(?:ba|da|z|k|a)?sh|(?P<script>[\w./-]{1,300})(?=: line \d|(?<=sh): ?\d))"
    r":(?: ?(?:line )?(?P<line>\d{1,9}):)? "
)
_TOOL = r"(?:/[\w./-]{1,200}/)?(?:env|g?make|xargs|nohup|timeout|nice|sudo|time|stdbuf|setsid|flock)(?:\[\d{1,4}\])?"
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
_SIGNAL = rf"(?P<signal>{'|'.join(_SIGNALS)})(?: +\(core dumped\))?(?: +(?P<command>\S.{{0,500}}))?\Z"
_SHELL = (
    # crash.sh: line 1: 18168 Segmentation fault      python3 segv.py · the number has a width of 5
    re.compile(rf"{_WHO} {{0,9}}\d{{1,10}} {_SIGNAL}", re.IGNORECASE),
    # zsh: segmentation fault  python3 segv.py
    re.compile(rf"zsh: (?:\d{{1,10}} )?{_SIGNAL}", re.IGNORECASE),
    # make: *** [Makefile:6: crash] Segmentation fault
    re.compile(rf"g?make(?:\[\d{{1,4}}\])?: \*\*\* \[(?P<target>.{{1,200}})\] {_SIGNAL}", re.IGNORECASE),
    # env: ‘foo’: No such file or directory · make: foo: No such file or directory
    re.compile(
        rf"{_TOOL}: (?:failed to run command )?['‘\"]?(?P<name>[^\s'‘’\":]{{1,200}})['’\"]?: (?P<reason>{_REASON})\Z"
    ),
    re.compile(
        r"error: command '(?P<name>[^'\n]{1,200})' (?:failed: )?(?P<reason>not found|No such file or directory)\Z"
    ),
    re.compile(r"error: [Ff]ailed to spawn: `(?P<name>[^`\n]{1,200})`(?P<reason>)\Z"),
    # zsh:1: command not found: foo
    re.compile(
        rf"{_WHO}(?P<reason>command not found|no such file or directory|permission denied): (?P<name>\S.{{0,200}})\Z"
    ),
    # bash: line 1: foo: command not found · sh: 1: foo: not found · ./run.sh: line 3: exec: foo: not found
    re.compile(rf"{_WHO}(?:exec: )?(?P<name>[^\s:][^:]{{0,200}}): (?P<reason>{_REASON})\Z"),
)
# A signal's name alone, where the output ends with it.
_BARE = re.compile(
    rf"^(?P<signal>{'|'.join(_SIGNALS)})(?: +\(core dumped\))?$(?=(?:\n++[^\n]++){{0,2}}\n*\Z)",
    re.IGNORECASE | re.MULTILINE,
)
# Every line of a shell that is read contains one of these.
_WORD = re.compile(
    r"not found|such file or directory|ermission denied|cannot execute: |ailed to spawn: |: line |zsh: |\*\*\* \["
)


def read_shell(text: str, root: str) -> Reading:
    """Commands that are not there, cannot be run, or were ended by a signal."""
    lines = deque(_lines_with(_WORD, text), maxlen=_MAX_FOUND)
    found = [(_shell_failure(text[start:end][:_MAX_LINE], root), start, end) for start, end in lines]
    for bare in _BARE.finditer(text):
        found.append((_process("shell", _SIGNALS[bare["signal"].lower()], bare[0]), *bare.span()))
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
    said = {"script": "", "line": "0", "target": "", **found.groupdict("")}
    file = project_path(said["script"], root)
    place = file, int(said["line"]) if file else 0
    if signal := said.get("signal"):
        command = said["command"].strip() or said["target"]
        return _process("shell", _SIGNALS[signal.lower()], f"{signal}: {command}".removesuffix(": "), *place)
    reason = said["reason"] or "No such file or directory"
    code = "command-not-run" if "denied" in reason.lower() or "execute" in reason else "command-not-found"
    return _process("shell", code, f"{said['name']}: {reason}", *place)


# --- tox

_END = re.compile(
    r"^ {2}(?:evaluation failed :\(|(?P<green>congratulations :\)))(?: \([\d.]{1,12} seconds\))?$",
    re.MULTILINE,
)
# What tox 4 says of an environment, when it ended and in its summary, and why.
_RESULT = re.compile(
    r"^(?: {2})?(?P<name>[\w.][\w.,-]{0,100}): (?:(?P<word>FAIL|SKIP)(?: code -?\d{1,10})?"
    r"(?: ✖ in [\d.]{1,12} seconds| \([^\n]{1,200}\))"
    r"|(?P<exit>exit -?[1-9]\d{0,9}) \([\d.]{1,12} seconds\) [^\n>]{0,1000}> (?P<command>[^\n]{1,2000}?)"
    r"(?: pid=\d{1,10})?|(?:HandledError\| |(?=failed with |Exception running subprocess |skipped because ))"
    r"(?P<why>[^\n]{1,1000}))$",
    re.MULTILINE,
)


def read_tox(text: str, root: str) -> Reading:
    """A failure for each environment that failed; where the whole failed without one, for each that was skipped."""
    ends, results = list(_END.finditer(text)), list(_RESULT.finditer(text))
    reasons: dict[str, str] = {}
    for found in results:  # tox stops at the first
        if not found["word"]:
            reasons.setdefault(found["name"], found["why"] or f"{found['exit']}: {found['command']}")
    names = {word: [found["name"] for found in results if found["word"] == word] for word in ("FAIL", "SKIP")}
    is_red = any(not end["green"] for end in ends)
    failed = names["FAIL"] or (names["SKIP"] if is_red else [])
    if not (failed or ends):  # the summary was cut
        failed = [found["name"] for found in results if found["exit"] or found["name"] == "ROOT"]
    if not (failed or is_red):
        return Reading()
    word = "failed" if names["FAIL"] else "skipped"
    messages = [f"{name}: {reasons.get(name, word)}" for name in dict.fromkeys(failed)]
    return Reading(
        failures=tuple(
            _process("tox", message.partition(":")[0], message) for message in messages[:_MAX_FOUND]
        )
        or (_process("tox", "", "an environment failed"),),
        spans=merged(found.span() for found in (*ends, *results)),
        is_certain=bool(ends),
    )


# --- pre-commit

_MAX_LINES = 8
# NAME.....(REASON)STATUS, as pre_commit/commands/run.py writes it (4.7), and what is below up to the next hook
_STATUS = r"\.{3}(?:\([^()\n]{1,60}\))?(?:Passed|Failed|Skipped)$"
_HOOK = re.compile(
    r"^[^\n]{0,300}\.{3}(?:\([^()\n]{1,60}\))?Failed\n- hook id: (?P<id>[^\n]{1,200})(?:\n- duration: [^\n]{1,40})?"
    r"(?:\n- exit code: (?P<code>-?\d{1,10}))?(?P<modified>\n- files were modified by this hook)?"
    rf"(?P<output>(?>(?:\n(?![^\n]{{0,300}}{_STATUS})[^\n]*+)*))",
    re.MULTILINE,
)


def read_pre_commit(text: str, root: str) -> Reading:
    """A failure for each hook that changed files, or whose output no reader knows."""
    failures, spans = [], []
    for hook in _HOOK.finditer(text):
        rest = [line for line in hook["output"].split("\n") if line.strip() and line != MARK]
        spans.append((hook.start(), hook.end() if rest else hook.start("output")))
        if hook["modified"] or MARK not in hook["output"]:
            why = "it modified files" if hook["modified"] else f"exit code {hook['code'] or 1}"
            said = "".join(f"\n{line[:_MAX_FOUND]}" for line in rest[:_MAX_LINES])
            message = f"{hook['id']}: {why}{':' * bool(said)}{said}"
            failures.append(_process("pre-commit", hook["id"], message))
    return Reading(failures=tuple(failures[:_MAX_FOUND]), spans=tuple(spans), is_certain=bool(spans))


# --- coverage and pytest-cov

_SHORT = re.compile(
    r"^(?:(?:FAIL|ERROR:) )?(?P<message>Required test coverage of [\d.]{1,12}% not reached\. "
    r"Total coverage: [\d.]{1,12}%)$"
    r"|^(?:ERROR: )?Coverage failure: (?P<total>total of [\d.]{1,12} is less than fail-under=[\d.]{1,12})$",
    re.MULTILINE,
)


def read_coverage(text: str, root: str) -> Reading:
    """One failure; nothing for sufficient coverage."""
    found = list(_SHORT.finditer(text))
    if not found:
        return Reading()
    # pytest-cov says it twice; its second sentence has the digits
    message = next((m["message"] for m in found if m["message"]), None) or found[0]["total"]
    failure = Failure(nodeid="", phase="check", message=message, tool="coverage", code="fail-under")
    return Reading(failures=(failure,), spans=tuple(m.span() for m in found))


# --- unittest

_RULER = "=" * 70
_LINE = "-" * 70
# unittest-xml-reporting shows an object of its own, and the test below it
_HEAD = re.compile(
    rf"^{_RULER}\n(?P<kind>ERROR|FAIL)(?: \[[\d.]{{1,12}}s\])?: (?P<what>[^\n]{{1,2000}})\n"
    rf"(?:(?!{_LINE})[^\n]{{1,1000}}\n){{0,20}}{_LINE}\n"
    rf"|^(?:{_RULER}\n)?UNEXPECTED SUCCESS: (?:<[^\n]{{1,400}}>\n)?(?P<success>[^\n]{{1,2000}})$",
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
_SUMMARY = re.compile(
    r"^(?:-{70}\n)?Ran (?P<ran>\d{1,9}) tests? in [\d.]{1,12}s$(?:\n\n(?P<verdict>OK|FAILED|NO TESTS RAN)"
    r"(?: \((?P<numbers>[^()\n]{1,200})\))?$)?|^FAILED \((?P<alone>(?:[a-z ]{6,22}=\d{1,9}(?:, (?=[a-z]))?){1,5})\)$",
    re.MULTILINE,
)
_TEST = re.compile(r"(?P<name>[^\s()]{1,500}) \((?P<owner>[^\s()]{1,1000})\)(?: (?P<sub>[\[(].{0,1000}))?\Z")
_CAPTURED = re.compile(r"^(?:Stdout|Stderr):$", re.MULTILINE)
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
    spans = [(head.start(), starts[bisect_right(starts, head.start())]) for head in heads]
    failures = [
        _unittest_failure(head, text[head.end() : end], root)
        for head, (_, end) in zip(heads, spans, strict=True)
    ]
    spans += [summary.span() for summary in summaries]
    if not heads and _RED.search(text) and not any(m["verdict"] == "OK" for m in summaries):
        rests = list(_REST.finditer(text))
        failures += dict.fromkeys(
            replace(
                _unittest_named(rest["named"] or rest["shown"] or rest["parallel"]), message=rest[0].strip()
            )
            for rest in rests
        )
        spans += [rest.span() for rest in rests]
    is_open = bool(summaries) and summaries[-1]["ran"] is not None and not summaries[-1]["verdict"]
    return Reading(
        failures=tuple(failures[:_MAX_FAILURES]),
        counts=_unittest_counts(summaries, heads, text) if summaries else None,
        spans=merged(spans),
        is_certain=bool(spans),
        incomplete=CUT if is_open else "",
    )


def _unittest_named(what: str) -> Failure:
    """A failure of the test that unittest names so: its id as ``python -m unittest`` takes it, subtest and phase."""
    found = _TEST.match(what)
    if found is None:
        return Failure(nodeid=what, phase="call", message="")
    name, owner, subtest = found.groups("")
    if owner.startswith("unittest.loader._FailedTest"):
        return Failure(nodeid=name, phase="collect", message="")
    if name in _FIXTURES:
        return Failure(nodeid=owner, phase=_FIXTURES[name], message="")
    # Python 3.10 and before leave the method out of the parentheses
    nodeid = owner if f".{owner}".endswith(f".{name}") else f"{owner}.{name}"
    return Failure(nodeid=nodeid, subtest=subtest, phase="call", message="")


def _unittest_failure(head: re.Match[str], body: str, root: str) -> Failure:
    """The failure of a block, of which ``body`` is what is below its heading."""
    failure = _unittest_named(head["what"] or head["success"])
    if head["success"]:
        return replace(failure, message="unexpected success")
    body = _CAPTURED.split(body, maxsplit=1)[0]  # below it is the output that ``--buffer`` shows
    raised = _unittest_raised(body.strip("\n"), root)
    if raised is None:
        return replace(failure, message=cut(body.strip()))
    phase = failure.phase
    if phase == "call" and raised.frames:
        phase = _FIXTURES.get(raised.frames[0].function, "call")
    # the test's own method, else the outermost of the project
    name = failure.nodeid.rpartition(".")[2]
    places = [(frame.file, frame.line) for frame in raised.frames if frame.function == name]
    places += [(frame.file, frame.line) for frame in raised.frames[:1]]
    places += [(raised.details.get("path", ""), int(raised.details.get("line", 0)))]
    file, line = places[0]
    return replace(failure, phase=phase, message=raised.message, raised=raised, file=file, line=line)


def _unittest_raised(body: str, root: str) -> Raised | None:
    """The exception; all that follows it in its block belongs to its message."""
    body = _FAILED_IMPORT.sub("", body)
    found = list(printed_tracebacks(body, root))
    if not found:
        return raised_in_line(body, root)
    raised, _, end = found[-1]
    rest = body[end:].rstrip()
    return replace(raised, message=cut(raised.message + rest)) if rest and not raised.members else raised


def _unittest_counts(summaries: Sequence[re.Match[str]], heads: Sequence[re.Match[str]], text: str) -> Counts:
    """The numbers of the summaries; an unexpected success without a block counts as a failed test."""
    numbers: Counter[str] = Counter()
    given = [summary.groupdict("") for summary in summaries]
    for number in chain.from_iterable(_NUMBER.finditer(each["numbers"] + each["alone"]) for each in given):
        numbers[number["what"].strip()] += int(number["number"])
    ran = sum(int(each["ran"] or 0) for each in given)
    # Python 3.12.1 leaves skipped tests out of those it ran; a test may have several failing subtests
    seen = sum(line[0].count(".") for line in _DOTS.finditer(text)) + text.count(" ... ok\n")
    unexpected = min(numbers["unexpected successes"], sum(bool(head["success"]) for head in heads))
    inner = sum(head["kind"] == "FAIL" and _unittest_named(head["what"]).subtest != "" for head in heads)
    failed = max(0, numbers["failures"] + numbers["unexpected successes"] - unexpected - inner)
    return Counts(
        passed=max(0, ran - numbers.total(), min(seen, ran)),
        failed=failed,
        failed_subtests=min(inner, numbers["failures"]),
        errors=numbers["errors"],
        skipped=numbers["skipped"],
        xfailed=numbers["expected failures"],
        xpassed=unexpected,
        collected=ran,
    )


READERS: dict[str, Read] = {
    "shell": read_shell,
    "tox": read_tox,
    "pre_commit": read_pre_commit,
    "coverage": read_coverage,
    "unittest": read_unittest,
}
