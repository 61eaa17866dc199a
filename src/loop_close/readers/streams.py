"""What a process printed on its two streams, as one observation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Observation
from loop_close.readers import DEFAULT_READERS, MARK, Reading, is_quoted_until, sum_of
from loop_close.readers.printed import HEADER
from loop_close.records import Record
from loop_close.text import sanitize

if TYPE_CHECKING:
    from loop_close.readers.junit_xml import JunitReading


#: Characters of each stream that are read, from its end: what went wrong is said last.
MAX_STREAM = 1_000_000
#: A signal's number below zero (POSIX), an unsigned number of 32 bits above (Windows).
_EXIT_CODES = range(-(2**31), 2**32)
#: Lines of a text that are not read, the first and the last, when it was cut within them.
_CUT_LINES = 2
_EXCERPT = re.compile(r" {0,8}\d{0,7} {0,4}\|(?: |\Z)")
_NUMBER = re.compile(r"-?[0-9]{1,10}")


def observe(
    stdout: object = "",
    stderr: object = "",
    exit_code: object = None,
    *,
    root: str = "",
    source: str = "output",
) -> Observation:
    """Everything that the readers find in the output of a command.

    Never fails: a stream that is not text counts as empty, an exit code that is not a whole number as unknown. The same
    text on both streams counts once.

    :param root: the project's root, to distinguish its files from others; empty if it is unknown.
    """
    return observe_texts((stdout, stderr), exit_code, root=root, source=source)


def observe_texts(
    texts: Iterable[object], exit_code: object = None, *, root: str = "", source: str = "output"
) -> Observation:
    """The same for any number of streams or logs of one run."""
    given = list(texts)
    code = _exit_code(exit_code)
    logs = [_read(text, root or "") for text in _distinct([_text(one) for one in given])]
    believed = [r for log in logs for r in log.readings if r.is_certain or code != 0 or _is_all_of(log, r)]
    is_cut = any(isinstance(one, str | bytes) and len(one) > MAX_STREAM for one in given)
    return _observation(
        believed,
        code,
        source,
        is_good_news=code is None and not is_cut and is_good_news(logs),
        has_output=bool(logs),
    )


def _is_all_of(log: Log, reading: Reading) -> bool:
    """Whether the text has next to nothing but what was read: a cut output, and not a quotation of one.

    A part of a line may be left at each end, and any number of lines of a checker's excerpt. Any program may log a
    traceback. An error of a shell, or of Python for a module that it cannot run, counts if nothing else is printed.
    """
    is_of_tool = reading.counts is not None or any(f.phase != "process" for f in reading.failures)
    rest = [
        line for line in log.rest.split("\n") if line.strip() and line != MARK and not _EXCERPT.match(line)
    ]
    if not is_of_tool:
        return bool(reading.failures) and not rest and not log.is_traceback
    return len(rest) <= _CUT_LINES and not is_quoted_until("\n".join(rest))


def _read(text: str, root: str) -> Log:
    """What each reader finds in a text, in turn. No reader sees what an earlier one has read."""
    readings: list[Reading] = []
    is_traceback = HEADER in text
    for reader in DEFAULT_READERS:
        reading = reader.read(text, root)
        if reading.spans or reading.failures:
            readings.append(reading)
        if reading.spans:
            text = _without(text, reading)
    return Log(readings=tuple(readings), rest=text, is_traceback=is_traceback)


def _text(stream: object) -> str:
    if isinstance(stream, bytes | bytearray | memoryview):
        stream = bytes(stream[-4 * MAX_STREAM :]).decode("utf-8", "replace")
    if not isinstance(stream, str):
        return ""
    tail = stream[-MAX_STREAM:]
    if len(tail) < len(stream):
        tail = tail[tail.find("\n", 0, 100_000) + 1 :]  # the rest of a line would be read as a whole one
    return without_prefixes(sanitize(tail))


def _exit_code(value: object) -> int | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = int(value)  # the form of an environment variable
    elif isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and value in _EXIT_CODES else None


def _distinct(texts: Sequence[str]) -> list[str]:
    """The texts without those that another one holds: a terminal's log is often passed on as both streams."""
    kept: list[str] = []
    for text in sorted(texts, key=len, reverse=True):
        if text.strip() and not any(text.strip() in other for other in kept):
            kept.append(text)
    return sorted(kept, key=texts.index)


def _without(text: str, reading: Reading) -> str:
    """The text with each part that was read replaced by a line break, and a mark where it was a tool's whole output."""
    mark = f"\n{MARK}\n" if reading.is_certain else "\n"
    kept, at = [], 0
    for start, end in reading.spans:
        kept.append(text[at:start])
        at = max(at, end)
    return mark.join([*kept, text[at:]])


def _observation(
    found: Sequence[Reading], exit_code: int | None, source: str, *, is_good_news: bool, has_output: bool
) -> Observation:
    counted = [r.counts for r in found if r.counts is not None]
    counts = sum_of(counted)
    return Observation(
        exit_code=exit_code,
        source=source,
        failures=_with_unlisted(_once(f for r in found for f in r.failures), counts),
        warnings=tuple(dict.fromkeys(w for r in found for w in r.warnings)),
        counts=counts,
        incomplete=next((r.incomplete for r in found if r.incomplete), ""),
        rerun="",
        expects_tests=bool(counted),
        is_good_news=is_good_news,
        has_output=has_output,
    )


def _with_unlisted(failures: tuple[Failure, ...], counts: Counts) -> tuple[Failure, ...]:
    """The failures; if tests are only counted as failing (``--no-summary``), one failure that says so."""
    number = counts.failed + counts.failed_subtests + counts.errors
    if not number or any(f.phase not in ("check", "process") for f in failures):
        return failures
    message = f"{number} failing test{'s' * (number != 1)} counted in the output, none of them shown"
    return (*failures, Failure(nodeid="", phase="call", message=message, number=number))


