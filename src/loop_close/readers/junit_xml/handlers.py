"""What expat calls: the elements below ``testcase`` are built, bounded, and all others forgotten."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from loop_close.text import cut

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element
    from xml.parsers.expat import XMLParserType

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
class Suite:
    """A ``testsuite`` element.

    :ivar number: tells the suites of a file apart.
    :ivar file: its ``file`` attribute.
    :ivar root: the name of the file's root element.
    :ivar prefix: what the class names of its cases begin with (``--junitprefix``), once a case has told.
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
    parent: Suite | None = None
    has_failing: bool = False

    def saw_failing(self) -> None:
        """Take note of a failing case, here and in the suites around."""
        suite: Suite | None = self
        while suite is not None and not suite.has_failing:
            suite.has_failing = True
            suite = suite.parent

    def saw_case(self) -> None:
        """Count a case, here and in the suites around."""
        suite: Suite | None = self
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
class _Open:
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

    def __init__(self, finished: list[tuple[Suite, Element]]) -> None:
        from xml.etree.ElementTree import Element

        self._new = Element
        self.finished = finished
        self.suites: list[Suite] = []
        self.depth = 0
        self.root: Suite | None = None
        self._parser: XMLParserType | None = None
        self._number = 0
        self._suites: list[Suite] = []
        self._open: list[_Open] = []
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
            self._open.append(_Open(self._new(tag, _bounded(attributes))))

    def _start_suite(self, attributes: dict[str, str]) -> None:
        self._number += 1
        suite = Suite(number=self._number, name=attributes.get("name", "")[:_MAX_NAME])
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
        self._open.append(_Open(element))

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
