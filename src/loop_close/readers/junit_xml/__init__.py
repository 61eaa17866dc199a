"""JUnit XML, as pytest and many other runners write it, to failures and counts."""

from __future__ import annotations

import codecs
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.structs import asdict, replace

from loop_close.model import Counts, Failure
from loop_close.readers.junit_xml.case import CaseResult, SuiteElement, read_case
from loop_close.records import Record
from loop_close.text import cut
from loop_close.text.normalize import stabilize

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


__all__ = ["JunitReading", "merge_junit", "read_junit"]

_MAX_FAILURES = 20_000
_MAX_CASES = 100_000
_MAX_CHARACTERS = 32_000_000
_SHORT = 1_000
_SUBTESTS = (
    "pytest counts more tests than it lists: subtests that passed, or it is not whole; the exit code decides"
)
# Of two outcomes of a test the first of these counts.
_BOTH = ("failed", "errors", "collected")
_RANKS = ("failed", "errors", "xpassed", "passed", "xfailed", "skipped")


class JunitReading(Record, frozen=True, kw_only=True):
    """What one file says, or several together.

    :ivar failures: in the order of the file, none twice.
    :ivar problems: what is wrong with the file, each beginning with its name and, where known, line and column.
    :ivar incomplete: the problem that ended the reading before the end of the file, or a suite that counts failures and
        lists none; empty if there is neither.
    :ivar counts_subtests: pytest counts more tests than it lists: they may be subtests that passed.
    :ivar cases: the outcomes of each test, by a key that is equal for a test in any file; at most 100,000 tests
        that did not fail.
    :ivar is_pytest: every case was written by pytest, so that the node ids can be given to it as arguments.
    """

    failures: tuple[Failure, ...] = ()
    counts: Counts = Counts()
    problems: tuple[str, ...] = ()
    incomplete: str = ""
    cases: Mapping[str, tuple[str, ...]] = {}
    is_pytest: bool = False
    counts_subtests: bool = False


def read_junit(name: str, chunks: Iterable[bytes], root: str = "") -> JunitReading:
    """Read one file.

    A test that is several times in one ``testsuite`` was run again (pytest-rerunfailures, gotestsum, Gradle).
    If the last run passed, the test has passed. If it failed again, the earlier failures are kept: pytest writes
    the error of a teardown as another element, and some runners have several tests of one name. In another suite
    of the file it is another test.

    :param name: what to call the file in problems.
    :param chunks: its bytes, in pieces of any size; what they raise is passed on.
    :param root: the project's root, empty if it is unknown.
    """
    notes: list[str] = []
    parser = CaseParser()
    fold = _Fold()
    number = 0
    for suite, element in read_cases(utf8(chunks, notes), parser):
        number += 1
        case = read_case(element, suite, root)
        if case.failures:
            suite.saw_failing()
        fold.add(case)
    fault = _fault(name, parser, number)
    unlisted = [] if fault else parser.unlisted()
    notes += unlisted
    counts_subtests = not fault and parser.counts_subtests
    notes += [_SUBTESTS] if counts_subtests else []
    notes += [f"{fold.left_out} more failures are not kept"] if fold.left_out else []
    problems = (*(f"{name}: {note}" for note in notes), *([fault] if fault else []))
    reading = fold.reading(problems, fault or (f"{name}: {unlisted[0]}" if unlisted else ""))
    return replace(reading, counts_subtests=counts_subtests)


def _fault(name: str, parser: CaseParser, number: int) -> str:
    if parser.fault is None:
        return ""
    line, column, words = parser.fault
    if not parser.is_open:
        return f"{name}: {words}" if words == "empty" else f"{name}:{line}:{column}: {words}"
    read = "1 case before it was read" if number == 1 else f"{number} cases before it were read"
    return f"{name}:{line}:{column}: {words}; {read}"


