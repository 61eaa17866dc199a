"""Read logs of any size within bounds: what counts is their end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from loop_close.cli.parser import UsageError
from loop_close.cli.progress import Progress
from loop_close.readers.streams import MAX_STREAM

#: A character takes at most four bytes in UTF-8: enough for the characters of a stream that are read.
TAIL = 4_000_000
_CHUNK = 1_000_000
#: A character more than is read, so that the reader sees that the text is cut.
_MAX_TEXT = MAX_STREAM + 1
_MARK = 2
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Tail:
    """The last bytes of a stream that is longer.

    :param mark: what the stream began with, where what is added begins later.
    """

    def __init__(self, limit: int = TAIL, mark: bytes = b"") -> None:
        self._limit = limit
        self._mark = mark
        self._data = bytearray()
        self._is_cut = bool(mark)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes, and forget those that are too far back."""
        if len(self._mark) < _MARK:
            self._mark += chunk[: _MARK - len(self._mark)]
        self._data += chunk
        if (
            len(self._data) > 2 * self._limit
        ):  # not each time: to move what is kept costs more than to add to it
            excess = len(self._data) - self._limit
            del self._data[: excess - excess % 2]  # two bytes may be one character
            self._is_cut = True

    def text(self) -> str:
        """What is kept."""
        excess = max(0, len(self._data) - self._limit)
        kept = bytes(self._data[excess - excess % 2 :])
        return decoded(self._mark[:2] + kept if self._is_wide(excess) else kept)

    def is_mid_line(self) -> bool:
        """Whether the stream has not ended its last line."""
        return bool(self._data) and not self._data.endswith(b"\n")

    def _is_wide(self, excess: int) -> bool:
        """Whether the mark that says so has to be put before what is kept."""
        return self._mark.startswith(_WIDE) and (self._is_cut or excess > 1)


def decoded(data: bytes) -> str:
    """Text of a log: UTF-8 or, by its byte order mark, UTF-16, as a Windows shell's redirection writes it."""
    if data.startswith(_WIDE):
        return data.decode("utf-16", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def log_of(name: str, standard_input: BinaryIO, progress: Progress) -> str:
    """The end of a log.

    :param name: path of a file, ``-`` for the standard input.
    :raises UsageError: for a file that cannot be read.
    """
    try:
        if name == "-":
            return _read(standard_input, Tail(), progress)
        with open(name, "rb") as file:
            return _read(file, Tail(mark=_to_tail(file)), progress)
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}; give the path of a log, or -"
        ) from None


def _to_tail(file: BinaryIO) -> bytes:
    """Go to what is kept; what the file begins with, where that is not read."""
    if not file.seekable():
        return b""
    mark = file.read(_MARK)
    start = max(0, file.seek(0, os.SEEK_END) - TAIL) & ~1
    file.seek(start)
    return mark if start else b""


def _read(stream: BinaryIO, tail: Tail, progress: Progress) -> str:
    for chunk in progress.of(chunks(stream), "read"):
        tail.add(chunk)
    return tail.text()[-_MAX_TEXT:]


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream in pieces."""
    while chunk := stream.read(_CHUNK):
        yield chunk


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
