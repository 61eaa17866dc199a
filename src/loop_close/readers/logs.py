"""Logs: what the readers find in a text, how it says that its command ended, and the prefixes of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from loop_close.model import Counts, Failure
from loop_close.readers import DEFAULT_READERS, MARK, Reading, line_end, sum_of
from loop_close.text import sanitize

#: Characters of each text that are read, from its end: what went wrong is said last.
MAX_LOG = 1_000_000
#: The start of a text that is JUnit XML.
XML = re.compile(
    r"\A\ufeff?\s*+(?:<\?xml[^>]{0,200}\?>\s*+)?+(?:<!--(?>.{0,2000}?-->)\s*+){0,5}+<testsuites?[\s/>]",
    re.DOTALL,
)


class Log(NamedTuple):
    """A text that was read.

    :ivar rest: what no reader knows, with :data:`MARK` where a tool's whole output stood.
    """

    readings: Sequence[Reading]
    rest: str


def read_log(text: str, root: str) -> Log:
    """What each reader finds in a text, in turn. No reader sees what an earlier one has read."""
    readings: list[Reading] = []
    for reader in DEFAULT_READERS:
        reading = reader.read(text, root)
        if reading.spans or reading.failures:
            readings.append(reading)
        if reading.spans:
            text = _without(text, reading)
    return Log(readings, text)


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
    readings = [each for log in distinct(logs_in([text])) for each in read_log(log, root).readings]
    counts = sum_of([each.counts for each in readings if each.counts is not None])
    return with_unlisted(once(failure for each in readings for failure in each.failures), counts)


def with_unlisted(failures: tuple[Failure, ...], counts: Counts) -> tuple[Failure, ...]:
    """The failures; if tests are only counted as failing (``--no-summary``), one failure that says so."""
    number = counts.failed + counts.failed_subtests + counts.errors
    if not number or any(f.phase not in ("check", "process") for f in failures):
        return failures
    message = f"{number} failing test{'s' * (number != 1)} counted in the output, none of them shown"
    return (*failures, Failure(nodeid="", phase="call", message=message, number=number))


def once(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once, although two streams or summaries may have it. The one with an exception is kept."""
    kept: dict[tuple[object, ...], Failure] = {}
    for failure in failures:
        known = kept.setdefault(_identity(failure), failure)
        if known.raised is None and failure.raised is not None:
            kept[_identity(failure)] = failure
    return tuple(kept.values())


def _identity(failure: Failure) -> tuple[object, ...]:
    """The key by which a failure counts once: a test fails once a phase."""
    if failure.nodeid:
        return failure.nodeid, failure.phase, failure.subtest
    if failure.phase == "process" and failure.tool and failure.code:  # an environment fails once
        return failure.phase, failure.tool, failure.code
    return failure.phase, failure.tool, failure.code, failure.file, failure.line, failure.message


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


def _within_json(text: str) -> str:
    """The strings with line breaks in a text of JSON, or of JSON in each line."""
    if not text.lstrip("\ufeff \r\n").startswith(("{", "[")) or "\\n" not in text:
        return ""
    waiting: list[object] = []
    for decode in (msgspec.json.decode, msgspec.json.Decoder().decode_lines):
        try:
            waiting = waiting or [decode(text)]
        except (msgspec.DecodeError, RecursionError):
            continue
    found: list[str] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and "\n" in value:
            found.append(value if value.endswith("\n") else f"{value}\n")
        elif isinstance(value, dict | list):
            waiting += reversed([*(value.values() if isinstance(value, dict) else value)])
    return "".join(found)


def distinct(texts: Iterable[str]) -> list[str]:
    """The texts without those that another one holds: a terminal's log is often passed on as both streams."""
    every = [text for text in texts if text.strip()]
    kept: list[str] = []
    for text in sorted(every, key=len, reverse=True):
        if not any(text.strip() in other for other in kept):
            kept.append(text)
    return sorted(kept, key=every.index)


# --- exit codes, and lines that show by themselves how a command ended