def _once(failures: Iterable[Failure]) -> tuple[Failure, ...]:
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


def with_junit(observation: Observation, junit: JunitReading) -> Observation:
    """The observation together with files of JUnit XML of the same run. Of a failure in both, the output's is kept."""
    counts = observation.counts if observation.counts != Counts() else junit.counts
    failures = _with_unlisted(_once([*observation.failures, *junit.failures]), counts)
    return replace(
        observation,
        failures=failures,
        counts=counts,
        incomplete=observation.incomplete or junit.incomplete,
        expects_tests=True,
        has_output=True,
        is_good_news=observation.is_good_news and junit.counts != Counts() and not junit.counts_subtests,
    )


# --- whether a log without an exit code says that all is well

_SAMPLE = 200_000
# The last lines of tools that found nothing, of those that no reader reports on then.
_GREEN = re.compile(
    r"(?:All checks passed!|\d{1,7} files? already formatted|\s*INFO 0 errors(?: \([^\n]{1,200}\))?"
    r"| {2}congratulations :\)(?: \([\d.]{1,12} seconds\))?"
    r"|Required test coverage of [\d.]{1,9}% reached\.[^\n]{0,100})\Z"
)
# Lines that any failed command may leave.
_RED = re.compile(
    r"^(?:##\[error\]|Error: |ERROR: |error: |FAIL\b|FAILED\b|--- FAIL|npm ERR!|\s{0,8}E {3}|Killed$"
    r"|[^\n]{0,200}(?:\bmake(?:\[\d{1,4}\])?: \*\*\* |\bexit(?:ed)?(?: with)?(?: status| code):? [1-9]"
    r"|\bmaximum allowed warnings exceeded|\bFAILED\b|\.Failed$|\bfailed[.:!]?$|would be reformatted))",
    re.MULTILINE,
)


class Log(Record, frozen=True, kw_only=True):
    """A text that was read.

    :ivar rest: what no reader knows, with :data:`MARK` where a tool's whole output stood.
    :ivar is_traceback: a traceback is printed in it.
    """

    readings: tuple[Reading, ...]
    rest: str
    is_traceback: bool = False


def is_good_news(logs: Sequence[Log]) -> bool:
    """Whether one of the logs ends in the summary of a tool that found nothing, and none shows a failure.

    Anything after that summary may be an error in words that no reader knows.
    """
    if any(reading.failures or reading.incomplete for log in logs for reading in log.readings):
        return False
    return any(map(_ends_well, logs)) and not any(_RED.search(log.rest) for log in logs)


def _ends_well(log: Log) -> bool:
    behind = log.rest[-_SAMPLE:].rpartition(MARK)
    if behind[1] and not behind[2].strip():
        return True
    return _GREEN.match(log.rest[-_SAMPLE:].rstrip().rpartition("\n")[2]) is not None


# --- prefixes that a CI service or a supervisor puts before each line of a log

_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_TIME = rf"{_DAY}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
# Prefixes that no tool writes. `gh run view --log`: job, step, time; GitHub's and GitLab's raw logs: the time alone,
# GitLab's with the stream; Jenkins: the time in brackets.
_CERTAIN = re.compile(
    rf"^(?:(?:[^\t\n]{{1,100}}\t[^\t\n]{{1,200}}\t)?{_DAY}T{_CLOCK}Z(?: \d\d[OE]\+?)?(?: |$)|\[{_DAY}T{_CLOCK}Z\] ?)",
    re.MULTILINE,
)
# Removed only if nearly every line has it.
_LIKELY = (
    re.compile(rf"^(?:\[{_TIME}\]|{_TIME}|\[{_CLOCK}\]|{_CLOCK})(?: |$)", re.MULTILINE),
    re.compile(r"^#\d{1,5} \d{1,6}\.\d{1,4} ", re.MULTILINE),  # BuildKit
)
#: docker compose, foreman, honcho: lines of several processes in turn.
_NAMED = re.compile(r"(?P<name>[\w.-]{1,60}) +\| ?(?P<said>.*)", re.DOTALL)
_PREFIX_SAMPLE = 20_000
_SHARE = 0.8


def without_prefixes(text: str) -> str:
    """The text as the tools wrote it. Lines of several processes are sorted by process.

    A prefix that a program may write itself counts if 80 % of the lines have it, both at the start and at the end.
    """
    if _CERTAIN.search(text):
        text = _CERTAIN.sub("", text)
    for prefix in _LIKELY:
        if _is_everywhere(prefix, text):
            text = prefix.sub("", text)
    return _apart(text) if _is_everywhere(_NAMED, text) else text


def _is_everywhere(prefix: re.Pattern[str], text: str) -> bool:
    return _is_in(prefix, text[:_PREFIX_SAMPLE]) and (
        len(text) <= _PREFIX_SAMPLE or _is_in(prefix, text[-_PREFIX_SAMPLE:])
    )


def _is_in(prefix: re.Pattern[str], part: str) -> bool:
    lines = [line for line in part.split("\n") if line.strip()]
    found = sum(prefix.match(line) is not None for line in lines)
    return found > 0 and found >= _SHARE * len(lines)


def _apart(text: str) -> str:
    """The lines by the name before them; those without one (``Attaching to …``) come first."""
    said: dict[str, list[str]] = {"": []}
    for line in text.split("\n"):
        found = _NAMED.fullmatch(line)
        if found or line.strip():
            said.setdefault(found["name"] if found else "", []).append(found["said"] if found else line)
    return "".join(f"{line}\n" for lines in said.values() for line in lines)
