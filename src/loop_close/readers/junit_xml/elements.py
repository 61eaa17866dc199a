"""Finished ``testcase`` elements from the bytes of a file, one after the other, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from loop_close.readers.junit_xml.handlers import Handlers, RefusedError, Suite

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MAX_TAG = 1 << 25
_MAX_UNLISTED = 5


class Parser:
    """Turns pieces of a document into elements.

    :ivar finished: the test cases since it was last emptied, each with its suite.
    :ivar fault: what ended the reading, as (line, column, words); None while all is well.
    """

    def __init__(self) -> None:
        from xml.parsers import expat

        self.finished: list[tuple[Suite, Element]] = []
        self.fault: tuple[int, int, str] | None = None
        self._handlers = Handlers(self.finished)
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.buffer_size = 1 << 16
        self._handlers.attach(self._parser)
        self._held = bytearray()
        self._fed = 0

    def feed(self, data: bytes) -> None:
        """Read on. A tag that goes on and on is waited for: expat reads it anew from its start each time."""
        self._held += data
        unread = self._fed - max(self._parser.CurrentByteIndex, 0)
        if unread > _MAX_TAG:
            place = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
            self.fault = (*place, f"a single tag or comment of more than {_MAX_TAG >> 20} MB")
        elif len(self._held) >= unread // 2:
            self._parse(is_final=False)

    def close(self) -> None:
        """Read what is left."""
        if self.fault is None:
            self._parse(is_final=True)

    def _parse(self, *, is_final: bool) -> None:
        from xml.parsers import expat

        data, self._held = bytes(self._held), bytearray()
        self._fed += len(data)
        try:
            self._parser.Parse(data, is_final)
        except expat.ExpatError as error:
            self.fault = (error.lineno, error.offset + 1, self._words(expat.ErrorString(error.code) or ""))
        except RefusedError as error:
            self.fault = error.fault

    @property
    def is_open(self) -> bool:
        """Whether test results have begun."""
        return self._handlers.root is not None

    def unlisted(self) -> list[str]:
        """What suites without a failing case say of failures and of tests that they do not list."""
        unlisted = (_unlisted(suite) for suite in self._handlers.suites if not suite.has_failing)
        return [words for words in unlisted if words][:_MAX_UNLISTED]

    @property
    def counts_subtests(self) -> bool:
        """Whether tests that are counted and not listed may be subtests, which pytest does not list."""
        return any(s.is_pytest and s.tests > s.cases for s in self._handlers.suites if not s.has_failing)

    def _words(self, said: str) -> str:
        said = said.removeprefix("not well-formed (").removesuffix(")")
        if said.startswith("no element found") and not self.is_open:
            return "empty"
        if said.startswith(("no element found", "unclosed")):
            return f"ends in the middle ({said})"
        return f"not well-formed ({said})" if self.is_open else f"not XML ({said})"


def _unlisted(suite: Suite) -> str:
    said = f"suite {suite.name[:100]!r} says that it has"
    if suite.declared:
        return f"{said} {suite.declared} failures, and lists none"
    if suite.wrong:
        return f"{said} {suite.wrong}, which is no number"
    if suite.tests > suite.cases and not suite.is_pytest:
        return f"{said} {suite.tests} tests, and lists {suite.cases}"
    return ""


def read_cases(pieces: Iterable[bytes], parser: Parser) -> Iterator[tuple[Suite, Element]]:
    """The test cases of a document, to its end or its first fault, which is then in the parser."""
    for piece in pieces:
        parser.feed(piece)
        yield from parser.finished
        parser.finished.clear()
        if parser.fault is not None:
            return
    parser.close()
    yield from parser.finished
    parser.finished.clear()
