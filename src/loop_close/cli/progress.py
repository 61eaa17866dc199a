"""Tell how far long work has come: on a terminal, on standard error, after a moment."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TextIO

_FIRST = 1.0
_NEXT = 0.2


class Progress:
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
