"""Logs: what the readers find in a text, how it says that its command ended or was cut, the prefixes of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice

from loop_close.model import Counts, Failure
from loop_close.readers import CUT, DEFAULT_READERS, MARK, Read, Reading, joined, line_end, merged
from loop_close.readers.printed import LINKS, is_transcript
from loop_close.text import parsed_json, sanitize

#: Characters of each text that are read, from its end: what went wrong is said last.
MAX_LOG = 1_000_000
#: JUnit XML is read whole, so a larger file is not read; in bytes.
MAX_XML = 64_000_000
#: The start of a text that is JUnit XML.
XML = re.compile(
    r"\A\ufeff?\s*+(?>(?:<\?xml[^>]{0,200}\?>\s*+)?)(?>(?:<!--(?>.{0,2000}?-->)\s*+){0,5})<testsuites?[\s/>]",
    re.DOTALL,
)


def read_log(text: str, root: str) -> tuple[list[Reading], str]:
    """What each reader finds in a text, in turn. No reader sees what an earlier one has read.

    :returns: the readings; and what no reader knows, with :data:`MARK` where a tool's whole output stood.
    """
    readings: list[Reading] = []
    for reader in DEFAULT_READERS:
        reading = reader.read(text, root)
        readings.append(reading)
        text = _without(text, reading)
    return readings, text


def _without(text: str, reading: Reading) -> str:
    """The text with each part that was read replaced by a line break, and a mark where it was a tool's whole output."""
    mark = f"\n{MARK}\n" if reading.is_certain else "\n"
    kept, at = [], 0
    for start, end in reading.spans:
        kept.append(text[at:start])
        at = max(at, end)
    return mark.join([*kept, text[at:]])


def failures_in(text: str, root: str) -> tuple[Failure, ...]:
    """What the readers find in a text that another tool's report holds."""
    found = joined(chain.from_iterable(read_log(log, root)[0] for log in distinct(logs_in([text]))))
    return with_unlisted(found.failures, found.counts or Counts())


def with_unlisted(failures: tuple[Failure, ...], counts: Counts) -> tuple[Failure, ...]:
    """The failures; if tests are only counted as failing (``--no-summary``), one failure that says so."""
    number = counts.failed + counts.failed_subtests + counts.errors
    if not number or any(f.phase not in ("check", "process") for f in failures):
        return failures
    message = f"{number} failing test{'s' * (number != 1)} counted in the output, none of them shown"
    return (*failures, Failure(nodeid="", phase="call", message=message, number=number))


def logs_in(texts: Iterable[str]) -> Iterator[str]:
    """The texts to read: their ends, sanitized, without prefixes; those within JSON, too."""
    for text in texts:
        if not XML.match(text):
            tail = text[-MAX_LOG:]
            if len(tail) < len(text):
                # The rest of a line would be read as a whole one.
                tail = tail[tail.find("\n", 0, 100_000) + 1 :]
            yield without_prefixes(sanitize(tail))
            yield without_prefixes(sanitize(_within_json(tail)))


_STRING = re.compile(r'"(?>(?:[^"\\]|\\.)*)"')


def _within_json(text: str) -> str:
    """The strings with line breaks in a text of JSON, or of JSON in each line."""
    begun = text.strip("\ufeff \r\n")
    if not begun.startswith(("{", "[")) or "\\n" not in begun:
        return ""
    if not (parsed_json(begun) or parsed_json(begun.partition("\n")[0])):
        return ""
    strings = (parsed_json(found[0]) for found in _STRING.finditer(text) if "\\n" in found[0])
    return "".join(string.removesuffix("\n") + "\n" for string in strings if string)


def distinct(texts: Iterable[str]) -> list[str]:
    """The texts without those that another one holds: a terminal's log is often passed on as both streams."""
    every = [text for text in texts if text.strip()]
    kept: list[str] = []
    for text in sorted(every, key=len, reverse=True):
        if not any(text.strip() in other for other in kept):
            kept.append(text)
    return sorted(kept, key=every.index)


# --- lines that show by themselves how a command ended

