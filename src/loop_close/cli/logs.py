"""Logs as they are read: their chunks, their end, and a bar that shows how far it is."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Self, TextIO

from loop_close.cli.streams import UsageError
from loop_close.log_files import MAX_TEXT, TAIL, Tail, chunks, to_tail
from loop_close.text.sanitize import decoded

__all__ = ["TAIL", "Tail", "chunks", "decoded", "file_chunks", "log_of"]


def log_of(name: str, standard_input: BinaryIO, progress: ReadProgress) -> str:
    """The end of a log.

    :param name: path of a file, ``-`` for the standard input.
    :raises UsageError: for a file that cannot be read.
    """
    try:
        if name == "-":
            return _read(standard_input, Tail(), progress)
        with open(name, "rb") as file:
            return _read(file, Tail(mark=to_tail(file)), progress)
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}; give the path of a log, or -"
        ) from None


def _read(stream: BinaryIO, tail: Tail, progress: ReadProgress) -> str:
    for chunk in progress.of(chunks(stream), "read"):
        tail.add(chunk)
    return tail.text()[-MAX_TEXT:]


def file_chunks(name: str, standard_input: BinaryIO) -> Iterator[bytes]:
    """The bytes of a whole file in pieces.

    :raises UsageError: for one that cannot be read.
    """
    try:
        if name == "-":
            yield from chunks(standard_input)
            return
        with Path(name).open("rb") as file:
            yield from chunks(file)
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}; give the path of a JUnit XML file"
        ) from None


# Tell how far long work has come, on standard error if that is a terminal.

_FIRST = 1.0
_NEXT = 0.2
_WIDTH = 24
_COLUMNS = 80


class ReadProgress:
    """A line that is written over itself while bytes go by, and gone afterwards.

    :param stream: standard error; nothing is shown where that is no terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream if stream.isatty() else None

    def of(self, chunks: Iterable[bytes], what: str) -> Iterator[bytes]:
        """The chunks, with the number of their bytes shown."""
        if self._stream is None:
            yield from chunks
            return
        size, due, shown = 0, time.monotonic() + _FIRST, False
        try:
            for chunk in chunks:
                size += len(chunk)
                if time.monotonic() >= due:
                    self._stream.write(f"\r\x1b[Kloop-close: {what} {size / 1e6:,.0f} MB")
                    self._stream.flush()
                    due, shown = time.monotonic() + _NEXT, True
                yield chunk
        finally:
            if shown:
                self._stream.write("\r\x1b[K")
                self._stream.flush()


class Bar:
    """A progress bar in one line that is written over itself; shown at once, and gone at the end of the ``with``.

    :param stream: standard error; nothing is shown where that is no terminal.
    :param total: how much there is to do, as far as is known.
    :param what: what is counted, such as ``files``.
    """

    def __init__(self, stream: TextIO, total: int, what: str) -> None:
        self._stream = stream if stream.isatty() else None
        self._total, self._what = total, what
        self._begun = self._due = time.monotonic()

    def __enter__(self) -> Self:
        self.show(0)
        return self

    def __exit__(self, *raised: object) -> None:
        self._write("")

    def show(self, done: int, note: str = "") -> None:
        """Show how much is done, and a few words on it."""
        now = time.monotonic()
        if self._stream is None or now < self._due:
            return
        self._due = now + _NEXT
        total = max(done, self._total)
        share = done / total if total else 0.0
        bar = f"[{'#' * int(_WIDTH * share):{_WIDTH}}]"
        rest = (now - self._begun) / share * (1 - share) if share else 0.0
        left = f", {_duration(rest)} left" if done and now - self._begun >= _FIRST else ""
        self._write(f"loop-close: {bar} {done:,} of {total:,} {self._what}{note}{left}")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with contextlib.suppress(OSError):  # a terminal that is gone ends no work
                self._stream.write(f"\r\x1b[K{text[: _columns(self._stream) - 1]}")
                self._stream.flush()


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if seconds >= 90 else f"{seconds:.0f} s"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