class _Fold:
    """Cases put together as they come, in bounded memory.

    :ivar left_out: how many failures were not kept.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._counts: Counter[str] = Counter()
        self._cases: dict[str, tuple[str, ...]] = {}
        self._latest: dict[str, tuple[int, str]] = {}
        self._failures: dict[str, tuple[Failure, ...]] = {}
        self._kept = 0
        self._characters = 0
        self._is_pytest = True
        self._nameless = 0

    def add(self, case: CaseResult) -> None:
        """Take a case in; what was said of the same test before gives way to it."""
        self._is_pytest = self._is_pytest and case.is_pytest
        key = self._key(case)
        failures, outcomes = tuple(self._bounded(case.failures)), case.outcomes
        before = self._cases.pop(key, ())
        if before:
            self._counts.subtract(before)
        if failures and key in self._failures:
            failures = (*self._failures[key], *failures)
            outcomes = tuple(name for name in _BOTH if name in before or name in outcomes)
        self._keep(key, failures)
        self._counts.update(outcomes)
        if failures or len(self._cases) < _MAX_CASES:
            self._cases[key] = outcomes

    def reading(self, problems: tuple[str, ...], incomplete: str) -> JunitReading:
        """All that was taken in."""
        failures = (failure for found in self._failures.values() for failure in found)
        return JunitReading(
            failures=_unlike(failures),
            counts=_counts(self._counts),
            problems=problems,
            incomplete=incomplete,
            cases=self._cases,
            is_pytest=self._is_pytest and bool(self._counts),
        )

    def _key(self, case: CaseResult) -> str:
        """The case's own, or a numbered one when the same is known from another suite, or when it has no name."""
        if not case.key.strip("\0"):
            self._nameless += 1
            return f"\0\0{case.suite}\0{self._nameless}"
        suite, key = self._latest.get(case.key, (case.suite, case.key))
        if suite != case.suite:
            key = f"{case.key}\0{case.suite}"
        if case.key in self._latest or len(self._latest) < _MAX_CASES * (1 + bool(case.failures)):
            self._latest[case.key] = (case.suite, key)
        return key

    def _keep(self, key: str, failures: tuple[Failure, ...]) -> None:
        self._kept += len(failures) - len(self._failures.pop(key, ()))
        if failures:
            self._failures[key] = failures

    def _bounded(self, failures: tuple[Failure, ...]) -> Iterator[Failure]:
        for failure in failures:
            if self._kept >= _MAX_FAILURES:
                self.left_out += 1
                continue
            self._characters += len(failure.message) + sum(len(text) for _, text in failure.sections)
            is_much = self._characters > _MAX_CHARACTERS
            yield _shortened(failure) if is_much else failure


