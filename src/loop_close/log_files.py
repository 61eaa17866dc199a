"""Log files of any size and a directory of them, read within bounds: what counts is the end of a log."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from loop_close.files import OUR_JSON, SIGNATURE
from loop_close.readers.logs import MAX_LOG, MAX_XML, XML
from loop_close.text import WIDE, decoded, fault_text, reason_of

if TYPE_CHECKING:
    from loop_close.library import LogSummary

#: A character takes at most four bytes in UTF-8: enough for the characters of a stream that are read.
TAIL = 4_000_000
#: A character more than is read, so that the reader sees that the text is cut.
MAX_TEXT = MAX_LOG + 1
_CHUNK = 1_000_000
_ENOUGH = 200
#: How much of a file is read to find what it is, in bytes.
_HEAD = 8_192
_OURS = tuple(map(str.encode, OUR_JSON))
#: A link is not followed, and no other program is waited for.
_FLAGS = os.O_RDONLY
for _name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):
    _FLAGS |= getattr(os, _name, 0)


class Tail:
    """The last bytes of a stream that is longer."""

    def __init__(self, limit: int = TAIL) -> None:
        self._limit = limit
        self._data = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes, and forget those that are too far back."""
        self._data += chunk
        if len(self._data) > 2 * self._limit:  # not each time: to move costs more than to add
            del self._data[: -self._limit]

    def text(self) -> str:
        """What is kept."""
        return decoded(bytes(self._data[-self._limit :]))


def end_of(file: BinaryIO) -> str:
    """The end of a file or a pipe, as much of it as is read."""
    if file.seekable():
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
    tail = Tail()
    for chunk in chunks(file):
        tail.add(chunk)
    return tail.text()[-MAX_TEXT:]


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream in pieces."""
    while chunk := stream.read(_CHUNK):
        yield chunk


class NotALogError(ValueError):
    """The file is not a log; the text says what it is."""


def log_names(directory: str) -> Iterator[str]:
    """The files below a directory, relative to it, with ``/`` between the parts, in no order.

    Nothing of what was found is kept, so that the number of files does not matter. Links are not followed; they are
    names as well. A directory that cannot be listed is a name that ends in ``/``.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(directory, folder)) as entries:
                for entry in entries:
                    name = f"{folder}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(f"{name}/")
                    else:
                        yield name
        except OSError:
            yield folder or "./"


def summary_of_file(path: str, name: str, root: str = "") -> LogSummary:
    """The summary of one file: what :func:`~loop_close.summary_of_log` says of its text.

    Whatever the file is, there is a summary: of a log that cannot be read, and of what is not a log, it says so. That
    is so for an error of loop-close as well: one log does not end the reading of all the others.

    :param name: what to show the file by.
    :param root: the project's root; counts only for logs that contain it.
    """
    from loop_close.library import summary_of_log, unread_log

    try:
        return summary_of_log(name, read_log(path), root)
    except NotALogError as error:
        return unread_log(name, str(error), "not a log")
    except OSError as error:
        return unread_log(name, reason_of(error))
    except Exception as fault:
        return unread_log(name, f"internal error of loop-close: {fault_text(fault)}")


def read_log(path: str) -> str | bytes:
    """The end of a log, or all of a JUnit XML file as bytes.

    :raises NotALogError: for a link, a pipe, a device, a binary file, and what loop-close itself has written.
    :raises OSError: for a file that cannot be read, JUnit XML of more than 64 MB, and a directory.
    """
    if os.path.islink(path):
        raise NotALogError("a symbolic link")
    with open(os.open(path, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, "a directory that cannot be listed")
        if not stat.S_ISREG(status.st_mode):
            raise NotALogError("not a regular file")
        head = file.read(_HEAD)
        _check_text(head)
        if XML.match(decoded(head)):
            if status.st_size > MAX_XML:
                raise OSError(errno.EFBIG, f"JUnit XML of more than {MAX_XML // 1_000_000} MB")
            return head + file.read(MAX_XML)
        text = end_of(file)
    # A log that shows a prompt ends like one, and does not begin so.
    if head.startswith(b"# ") and text[-_ENOUGH:].rstrip().endswith(SIGNATURE):
        raise NotALogError("written by loop-close")
    return text


def _check_text(head: bytes) -> None:
    if head.startswith(_OURS):
        raise NotALogError("written by loop-close")
    if head.startswith(WIDE):
        return
    # A NUL among the first bytes is what git calls binary.
    if b"\0" in head or 10 * head.decode("utf-8", "replace").count("\ufffd") > len(head):
        raise NotALogError("not a text")