_LAST = 200_000
# The last lines of tools that found nothing, of those that no reader reports on then.
_GREEN = re.compile(
    r"\n(?:All checks passed!|\d{1,7} files? already formatted|\s*INFO 0 errors(?: \([^\n]{1,200}\))?"
    r"| {2}congratulations :\)(?: \([\d.]{1,12} seconds\))?"
    r"|Job succeeded|Finished: SUCCESS|Cleaning up orphan processes|[\w.-]{1,60} exited with code 0"
    r"|Destroying test database for alias '[^'\n]{1,60}'[^\n]{0,60}"
    r"|Required test coverage of [\d.]{1,9}% reached\.[^\n]{0,100})(?=\s*\Z)"
)
#: Lines that only a command that failed leaves, of any tool; a person would not go on below one of them.
_RED = (
    re.compile(
        # Maven, Gradle, TAP, Mocha, Jest, Go, Rust, PHPUnit, npm, doctest, nox, a shell, Pyrefly, ty, pytest
        # and its plugins, unittest, CTest, Black
        r"\n(?:\[ERROR\] +(?:Tests run: |Failed to execute|BUILD )|BUILD FAIL(?:URE|ED)\b"
        r"|not ok \d(?![^\n]*# (?:TODO|SKIP))| {1,8}\d{1,9} failing\n| *Tests:? +[1-9]\d{0,8} failed|[#ℹ] fail [1-9]"
        r"|--- FAIL: |FAIL[\s]|test result: FAILED|FAILURES!|Finished: FAILURE\b|npm (?:ERR!|error) "
        r"|\*{3}Test Failed\*{3}|nox > \* [^\n]{1,300}: (?:failed|aborted)|Killed\n|FAILED(?: \(| \S{1,500}::|\n)"
        r"|The following tests FAILED:|Oh no! |#? ?#\[error\]| *ERROR [^\n]{1,300} \[[a-z][a-z-]{2,60}\]\n"
        r"|Found [1-9]\d{0,8} diagnostics?\n| {7}[1-9]\d{0,8} (?:error|failed)\n"
        r"|INTERNALERROR> |(?:\S{1,300}\.py )?[.sxXuE]{0,400}F[.sxXuFE]{0,400}(?: +\[ *\d{1,3}%\])?\n)"
    ),
    # ESLint, RSpec, gcc, clang, tsc, make, pre-commit, docker compose, behave, Robot, pytest
    re.compile(r" problems? \([1-9]"),
    re.compile(r" examples?, [1-9]\d{0,8} failures?"),
    re.compile(r": error(?<=[\d)]: error)(?::| TS\d)"),
    re.compile(r": fatal error: "),
    re.compile(r"(?:pytest|py\.test|__main__\.py): error: "),
    re.compile(r" - error TS\d"),
    re.compile(r"ake(?:\[\d{1,4}\])?: \*\*\* "),
    re.compile(r"\.Failed\n"),
    re.compile(r"exit(?:ed with code| status| code:|(?<=with exit) code) [1-9]\d{0,8}[.)]?\n"),
    re.compile(r"\"(?:exit|return)_?[cC]ode\": ?[1-9]"),
    re.compile(r"maximum allowed warnings exceeded"),
    re.compile(r" (?:passed|tests?), [1-9]\d{0,8} failed"),
    re.compile(r"[1-9]\d{0,8} (?:(?:subtests? )?failed|errors?)\b[^\n]{0,200} in \d{1,9}\.\d{1,3} ?s"),
)
# Words of a program that may have gone on.
_DOUBT = re.compile(r"\n(?:ERROR|Error|error): |\n[^\n]{0,300}failed[.:!]?\n")


def red_line(rest: str) -> str:
    """The first line that shows a failure."""
    text = f"\n{rest}\n"
    found = next((match for pattern in _RED if (match := pattern.search(text))), None)
    if found is None:
        return ""
    start = text.rfind("\n", 0, max(found.end() - 1, 1)) + 1
    return text[start : line_end(text, start)].strip()


def is_doubtful(rest: str) -> bool:
    """Whether a program says in a log that something failed, after which it may have gone on."""
    return _DOUBT.search(f"\n{rest}") is not None


def is_green(rest: str) -> bool:
    """Whether the last that a log says is a tool's word that nothing is wrong."""
    return rest.rstrip().endswith(MARK) or _GREEN.search(f"\n{rest[-_LAST:]}") is not None


# --- what a CI service, a supervisor or a pager puts before each line of a log

_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_TIME = rf"{_DAY}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
# Prefixes that no tool writes. `gh run view --log`: job, step, time; GitHub's, GitLab's and Kubernetes' raw logs: the
# time, then the stream; Jenkins: the time in brackets.
_CERTAIN = re.compile(
    rf"\n(?:(?:[^\t\n]{{1,100}}+\t[^\t\n]{{1,200}}+\t)?{_DAY}T{_CLOCK}Z(?: \d\d[OE]\+?| std(?:out|err) [FP])?"
    rf"(?: |(?=\n)|\Z)|\[{_DAY}T{_CLOCK}Z\] ?)"
)


def _block_of(prefix: str) -> re.Pattern[str]:
    """Four lines or more with a prefix, or fewer that are the whole text."""
    line = rf"{prefix}[^\n]*+"
    return re.compile(rf"\n(?:{line}(?:\n{line}){{3,}}|(?<=\A\n){line}(?>(?:\n{line})*)\s*\Z)")