_LAST = 200_000
# The last lines of tools that found nothing, of those that no reader reports on then.
_GREEN = re.compile(
    r"\n(?:All checks passed!|\d{1,7} files? already formatted|\s*INFO 0 errors(?: \([^\n]{1,200}\))?"
    r"| {2}congratulations :\)(?: \([\d.]{1,12} seconds\))?"
    r"|Required test coverage of [\d.]{1,9}% reached\.[^\n]{0,100})(?=\s*\Z)"
)
#: Lines that only a command that failed leaves, of any tool; a person would not go on below one of them.
_RED = (
    re.compile(
        # Maven, Gradle, TAP, Mocha, Jest, Go, Rust, PHPUnit, npm, a shell, Pyrefly, ty, pytest, its plugins, unittest
        r"\n(?:\[ERROR\] +(?:Tests run: |Failed to execute|BUILD )|BUILD FAIL(?:URE|ED)\b|not ok \d"
        r"| {1,8}\d{1,9} failing\n|Tests: +[1-9]\d{0,8} failed|--- FAIL: |FAIL[\s]|test result: FAILED|FAILURES!"
        r"|npm ERR! |Killed\n|FAILED(?: \(| \S{1,500}::|\n)|#? ?#\[error\]"
        r"| *ERROR [^\n]{1,300} \[[a-z][a-z-]{2,60}\]\n"
        r"|Found [1-9]\d{0,8} diagnostics?\n| {7}[1-9]\d{0,8} (?:error|failed)\n"
        r"|INTERNALERROR> |(?:\S{1,300}\.py )?[.sxXuE]{0,400}F[.sxXuFE]{0,400}(?: +\[ *\d{1,3}%\])?\n)"
    ),
    # ESLint, RSpec, gcc, clang, tsc, make, pre-commit, docker compose, pytest
    re.compile(r" problems? \([1-9]"),
    re.compile(r" examples?, [1-9]\d{0,8} failures?"),
    re.compile(r": error(?<=[\d)]: error)(?::| TS\d)"),
    re.compile(r": fatal error: "),
    re.compile(r"(?:pytest|py\.test|__main__\.py): error: "),
    re.compile(r" - error TS\d"),
    re.compile(r"ake(?:\[\d{1,4}\])?: \*\*\* "),
    re.compile(r"\.Failed\n"),
    re.compile(r"exit(?:ed with code| status| code:|(?<=with exit) code) [1-9]\d{0,8}[.)]?\n"),
    re.compile(r"maximum allowed warnings exceeded"),
    re.compile(r"[1-9]\d{0,8} (?:(?:subtests? )?failed|errors?)\b[^\n]{0,200} in \d{1,9}\.\d{1,3} ?s"),
)
# Words of a program that may have gone on.
DOUBT = re.compile(r"\n(?:ERROR|Error|error): |\n[^\n]{0,300}failed[.:!]?\n")
# What CI systems, docker compose and tools of agents say at the end of a log.
_EXIT_CODE = re.compile(
    r"(?:\bexit(?:ed)?(?: with)?(?: status| code):? |\"(?:exit_?[cC]ode|return_?[cC]ode)\": ?)(?P<code>\d{1,5})\b"
    r"|\n(?P<good>Job succeeded|Finished: SUCCESS)\b|\n(?P<bad>Finished: FAILURE)\b"
)


def own_exit_code(logs: Iterable[Log]) -> int | None:
    """The exit code that the logs name, of several the first that is not 0."""
    found = [match for log in logs for match in _EXIT_CODE.finditer(f"\n{log.rest[-_LAST:]}")]
    codes = [0 if match["good"] else 1 if match["bad"] else int(match["code"]) for match in found]
    return next(filter(None, codes), 0) if codes else None


def red_line(rest: str) -> str:
    """The first line that shows a failure."""
    text = f"\n{rest}\n"
    found = next((match for pattern in _RED if (match := pattern.search(text))), None)
    if found is None:
        return ""
    start = text.rfind("\n", 0, max(found.end() - 1, 1)) + 1
    return text[start : line_end(text, start)].strip()


def is_green(log: Log) -> bool:
    """Whether a tool says in it that nothing is wrong."""
    return MARK in log.rest or _GREEN.search(f"\n{log.rest[-_LAST:]}") is not None


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
    return re.compile(rf"\n(?:{line}(?:\n{line}){{3,}}|(?<=\A\n){line}(?:\n{line})*+\s*\Z)")


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
