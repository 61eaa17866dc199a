"""What a process printed on its two streams, as one observation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from loop_close.model import Counts, Failure, Observation
from loop_close.readers.contract import Reading, is_quoted_until, sum_of
from loop_close.readers.good_news import MARK, Log, is_good_news
from loop_close.readers.prefixes import without_prefixes
from loop_close.readers.printed_parts import HEADER
from loop_close.readers.registry import DEFAULT_READERS
from loop_close.text.sanitize import sanitize

if TYPE_CHECKING:
    from loop_close.readers.junit_xml import JunitReading

#: Characters of each stream that are read, from its end: what went wrong is said last (DESIGN, section 4).
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
    """Everything that the readers find in what a command printed.

    Total: a stream that is no text counts as empty, an exit code that is no whole number as unknown. The same text on
    both streams counts once.

    :param root: the project's root, to tell its files from others; empty when it is not known.
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
    """Whether next to nothing is in the text but what was read: an output that was cut, and no quotation of one.

    A part of a line may be left at each end, and any number of lines of a checker's excerpt. A traceback is what any
    program may log. What a shell says of a command, and Python of a module that it cannot run, counts where nothing
    else is printed.
    """
    is_of_tool = reading.counts is not None or any(f.phase != "process" for f in reading.failures)
    rest = [
        line for line in log.rest.split("\n") if line.strip() and line != MARK and not _EXCERPT.match(line)
    ]
    if not is_of_tool:
        return bool(reading.failures) and not rest and not log.is_traceback
    return len(rest) <= _CUT_LINES and not is_quoted_until("\n".join(rest))


def _read(text: str, root: str) -> Log:
    """What each reader makes of a text, in turn; none sees what an earlier one has read."""
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
        value = int(value)  # as it stands in an environment variable
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
        rerun=(),
        expects_tests=bool(counted),
        is_good_news=is_good_news,
        has_output=has_output,
    )


def _with_unlisted(failures: tuple[Failure, ...], counts: Counts) -> tuple[Failure, ...]:
    """The failures; where tests are only counted as failing (``--no-summary``), one that says so."""
    number = counts.failed + counts.failed_subtests + counts.errors
    if not number or any(f.phase not in ("check", "process") for f in failures):
        return failures
    told = f"{number} failing test{'s' * (number != 1)} counted in the output, none of them shown"
    return (*failures, Failure(nodeid="", phase="call", message=told, number=number))


def _once(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once, though two streams or two summaries tell it; the fuller account of a test counts."""
    kept: dict[tuple[object, ...], Failure] = {}
    for failure in failures:
        known = kept.setdefault(_identity(failure), failure)
        if known.raised is None and failure.raised is not None:
            kept[_identity(failure)] = failure
    return tuple(kept.values())


def _identity(failure: Failure) -> tuple[object, ...]:
    """A test fails once a phase; what is no test is told apart by all that is said of it."""
    if failure.nodeid:
        return failure.nodeid, failure.phase, failure.subtest
    if failure.phase == "process" and failure.tool and failure.code:  # an environment fails once
        return failure.phase, failure.tool, failure.code
    return failure.phase, failure.tool, failure.code, failure.file, failure.line, failure.message


def with_junit(observation: Observation, junit: JunitReading) -> Observation:
    """The observation together with what files of JUnit XML say of the same run.

    A failure that both tell is kept as the output tells it, which is the fuller account.
    """
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
