"""The lines of standard input as the protocol's package can read them."""

from __future__ import annotations

import re
from typing import BinaryIO

import anyio.to_thread

_ESCAPE = re.compile(
    r"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_REPLACEMENT = "\\ufffd"


class Lines:
    r"""Lines of JSON, without halves of characters.

    A host written in JavaScript that cuts a text within an emoji sends half of it as ``\ud83d``. The package
    reads no such line and drops the request, for whose answer the host then waits in vain.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        """The next line; the end where there is none any more."""
        line = await anyio.to_thread.run_sync(self._stream.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return mended(line.decode("utf-8", "replace"))


def mended(line: str) -> str:
    """A line of JSON with a replacement character for every escape that is half of a character."""
    return _ESCAPE.sub(_whole, line) if "\\ud" in line.lower() else line


def _whole(escape: re.Match[str]) -> str:
    return _REPLACEMENT if escape["lone"] else escape[0]
