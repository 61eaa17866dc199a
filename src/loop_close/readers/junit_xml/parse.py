"""The test cases of a JUnit XML file, one after the other, from its bytes, in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from loop_close.text import cut

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element
    from xml.parsers.expat import XMLParserType


_SLICE = 1 << 16
_FIRST_BYTES = 256
# Python knows codecs that are not encodings of text, or take more than linear time: "zip", "punycode".
_KNOWN = re.compile(
    r"utf[-_]?(?:8|16|32)(?:[-_]?(?:le|be))?|(?:us[-_]?)?ascii|iso[-_]?8859[-_]\d{1,2}|latin[-_]?\d{1,2}"
    r"|(?:windows[-_]?|cp)(?:125[0-8]|437|85[028]|866|874|932|936|949|950)|koi8[-_]?[rut]|gb(?:2312|k|18030)"
    r"|big5(?:[-_]?hkscs)?|s(?:hift)?[-_]?jis|euc[-_]?(?:jp|kr)|mac[-_]?roman",
    re.IGNORECASE,
)
_DECLARED = re.compile(rb"\A\s{0,20}<\?xml[^>]{1,200}?\bencoding\s{0,9}=\s{0,9}[\"']([^\"'>]{1,60})[\"']")
# Not allowed after white space, which files put together by scripts begin with.
_LATE_DECLARATION = re.compile(r"\A(\s{1,20})<\?xml[^>]{0,200}\?>")
_BEGINNINGS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The same, spelled as a reference: ``&#27;``, ``&#x1b;``, ``&#xD800;``, ``&#65535;``.
_REFERENCE = re.compile(
    r"&#(?:0{0,8}(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])"
    r"|x0{0,8}(?:[0-8bcBCefEF]|1[0-9A-Fa-f]|[dD][89A-Fa-f][0-9A-Fa-f]{2}|[fF]{3}[eEfF]));"
)
_LONGEST_REFERENCE = 16


def utf8(chunks: Iterable[bytes], notes: list[str]) -> Iterator[bytes]:
    """The text as UTF-8 in pieces of bounded size, characters that XML forbids spelled ``#x1B`` as pytest does.

    :param notes: what is wrong with the encoding is added here.
    """
    pieces = _sliced(chunks)
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _FIRST_BYTES:
            break
    encoding = _encoding(head, notes)
    # An escaped byte can be distinguished from a replacement character that the file itself holds.
    errors = "surrogateescape" if encoding in ("utf-8", "ascii") else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    held = decoder.decode(head)
    held = _LATE_DECLARATION.sub(r"\1", held.removeprefix("\ufeff"), count=1)
    for piece in pieces:
        text = held + decoder.decode(piece)
        end = _safe_end(text)
        held = text[end:]
        yield _readable(text[:end], encoding, notes)
    yield _readable(held + decoder.decode(b"", True), encoding, notes)


def _sliced(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _SLICE):
            yield chunk[start : start + _SLICE]


def _encoding(head: bytes, notes: list[str]) -> str:
    """A name that Python knows; what the file begins with counts for more than what it declares."""
    for beginning, encoding in _BEGINNINGS:
        if head.startswith(beginning):
            return encoding
    found = _DECLARED.match(head)
    declared = found[1].decode("ascii", "replace").lower() if found else "utf-8"
    if not _KNOWN.fullmatch(declared):
        notes.append(f"declares the encoding {declared!r}, which is not known; read as UTF-8")
        return "utf-8"
    if re.match("utf[-_]?(?:16|32)", declared):  # the declaration itself is in single bytes
        return "utf-8"
    try:
        return codecs.lookup(declared).name
    except LookupError:
        notes.append(f"declares the encoding {declared!r}, which is not known; read as UTF-8")
        return "utf-8"


def _safe_end(text: str) -> int:
    """Where the text can be cut without cutting a reference in two."""
    start = text.rfind("&", max(len(text) - _LONGEST_REFERENCE, 0))
    return start if start >= 0 and ";" not in text[start:] else len(text)


def _readable(text: str, encoding: str, notes: list[str]) -> bytes:
    if _FORBIDDEN.search(text):
        plain = re.sub("[\udc80-\udcff]", "\ufffd", text)
        note = f"has bytes that are not {encoding.upper()}; each is shown as \ufffd"
        if plain != text and note not in notes:
            notes.append(note)
        text = _FORBIDDEN.sub(lambda found: f"#x{ord(found[0]):02X}", plain)
    if "&#" in text:
        text = _REFERENCE.sub(lambda found: f"#x{_number(found[0]):02X}", text)
    return text.encode("utf-8")


def _number(reference: str) -> int:
    digits = reference[2:-1]
    return int(digits[1:], 16) if digits.startswith("x") else int(digits)


# --- the parser

_MAX_TAG = 1 << 25
_MAX_UNLISTED = 5


class CaseParser:
    """Turns pieces of a document into elements.

    :ivar finished: the test cases since it was last emptied, each with its suite.
    :ivar fault: what ended the reading, as (line, column, words); None while all is well.
    """

    def __init__(self) -> None:
        from xml.parsers import expat

        self.finished: list[tuple[SuiteElement, Element]] = []
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


def _unlisted(suite: SuiteElement) -> str:
    said = f"suite {suite.name[:100]!r} says that it has"
    if suite.declared:
        return f"{said} {suite.declared} failures, and lists none"
    if suite.wrong:
        return f"{said} {suite.wrong}, which is no number"
    if suite.tests > suite.cases and not suite.is_pytest:
        return f"{said} {suite.tests} tests, and lists {suite.cases}"
    return ""


def read_cases(pieces: Iterable[bytes], parser: CaseParser) -> Iterator[tuple[SuiteElement, Element]]:
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


# --- the callbacks of expat: elements below ``testcase`` are built with a bounded size, all others dropped

_MAX_DEPTH = 200
_MAX_ATTRIBUTE = 64_000
_MAX_CHILDREN = 300
_MAX_SUITES = 1_000
_MAX_NAME = 1_000
_HEAD = 64_000
_TAIL = 64_000
_NUMBER = re.compile(r"(?:\d{1,18}(?:\.0{0,6})?)?", re.ASCII)
_RESULTS = ("failure", "error", "skipped")
_ROOTS = ("testsuites", "testsuite")


@dataclass(slots=True, kw_only=True)
class SuiteElement:
    """A ``testsuite`` element.

    :ivar number: of the suite in its file.
    :ivar file: its ``file`` attribute.
    :ivar root: the name of the file's root element.
    :ivar prefix: what the class names of its cases begin with (``--junitprefix``), once a case has shown it.
    :ivar declared: how many failures and errors it says that it has; ``tests``, how many tests.
    :ivar cases: how many cases are in it and in the suites below it.
    :ivar wrong: the text of an attribute that should be a number.
    :ivar has_failing: a case of it has failed.
    """

    number: int
    name: str = ""
    file: str = ""
    root: str = ""
    prefix: str = ""
    declared: int = 0
    tests: int = 0
    cases: int = 0
    wrong: str = ""
    parent: SuiteElement | None = None
    has_failing: bool = False

    def saw_failing(self) -> None:
        """Take note of a failing case, here and in the suites around."""
        suite: SuiteElement | None = self
        while suite is not None and not suite.has_failing:
            suite.has_failing = True
            suite = suite.parent

    def saw_case(self) -> None:
        """Count a case, here and in the suites around."""
        suite: SuiteElement | None = self
        while suite is not None:
            suite.cases += 1
            suite = suite.parent

    @property
    def is_pytest(self) -> bool:
        """Whether pytest wrote it, which counts subtests among its tests and lists none of those that pass."""
        return "pytest" in (self.name, self.root.partition(" ")[0])


class RefusedError(Exception):
    """The document is well-formed so far, and not read on.

    :ivar fault: line, column and words.
    """

    def __init__(self, fault: tuple[int, int, str]) -> None:
        super().__init__(*fault)
        self.fault = fault


@dataclass(slots=True)
class _OpenElement:
    """An element that has begun; of long text only the head and the tail are kept."""

    element: Element
    head: list[str] = field(default_factory=list)
    tail: deque[str] | None = None
    size: int = 0
    in_tail: int = 0

    def add(self, text: str) -> None:
        self.size += len(text)
        if self.size <= _HEAD:
            self.head.append(text)
            return
        self.tail = self.tail or deque()
        self.tail.append(text)
        self.in_tail += len(text)
        while self.in_tail - len(self.tail[0]) > _TAIL:
            self.in_tail -= len(self.tail.popleft())

    def end(self) -> Element:
        head = "".join(self.head)
        left_out = self.size - len(head) - self.in_tail
        mark = f"\n… {left_out} characters left out …\n" if left_out else ""
        self.element.text = head + mark + "".join(self.tail or ())
        return self.element


class Handlers:
    """The callbacks, and what they found.

    :ivar finished: the test cases that are whole, each with its suite.
    :ivar root: the suite of the root element; None before it.
    :ivar suites: those that say of themselves that they have failures, or tests that they do not list, bounded.
    """

    def __init__(self, finished: list[tuple[SuiteElement, Element]]) -> None:
        from xml.etree.ElementTree import Element

        self._new = Element
        self.finished = finished
        self.suites: list[SuiteElement] = []
        self.depth = 0
        self.root: SuiteElement | None = None
        self._parser: XMLParserType | None = None
        self._number = 0
        self._suites: list[SuiteElement] = []
        self._open: list[_OpenElement] = []
        self._children = [0, 0]  # a failure is not to be lost behind other elements
        self._skipping = 0

    def attach(self, parser: XMLParserType) -> None:
        """Have this parser call."""
        self._parser = parser
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.refuse
        parser.EntityDeclHandler = self.refuse

    def refuse(self, *_: Any) -> None:
        """A declaration: entities are how a short file becomes a long one, or asks for other files."""
        self._refuse("a document type or entity declaration, which no test results need; refused")

    def _refuse(self, words: str) -> NoReturn:
        line, column = (
            (self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1) if self._parser else (0, 0)
        )
        raise RefusedError((line, column, words))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self._refuse(f"elements nested more than {_MAX_DEPTH} deep")
        tag = tag.rpartition(":")[2]
        if self.root is None and tag not in _ROOTS:
            self._refuse(f"the root element is <{tag[:60]}>, neither <testsuites> nor <testsuite>")
        if self._open:
            self._start_inside(tag, attributes)
        elif tag in _ROOTS:
            self._start_suite(attributes)
        elif tag == "testcase":
            self._children = [0, 0]
            self._open.append(_OpenElement(self._new(tag, _bounded(attributes))))

    def _start_suite(self, attributes: dict[str, str]) -> None:
        self._number += 1
        suite = SuiteElement(number=self._number, name=attributes.get("name", "")[:_MAX_NAME])
        suite.file = attributes.get("file", "")[:_MAX_NAME]
        suite.declared = _count(attributes, "failures") + _count(attributes, "errors")
        suite.tests = _count(attributes, "tests")
        numbers = ((name, attributes.get(name, "").strip()) for name in ("tests", "failures", "errors"))
        suite.wrong = next(
            (f"{name}={said[:60]!r}" for name, said in numbers if not _NUMBER.fullmatch(said)), ""
        )
        self.root = self.root or suite
        suite.root = self.root.name
        suite.parent = self._suites[-1] if self._suites else None
        self._suites.append(suite)

    def _start_inside(self, tag: str, attributes: dict[str, str]) -> None:
        is_result = tag in _RESULTS
        self._children[is_result] += 1
        if self._skipping or self._children[is_result] > _MAX_CHILDREN or tag == "properties":
            self._skipping += 1
            return
        element = self._new(tag, _bounded(attributes))
        self._open[-1].element.append(element)
        self._open.append(_OpenElement(element))

    def end(self, tag: str) -> None:
        """An element ends."""
        self.depth -= 1
        if self._skipping:
            self._skipping -= 1
        elif self._open:
            element = self._open.pop().end()
            if not self._open:
                self._suites[-1].saw_case()
                self.finished.append((self._suites[-1], element))
        elif tag.rpartition(":")[2] in _ROOTS:
            suite = self._suites.pop()
            is_doubtful = suite.declared or suite.wrong or suite.tests > suite.cases
            if is_doubtful and len(self.suites) < _MAX_SUITES:
                self.suites.append(suite)

    def text(self, text: str) -> None:
        """Text inside of an element, in pieces."""
        if self._open and not self._skipping:
            self._open[-1].add(text)


def _count(attributes: dict[str, str], name: str) -> int:
    value = attributes.get(name, "").strip().partition(".")[0]
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 0


def _bounded(attributes: dict[str, str]) -> dict[str, str]:
    if max(map(len, attributes.values()), default=0) <= _MAX_ATTRIBUTE:
        return attributes
    return {name: cut(value, _MAX_ATTRIBUTE) for name, value in attributes.items()}
