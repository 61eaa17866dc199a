"""Read a log or a JUnit XML file that a command line names, or standard input, and show how far that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from loop_close.cli.parser import UsageError
from loop_close.cli.progress import Progress
from loop_close.log_files import MAX_TEXT, TAIL, Tail, chunks, to_tail
from loop_close.text.sanitize import decoded

__all__ = ["TAIL", "Tail", "chunks", "decoded", "file_chunks", "log_of"]


def log_of(name: str, standard_input: BinaryIO, progress: Progress) -> str:
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


def _read(stream: BinaryIO, tail: Tail, progress: Progress) -> str:
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
