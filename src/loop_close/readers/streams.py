"""What a process printed on its two streams, as one observation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Observation
from loop_close.readers import joined, once
from loop_close.readers.logs import (
    MAX_LOG,
    XML,
    distinct,
    is_doubtful,
    is_green,
    logs_in,
    read_log,
    red_line,
    with_unlisted,
)

if TYPE_CHECKING:
    from loop_close.readers.junit_xml import JunitReading


#: A signal's number below zero (POSIX), an unsigned number of 32 bits above (Windows).
_EXIT_CODES = range(-(2**31), 2**32)
_NUMBER = re.compile(r"-?[0-9]{1,10}")
_DECLARATION = re.compile(r"\A\ufeff?\s{0,100}<\?xml[^>]{0,200}\?>")


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
    """The same for any number of streams or logs of one run. JUnit XML among them is read as such.

    :param source: the check or command that was run here; its exit code is known then, so that it may print nothing.
    """
    given = [_decoded(text) for text in texts]
    xml = [text for text in given if XML.match(text)]
    logs = [read_log(text, root) for text in distinct(logs_in(given))]
    rests = [rest for _, rest in logs]
    found = joined(reading for readings, _ in logs for reading in readings)
    code = _exit_code(exit_code)
    failures = with_unlisted(found.failures, found.counts or Counts())
    red = next(filter(None, map(red_line, rests)), "")
    if red and code in (0, None) and not failures:
        failures = (Failure(nodeid="", phase="process", message=red),)
    is_good = not (failures or found.incomplete or red) and all(len(text) <= MAX_LOG for text in given)
    is_good = is_good and any(map(is_green, rests)) and not any(map(is_doubtful, rests))
    observation = Observation(
        exit_code=code,
        source=source,
        failures=failures,
        warnings=found.warnings,
        counts=found.counts or Counts(),
        incomplete=found.incomplete,
        rerun="",
        expects_tests=found.counts is not None,
        is_good_news=is_good or (bool(xml) and not logs),
        has_output=bool(logs or xml) or (source != "output" and code is not None),
    )
    if not xml:
        return observation
    from loop_close.readers.junit_xml import merge_junit, read_junit

    # the encoding that a text declares is that of the file it came from
    raw = [_DECLARATION.sub("", text).encode("utf-8", "replace") for text in xml]
    return with_junit(observation, merge_junit(read_junit("XML", [each], root) for each in raw))


def _decoded(stream: object) -> str:
    if isinstance(stream, bytes | bytearray | memoryview):
        stream = bytes(stream).decode("utf-8", "replace")
    return stream if isinstance(stream, str) else ""


def with_junit(observation: Observation, junit: JunitReading) -> Observation:
    """The observation together with files of JUnit XML of the same run. Of a failure in both, the output's is kept."""
    counts = observation.counts if observation.counts != Counts() else junit.counts
    failures = with_unlisted(once([*observation.failures, *junit.failures]), counts)
    return replace(
        observation,
        failures=failures,
        counts=counts,
        incomplete=observation.incomplete or junit.incomplete,
        expects_tests=True,
        has_output=True,
        is_good_news=observation.is_good_news and junit.counts != Counts(),
    )


def _exit_code(value: object) -> int | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = int(value)  # the form of an environment variable
    return int(value) if isinstance(value, int) and value in _EXIT_CODES else None
