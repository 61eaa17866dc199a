"""What a process printed on its two streams, as one observation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from loop_close.model import Counts, Failure, Observation, Warned
from loop_close.readers.contract import Reading
from loop_close.readers.prefixes import without_prefixes
from loop_close.readers.registry import DEFAULT_READERS
from loop_close.text.sanitize import sanitize

if TYPE_CHECKING:
    from loop_close.readers.junit_xml import JunitReading

#: Characters of each stream that are read, from its end: what went wrong is said last (DESIGN, section 4).
MAX_STREAM = 1_000_000
#: A signal's number below zero (POSIX), an unsigned number of 32 bits above (Windows).
_EXIT_CODES = range(-(2**31), 2**32)


def observe(
    stdout: object = "",
    stderr: object = "",
    exit_code: object = None,
    *,
    root: str = "",
    source: str = "output",
) -> Observation:
    """Everything that the readers find in what a command printed.

    Total: a stream that is no text counts as empty, an exit code that is no whole number as unknown. Nothing
    printed and no exit code counts as exit code 0. The same text on both streams counts once.

    :param root: the project's root, to tell its files from others; empty when it is not known.
    """
    return observe_texts((stdout, stderr), exit_code, root=root, source=source)


def observe_texts(
    texts: Iterable[object], exit_code: object = None, *, root: str = "", source: str = "output"
) -> Observation:
    """The same for any number of streams or logs of one run."""
    kept = _distinct([_text(text) for text in texts])
    code = _exit_code(exit_code)
    if code is None and not any(text.strip() for text in kept):
        code = 0
    found = [reading for text in kept for reading in read_text(text, root)]
    return _observation(_believed(found, code), code, source)


def read_text(text: str, root: str) -> Iterator[Reading]:
    """What each reader makes of a text, in turn; none sees what an earlier one has read."""
    for reader in DEFAULT_READERS:
        reading = reader.read(text, root)
        if reading.spans or reading.failures:
            yield reading
        if reading.spans:
            text = _without(text, reading.spans)


def _text(stream: object) -> str:
    text = stream.decode("utf-8", "replace") if isinstance(stream, bytes) else stream
    if not isinstance(text, str):
        return ""
    tail = text[-MAX_STREAM:]
    if len(tail) < len(text):
        tail = tail[tail.find("\n", 0, 100_000) + 1 :]  # the rest of a line would be read as a whole one
    return without_prefixes(sanitize(tail))


def _exit_code(value: object) -> int | None:
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and value in _EXIT_CODES else None


def _distinct(texts: Sequence[str]) -> list[str]:
    """The texts without those that another one holds: a terminal's log is often passed on as both streams."""
    kept: list[str] = []
    for text in sorted(texts, key=len, reverse=True):
        if text.strip() and not any(text.strip() in other for other in kept):
            kept.append(text)
    return sorted(kept, key=texts.index)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with each part that was read replaced by a line break."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = max(at, end)
    return "\n".join([*kept, text[at:]])


def _believed(found: Iterable[Reading], exit_code: int | None) -> list[Reading]:
    """On exit code 0 only what has the whole form of a tool's output: the rest are quotations."""
    return [r for r in found if r.is_certain or exit_code != 0]


def _observation(found: Sequence[Reading], exit_code: int | None, source: str) -> Observation:
    failures = _once(f for r in found for f in r.failures)
    counted = [r.counts for r in found if r.counts is not None]
    is_green = exit_code is None and not failures and any(r.is_certain for r in found)
    return Observation(
        exit_code=0 if is_green else exit_code,
        source=source,
        failures=failures,
        warnings=tuple(dict.fromkeys(w for r in found for w in r.warnings if isinstance(w, Warned))),
        counts=_sum(counted),
        incomplete=next((r.incomplete for r in found if r.incomplete), ""),
        rerun=(),
        can_rerun_last_failed=False,
        expects_tests=bool(counted),
    )


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
    return failure.phase, failure.tool, failure.code, failure.file, failure.line, failure.message


def with_junit(observation: Observation, junit: JunitReading) -> Observation:
    """The observation together with what files of JUnit XML say of the same run.

    A failure that both tell is kept as the output tells it, which is the fuller account.
    """
    failures = _once([*observation.failures, *junit.failures])
    code = observation.exit_code
    is_green = code is None and not failures and not junit.incomplete and junit.counts != Counts()
    return replace(
        observation,
        exit_code=0 if is_green else code,
        failures=failures,
        counts=observation.counts if observation.counts != Counts() else junit.counts,
        incomplete=observation.incomplete or junit.incomplete,
        expects_tests=True,
    )


def _sum(counts: Sequence[Counts]) -> Counts:
    """The tests of all runs in a text, such as one for each interpreter."""
    total = Counts()
    for one in counts:
        added = {f.name: getattr(total, f.name) + getattr(one, f.name) for f in fields(Counts)}
        total = replace(total, **added)
    return total