_LIKELY = tuple(
    (_block_of(prefix), re.compile(rf"\n{prefix}"))
    for prefix in (
        rf"(?:\[{_TIME}\]|{_TIME}|\[{_CLOCK}\]|{_CLOCK})(?: |(?=\n)|\Z)",
        r"#\d{1,5} \d{1,6}\.\d{1,4} ",  # BuildKit
        r" {0,8}\d{1,7}(?:\t|(?=\n|\Z))",  # cat -n
    )
)
#: docker compose, foreman, honcho: lines of several processes in turn.
_NAMED = _block_of(r"(?!\d+ )[\w.-]{1,60}+ ++\|")


def without_prefixes(text: str) -> str:
    """The text as the tools wrote it. Lines of several processes are sorted by process.

    A prefix that a program may write itself counts in a block of lines that all have it.
    """
    text = f"\n{text}"
    text = _CERTAIN.sub("\n", text)
    for block, prefix in _LIKELY:
        text = block.sub(partial(_without_prefix, prefix), text)
    return _NAMED.sub(_by_process, text)[1:]


def _without_prefix(prefix: re.Pattern[str], block: re.Match[str]) -> str:
    return prefix.sub("\n", block[0])


def _by_process(block: re.Match[str]) -> str:
    said: dict[str, list[str]] = {}
    for line in block[0][1:].split("\n"):
        name, _, words = line.partition("|")
        said.setdefault(name.rstrip(), []).append(words.removeprefix(" "))
    return "".join(f"\n{line}" for lines in said.values() for line in lines)


# --- a part of pytest's output (``pytest | tail -4``), and a run without its end: red items, and no summary