def merge_junit(readings: Iterable[JunitReading]) -> JunitReading:
    """Several files as one, such as the shards of one run.

    A test that failed in any of them has failed, whatever it did in the others: shards are runs of their own, and
    which was later is not known. Its failures are kept once if they are alike (same test, phase, exception
    type and message without addresses, times and temporary paths), else all. Counts have each test once.
    """
    readings = list(readings)
    cases: dict[str, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for reading in readings:
        counts.update(asdict(reading.counts))
        for key, outcomes in reading.cases.items():
            known = cases.get(key)
            if known is not None:
                better, worse = sorted((known, outcomes), key=_rank)
                counts.subtract(worse)
                outcomes = better
            cases[key] = outcomes
    return JunitReading(
        failures=_unlike(failure for reading in readings for failure in reading.failures),
        counts=_counts(counts),
        problems=tuple(problem for reading in readings for problem in reading.problems),
        incomplete="; ".join(reading.incomplete for reading in readings if reading.incomplete),
        cases=cases,
        counts_subtests=any(r.counts_subtests for r in readings),
        is_pytest=any(r.cases for r in readings) and all(r.is_pytest for r in readings if r.cases),
    )


def _rank(outcomes: tuple[str, ...]) -> int:
    return min((_RANKS.index(name) for name in outcomes if name in _RANKS), default=len(_RANKS))


def _counts(counts: Counter[str]) -> Counts:
    return Counts(**{name: max(number, 0) for name, number in counts.items()})


def _unlike(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """The first of each of those that are alike, as many as are kept of one file."""
    found: dict[tuple[str, ...], Failure] = {}
    for failure in failures:
        kind = failure.raised.type if failure.raised is not None else ""
        alike = (failure.nodeid, failure.phase, failure.subtest, kind, stabilize(failure.message))
        if len(found) < _MAX_FAILURES:
            found.setdefault(alike, failure)
    return tuple(found.values())


def _shortened(failure: Failure) -> Failure:
    message = failure.message[:_SHORT]
    raised = failure.raised and replace(
        failure.raised,
        message=failure.raised.message[:_SHORT],
        frames=(),
        site=None,
        cause=None,
        context=None,
        members=(),
    )
    return replace(failure, message=message, raised=raised, sections=())


# --- the bytes of a file as UTF-8

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


# --- the parser: elements below ``testcase`` are built with a bounded size, all others dropped

_MAX_TAG = 1 << 25
_MAX_UNLISTED = 5
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


class _RefusedError(Exception):
    """The document is well-formed so far, and not read on."""


class CaseParser:
    """Turns pieces of a document into elements.

    :ivar finished: the test cases since it was last emptied, each with its suite.
    :ivar fault: what ended the reading, as (line, column, words); None while all is well.
    """

    def __init__(self) -> None:
        from xml.etree.ElementTree import Element
        from xml.parsers import expat

        self.finished: list[tuple[SuiteElement, Element]] = []
        self.fault: tuple[int, int, str] | None = None
        self._new = Element
        self._depth = 0
        self._root: SuiteElement | None = None
        self._number = 0
        self._around: list[SuiteElement] = []
        self._doubtful: list[SuiteElement] = []  # those that count failures or tests that they do not list
        self._open: list[_OpenElement] = []
        self._children = [0, 0]  # a failure is not to be lost behind other elements
        self._skipping = 0
        self._held = bytearray()
        self._fed = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.buffer_size = 1 << 16
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._declaration
        self._parser.EntityDeclHandler = self._declaration

    def feed(self, data: bytes) -> None:
        """Read on. The end of a long tag is waited for, as expat reads a tag from its start each time."""
        self._held += data
        unread = self._fed - max(self._parser.CurrentByteIndex, 0)
        if unread > _MAX_TAG:
            self.fault = self._here(f"a single tag or comment of more than {_MAX_TAG >> 20} MB")
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
        except _RefusedError:
            pass  # the handler has noted the fault, at the place of its element

    def _here(self, words: str) -> tuple[int, int, str]:
        return self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1, words

    def _refuse(self, words: str) -> NoReturn:
        self.fault = self._here(words)
        raise _RefusedError

    @property
    def is_open(self) -> bool:
        """Whether test results have begun."""
        return self._root is not None

    def unlisted(self) -> list[str]:
        """What suites without a failing case say of failures and of tests that they do not list."""
        unlisted = (_unlisted(suite) for suite in self._doubtful if not suite.has_failing)
        return [words for words in unlisted if words][:_MAX_UNLISTED]

    @property
    def counts_subtests(self) -> bool:
        """Whether tests that are counted and not listed may be subtests, which pytest does not list."""
        return any(s.is_pytest and s.tests > s.cases for s in self._doubtful if not s.has_failing)

    def _words(self, said: str) -> str:
        said = said.removeprefix("not well-formed (").removesuffix(")")
        if said.startswith("no element found") and not self.is_open:
            return "empty"
        if said.startswith(("no element found", "unclosed")):
            return f"ends in the middle ({said})"
        return f"not well-formed ({said})" if self.is_open else f"not XML ({said})"

    def _declaration(self, *_: Any) -> None:
        """A declaration: entities are how a short file becomes a long one, or asks for other files."""
        self._refuse("a document type or entity declaration, which no test results need; refused")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._refuse(f"elements nested more than {_MAX_DEPTH} deep")
        tag = tag.rpartition(":")[2]
        if self._root is None and tag not in _ROOTS:
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
        self._root = self._root or suite
        suite.root = self._root.name
        suite.parent = self._around[-1] if self._around else None
        self._around.append(suite)

    def _start_inside(self, tag: str, attributes: dict[str, str]) -> None:
        is_result = tag in _RESULTS
        self._children[is_result] += 1
        if self._skipping or self._children[is_result] > _MAX_CHILDREN or tag == "properties":
            self._skipping += 1
            return
        element = self._new(tag, _bounded(attributes))
        self._open[-1].element.append(element)
        self._open.append(_OpenElement(element))

    def _end(self, tag: str) -> None:
        """An element ends."""
        self._depth -= 1
        if self._skipping:
            self._skipping -= 1
        elif self._open:
            element = self._open.pop().end()
            if not self._open:
                self._around[-1].saw_case()
                self.finished.append((self._around[-1], element))
        elif tag.rpartition(":")[2] in _ROOTS:
            suite = self._around.pop()
            is_doubtful = suite.declared or suite.wrong or suite.tests > suite.cases
            if is_doubtful and len(self._doubtful) < _MAX_SUITES:
                self._doubtful.append(suite)

    def _text(self, text: str) -> None:
        """Text inside of an element, in pieces."""
        if self._open and not self._skipping:
            self._open[-1].add(text)


def _unlisted(suite: SuiteElement) -> str:
    said = f"suite {suite.name[:100]!r} says that it has"
    if suite.declared:
        return f"{said} {suite.declared} failures, and lists none"
    if suite.wrong:
        return f"{said} {suite.wrong}, which is not a number"
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


def _count(attributes: dict[str, str], name: str) -> int:
    value = attributes.get(name, "").strip().partition(".")[0]
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 0


def _bounded(attributes: dict[str, str]) -> dict[str, str]:
    if max(map(len, attributes.values()), default=0) <= _MAX_ATTRIBUTE:
        return attributes
    return {name: cut(value, _MAX_ATTRIBUTE) for name, value in attributes.items()}