_MAX_FAILURES = 20_000
_FILE = r"[^\s:]{1,300}\.(?:py|txt|rst|md)"
_ENTRY = re.compile(
    rf"^(?P<word>FAILED|ERROR) (?P<id>{_FILE}(?:::(?:(?! - )[^\n]){{1,1000}})?)"
    r"(?: - (?P<words>[^\n]{1,2000}))?$",
    re.MULTILINE,
)
_WINDOW, _LAST_LINES = 8_000, 12
# Lines that say why a run ended: any of it among the last lines counts, also above a line of counts.
_STOPPED = re.compile(
    r"^(?:!{0,200} ?(?:[\w.]{1,100}\.)?(?P<why>(?:KeyboardInterrupt|Exit: |Interrupted: |stopping after \d"
    r"|session-timeout: )[^\n!]{0,500}?)(?: ?!{2,200}|(?<=!)[^\n]{0,500})|!{10,200}(?=\Z)"
    r"|(?:\S{1,500}:\d{1,9}: )?KeyboardInterrupt|[^\n]{0,60}KeyboardInterrupt use --full-trace\)"
    r"|(?:[^\n]{0,1000}[.sxXuFE ])?(?:Fatal Python error|Windows fatal exception): [^\n]{1,300}"
    r"|Extension modules: [^\n]{1,8000} \(total: \d{1,5}\)"
    r"|[^\n]{0,1000}[.sxXFE](?:Terminated|Killed|Aborted|Segmentation fault|Bus error)(?: \(core dumped\))?"
    r"|[.sxXFE]{0,400}\[gw\d{1,4}\] node down: [^\n]{1,500}|replacing crashed worker gw\d{1,4}"
    r"|worker 'gw\d{1,4}' crashed while running [^\n]{1,1000}"
    r"|ERROR: usage: [^\n]{1,500}|  inifile: [^\n]{1,1000}\n  rootdir: [^\n]{1,1000}"
    r"|ROOT: (?:\[\d{1,9}\] KeyboardInterrupt - teardown started|interrupt tox environment: [^\n]{1,500}"
    r"|requested interrupt of \d{1,9} from \d{1,9}[^\n]{0,200}|send signal SIG[^\n]{1,200}"
    r"|interrupt finished with success)|No data to report\.)$",
    re.MULTILINE,
)
_WORD = r"(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)"
# What is printed before the last line of a run: without that line the run goes on, or was killed.
_BEGUN = re.compile(
    r"^(?:platform \S{1,40} -- Python [^\n]{1,60}, pytest-\d[^\n]{0,300}|rootdir: \S[^\n]{0,1000}"
    r"|plugins: [\w.-]{1,80}-\d[^\n]{0,2000}|collecting \.\.\.[^\n]{0,200}|collected \d{1,9} items?\b[^\n]{0,200}"
    r"|created: \d{1,4}/\d{1,4} workers?|\d{1,4} workers? \[\d{1,9} items?\]|bringing up nodes\.\.\."
    r"|Found \d{1,9} test\(s\)\.|[.sxXFERrpu,]{1,400} +\[ *\d{1,2}%\]"
    rf"|{_FILE} (?:[.sxXFERrpu,]{{1,400}}(?: +\[ *\d{{1,3}}%\])?"
    r"|[sxXFE]{0,400}\.[.sxXFE]{0,400}[^\s.][^\n]{0,2000})"
    rf"|{_FILE}:\d{{1,9}}: (?:[A-Z]\w{{0,200}}|in \S{{1,200}})|\+{{10,200}} Timeout \+{{10,200}}"
    rf"|{_FILE}::\S[^\n]{{0,1000}}? (?:{_WORD}\b[^\n]{{0,1000}}| *\[ *\d{{1,3}}%\])?"
    rf"|\[gw\d{{1,4}}\] (?:\[ *\d{{1,3}}%\] )?{_WORD} \S[^\n]{{0,1000}}"
    r"|[\w.][\w.,-]{0,100}: commands(?:_\w{1,10})?\[\d{1,4}\]> [^\n]{1,2000}"
    r"|\w{1,300} \(\w{1,200}\.[\w.]{1,800}\)[^\n]{0,400}(?:\n[^\n]{1,400})? \.\.\. ?[^\n]{0,1000}"
    r"|[^\n]{0,2000}(?:<(?:failure|error) message=\"|</failure>|\bfailures=\"[1-9])[^\n]{0,2000})$",
    re.MULTILINE,
)
# The last lines of pytest, unittest, tox and pytest-sugar.
_ENDED = re.compile(
    rf"^[^\n]{{0,400}}\[100%\]$|{MARK}|^Ran \d{{1,9}} tests? in [\d.]{{1,12}}s\n\n(?:OK|FAILED|NO TESTS RAN)\b"
    r"|^Results \([\d.]{1,12}s\):$|^ {2}(?:evaluation failed :\(|congratulations :\))"
    r"|^[^\n]{0,400} in \d{1,9}\.\d{1,3} ?s(?:econds)?\b[^\n]{0,300}$",
    re.MULTILINE,
)
# A traceback, or a dump of Python's threads, without its end.
_OPEN = re.compile(
    r"(?:^|\n)(?:(?P<margin>[ \t]*+)(?:\S[^\n]{0,1000}?)??Traceback \(most recent call last\):"
    r"(?>(?:\n(?:(?P=margin)  [^\n]*|[ \t]*))*)"
    r"|(?:Timeout \([\d:.]{1,20}\)!|(?:Current t|T)hread 0x[0-9a-fA-F]{1,16}[^\n]{0,120} \(most recent call first\):"
    r'|  File "[^"\n]{1,1000}", line (?:\d{1,9}|\?\?\?) in [^\n,]{1,300}(?:\n  \.\.\.)?|  <no Python frame>'
    rf"|[^\n]*(?:{'|'.join(map(re.escape, LINKS.values()))}))\s*)\Z"
)


def read_cut_off(text: str, root: str) -> Reading:
    """A failure for each line of a summary that names one, and why the run ended before its end."""
    named = [*islice(_ENTRY.finditer(text), _MAX_FAILURES)]
    failures: list[Failure] = []
    if named:
        from loop_close.readers.pytest_output import by_its_line, of_line  # late: most texts have none

        lines = (of_line(*line.groups("")) for line in named)
        failures = [by_its_line(line, root) for line in lines]
    end = unfinished(text)
    return Reading(
        failures=tuple(failures),
        spans=merged([*(line.span() for line in named), *([end.span()] if end else [])]),
        incomplete=_why(end) if end else "",
    )


def unfinished(text: str) -> re.Match[str] | None:
    """What shows that a run ended before its end; None if nothing does.

    Only the last lines count: what goes on below such a line quotes it, or is another run.
    """
    lines = text.rstrip().rsplit("\n", _LAST_LINES)
    first = len(lines[0]) + 1 if len(lines) > _LAST_LINES else 0
    window = max(0, len(text) - _WINDOW)
    first = max(first, window)
    ended = max((found.end() for found in _ENDED.finditer(text, first)), default=first)
    found = _STOPPED.search(text, first) or _BEGUN.search(text, ended) or _OPEN.search(text, window)
    if found is not None and found.re is _OPEN and '  File "' not in found[0]:
        return None if is_transcript(text, found.start() + 1) else found  # documentation
    return found


def _why(end: re.Match[str]) -> str:
    """The words of the line that says why a run ended."""
    return (end[0].strip("!\n ") if end.re is _STOPPED else "") or CUT


READERS: dict[str, Read] = {"cut_off": read_cut_off}
