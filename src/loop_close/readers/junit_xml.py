"""JUnit XML, as pytest and many other runners write it, to failures and counts.

junitparser reads the results of a case in the many dialects. Elements below ``rerunFailure``, ``flakyFailure`` and the
like (Maven Surefire) are not results: a flaky test has passed, and reruns repeat a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase, Raised
from loop_close.readers import bounded_sections, project_path
from loop_close.readers.logs import failures_in
from loop_close.readers.printed import HEADER, raised_in
from loop_close.readers.pytest_output.tracebacks import (
    missing_fixture,
    raised_from_words,
    read_doctest,
    read_traceback,
)
from loop_close.records import Record
from loop_close.text import MAX_MESSAGE, decoded, sanitize
from loop_close.text.normalize import stabilize
from loop_close.text.redact import clean

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


__all__ = ["JunitReading", "merge_junit", "read_junit", "test_of_case"]

#: A larger file is not read; in bytes.
MAX_XML = 64_000_000
_MAX_FAILURES = 20_000
_MAX_RESULTS = 100
_MAX_NAME = 2_000
_FAILED = ("failed", "failure", "fail", "error", "errored", "broken", "timedout")
_SUBTESTS = (
    "pytest counts more tests than it lists: subtests that passed, or it is not whole; the exit code decides"
)
# Of two outcomes of a test in several files the first of these counts.
_RANKS = ("failed", "errors", "xpassed", "passed", "xfailed", "skipped")


class JunitReading(Record, frozen=True, kw_only=True):
    """What one file says, or several together.

    :ivar failures: in the order of the file, none twice.
    :ivar problems: what is wrong with the file, each beginning with its name and, where known, line and column.
    :ivar incomplete: the problem that makes the file less than a whole run; empty if there is none.
    :ivar counts_subtests: pytest counts more tests than it lists: they may be subtests that passed.
    :ivar cases: the outcomes of each test, by a key that is equal for a test in any file.
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
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > MAX_XML:
            fault = f"{name}: XML of more than {MAX_XML // 1_000_000} MB is not read"
            return JunitReading(problems=(fault,), incomplete=fault)
    document = _Document(root=root)
    cases = _Cases()
    for case in document.cases(_text_of(bytes(data))):
        cases.add(case)
    missing = [f"{name}: {one}" for one in document.missing[:_MAX_MISSING]]
    missing += [f"{name}{document.fault}"] if document.fault else []
    notes = [f"{name}: {_SUBTESTS}"] if document.counts_subtests else []
    return JunitReading(
        failures=_unlike(cases.failures()),
        counts=_counts(cases.outcomes),
        problems=(*notes, *missing),
        incomplete=missing[-1] if missing else "",
        cases=cases.outcomes,
        is_pytest=bool(cases.outcomes) and cases.is_pytest,
        counts_subtests=document.counts_subtests,
    )


def merge_junit(readings: Iterable[JunitReading]) -> JunitReading:
    """Several files as one, such as the shards of one run.

    A test that failed in any of them has failed, whatever it did in the others: shards are runs of their own, and
    which was later is not known. Its failures are kept once if they are alike (same test, phase, exception
    type and message without addresses, times and temporary paths), else all. Counts have each test once.
    """
    readings = list(readings)
    cases: dict[str, tuple[str, ...]] = {}
    for reading in readings:
        for key, outcomes in reading.cases.items():
            cases[key] = min(cases.get(key, outcomes), outcomes, key=_rank)
    return JunitReading(
        failures=_unlike(failure for reading in readings for failure in reading.failures),
        counts=_counts(cases),
        problems=tuple(problem for reading in readings for problem in reading.problems),
        incomplete="; ".join(reading.incomplete for reading in readings if reading.incomplete),
        cases=cases,
        counts_subtests=any(r.counts_subtests for r in readings),
        is_pytest=any(r.cases for r in readings) and all(r.is_pytest for r in readings if r.cases),
    )


def _rank(outcomes: tuple[str, ...]) -> int:
    return min((_RANKS.index(name) for name in outcomes if name in _RANKS), default=len(_RANKS))


def _counts(cases: Mapping[str, tuple[str, ...]]) -> Counts:
    return Counts(**Counter(chain.from_iterable(cases.values())))


def _unlike(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """The first of each of those that are alike, as many as are kept."""
    found: dict[tuple[str, ...], Failure] = {}
    for failure in islice(failures, _MAX_FAILURES):
        kind = failure.raised.type if failure.raised is not None else ""
        alike = (failure.nodeid, failure.phase, failure.subtest, kind, stabilize(failure.message))
        found.setdefault(alike, failure)
    return tuple(found.values())


class CaseResult(Record, frozen=True, kw_only=True):
    """What one element says.

    :ivar key: equal for elements about one test, also in other files; empty for what is not a test.
    :ivar suite: the number of its suite in the file.
    :ivar outcomes: fields of :class:`~loop_close.model.Counts` that it adds one to.
    """

    key: str = ""
    suite: int
    outcomes: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    is_pytest: bool = False


class _Cases:
    """Cases put together as they come.

    :ivar outcomes: of each test, by its key.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, tuple[str, ...]] = {}
        self.is_pytest = True
        self._failures: dict[str, tuple[Failure, ...]] = {}
        self._suites: dict[str, int] = {}

    def add(self, case: CaseResult) -> None:
        """Take a case in; what was said of the same test before gives way to it."""
        self.is_pytest = self.is_pytest and case.is_pytest
        key = case.key
        if not key.strip("\0"):
            key = f"\0\0{case.suite}\0{len(self.outcomes)}"
        elif self._suites.setdefault(key, case.suite) != case.suite:
            key = f"{key}\0{case.suite}"
        before, earlier = self.outcomes.pop(key, ()), self._failures.pop(key, ())
        outcomes, failures = case.outcomes, case.failures
        if failures and earlier:
            failures = (*earlier, *failures)
            outcomes = tuple(
                name for name in ("failed", "errors", "collected") if name in (*before, *outcomes)
            )
        self.outcomes[key] = outcomes
        if failures:
            self._failures[key] = failures

    def failures(self) -> Iterator[Failure]:
        """The failures of all tests."""
        return chain.from_iterable(self._failures.values())


# --- the bytes of a file as text

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The same, spelled as a reference: ``&#27;``, ``&#x1b;``, ``&#xD800;``, ``&#65535;``.
_REFERENCE = re.compile(
    r"&#(?:0{0,8}(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])"
    r"|x0{0,8}(?:[0-8bcBCefEF]|1[0-9A-Fa-f]|[dD][89A-Fa-f][0-9A-Fa-f]{2}|[fF]{3}[eEfF]));"
)


def _text_of(data: bytes) -> str:
    """The text, with characters that XML forbids spelled ``#x1B`` as pytest does."""
    text = _FORBIDDEN.sub(lambda found: f"#x{ord(found[0]):02X}", decoded(data))
    return _REFERENCE.sub(_spelled, text)


def _spelled(reference: re.Match[str]) -> str:
    digits = reference[0][2:-1].lower()
    return f"#x{int(digits[1:], 16) if digits.startswith('x') else int(digits):02X}"


# --- the elements

_ROOTS = ("testsuites", "testsuite")
_MAX_MISSING = 5
_MAX_DEPTH = 200
_PROLOG = re.compile(r"(?:\s|<\?[^>]{0,1000}\?>|<!--(?:(?!-->).)*+-->)*+", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]{1,100}:)?testsuites?\b")


@dataclass(slots=True, kw_only=True)
class _Suite:
    """A ``testsuite`` element, or the ``testsuites`` around it.

    :ivar declared: how many failures and errors it says that it has; ``tests``, how many tests.
    :ivar cases: how many cases are in it and in the suites below it.
    :ivar has_failing: one of these has failed.
    :ivar is_pytest: pytest wrote it, which counts subtests among its tests and lists none of those that pass.
    """

    number: int
    name: str
    file: str
    declared: int = 0
    tests: int = 0
    is_pytest: bool = False
    cases: int = 0
    has_failing: bool = False


@dataclass(slots=True, kw_only=True)
class _Document:
    """One document while it is read.

    :ivar missing: what it says that it has, and does not list.
    :ivar fault: what ended the reading; empty while all is well.
    """

    root: str
    missing: list[str] = field(default_factory=list)
    fault: str = ""
    counts_subtests: bool = False

    def cases(self, text: str) -> Iterator[CaseResult]:
        """The test cases up to the end or the first fault, and what suites say of themselves."""
        around: list[_Suite] = []
        number = 0
        inside = False
        for event, element in self._events(text):
            tag = element.tag.rpartition("}")[2]
            if tag == "testcase":
                inside = event == "start"
                if not inside:
                    case = _read_case(element, around[-1], self.root)
                    around[-1].cases += 1
                    around[-1].has_failing = around[-1].has_failing or bool(case.failures)
                    yield case
                    element.clear()
            elif inside:
                continue
            elif tag in _ROOTS and event == "start":
                number += 1
                around.append(self._suite(element, number, around))
            elif tag in _ROOTS:
                yield from self._end(around)
            elif event == "end":
                yield from self._of_suite(tag, element, around[-1])

    def _events(self, text: str) -> Iterator[tuple[str, Element]]:
        """The starts and ends of elements. A declaration of a document type or of entities is refused."""
        from xml.etree.ElementTree import ParseError, XMLPullParser

        prolog = _PROLOG.match(text)
        start = prolog.end() if prolog is not None else 0
        if not text[start:]:
            self.fault = ": empty"
        elif text.startswith("<!", start):
            self.fault = ": a document type or entity declaration, which no test results need; refused"
        elif not _ROOT.match(text, start):
            self.fault = ": it does not begin with <testsuites> or <testsuite>"
        if self.fault:
            return
        parser: Any = XMLPullParser(["start", "end"])
        parser.feed(re.sub(r"[^\n]", " ", text[:start]) + text[start:])
        depth = 0
        try:
            for event, element in chain(parser.read_events(), _rest(parser)):
                depth += 1 if event == "start" else -1
                if depth > _MAX_DEPTH:
                    self.fault = f": elements nested more than {_MAX_DEPTH} deep"
                    return
                yield event, element
        except ParseError as error:
            line, column = error.position
            self.fault = (
                f":{line}:{column + 1}: {str(error).partition(':')[0]}; the cases before it were read"
            )

    def _suite(self, element: Element, number: int, around: Sequence[_Suite]) -> _Suite:
        name = element.get("name", "")[:_MAX_NAME]
        suite = _Suite(number=number, name=name, file=element.get("file", "")[:_MAX_NAME])
        suite.is_pytest = name.partition(" ")[0] == "pytest" or any(outer.is_pytest for outer in around)
        for attribute in ("tests", "failures", "errors"):
            said = element.get(attribute, "").strip()
            if not _NUMBER.fullmatch(said):
                self.missing.append(
                    f"suite {name[:100]!r} says that it has {attribute}={said[:60]!r}, which is not a number"
                )
            elif attribute == "tests":
                suite.tests = int(float(said or 0))
            else:
                suite.declared += int(float(said or 0))
        return suite

    def _end(self, around: list[_Suite]) -> Iterator[CaseResult]:
        """Close a suite. Failures that it counts, and none of which it lists, are failures of the suite."""
        suite = around.pop()
        if suite.declared and not suite.has_failing:
            message = f"suite {suite.name[:100]!r} says that it has {suite.declared} failures, and lists none"
            failure = Failure(nodeid="", phase="call", message=message, number=suite.declared)
            yield CaseResult(
                suite=suite.number,
                outcomes=("failed",) * min(suite.declared, _MAX_FAILURES),
                failures=(failure,),
            )
            suite.has_failing = True
        elif suite.tests > suite.cases and suite.is_pytest:
            self.counts_subtests = not suite.has_failing
        elif suite.tests > suite.cases and not suite.has_failing:
            self.missing.append(
                f"suite {suite.name[:100]!r} says that it has {suite.tests} tests, and lists {suite.cases}"
            )
        if around:
            around[-1].cases += suite.cases
            around[-1].has_failing = around[-1].has_failing or suite.has_failing

    def _of_suite(self, tag: str, element: Element, suite: _Suite) -> Iterator[CaseResult]:
        """What a suite itself failed with; a failing summary in its output."""
        failures: Sequence[Failure] = ()
        if tag in ("failure", "error"):
            message, raised = _read_result(
                element.text or "", element.get("message", ""), element.get("type", ""), self.root
            )
            failures = [Failure(nodeid="", phase="setup", message=message, raised=raised)]
        elif tag in _OUTPUTS and element.text:
            failures = failures_in(element.text, self.root)
        if failures:
            suite.has_failing = True
            yield CaseResult(
                suite=suite.number, outcomes=("errors",) * len(failures), failures=tuple(failures)
            )


def _rest(parser: Any) -> Iterator[tuple[str, Element]]:
    """What is left at the end of a document, or its fault."""
    parser.close()
    yield from parser.read_events()


# --- one case


def _read_case(element: Element, suite: _Suite, root: str) -> CaseResult:
    """What the element of a case says."""
    import junitparser

    case: Any = junitparser.TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    results = case.result[:_MAX_RESULTS] if len(element) else []
    wrong = [(r.text or "", r.message or "", r.type or "") for r in results if r._tag in ("failure", "error")]
    status = next(
        (said for name in ("status", "result") if (said := element.get(name, "").lower()) in _FAILED), ""
    )
    if status and not results:
        wrong = [("", f"its status is {status}, and nothing says why", "")]
    failures = tuple(_failure(element, suite, words, root) for words in wrong)
    return CaseResult(
        key="\0".join(element.get(name, "")[:1000] for name in ("file", "classname", "name")),
        suite=suite.number,
        outcomes=_outcomes(element, results, {failure.phase for failure in failures}),
        failures=failures,
        is_pytest=suite.is_pytest or any(_OF_PYTEST.search(text) for text, _, _ in wrong),
    )


def _outcomes(element: Element, results: Sequence[Any], phases: set[Phase]) -> tuple[str, ...]:
    if not results and not phases:
        is_off = element.get("status", "") in ("disabled", "notrun")  # CTest, GoogleTest
        return "skipped" if is_off else "passed", "collected"
    found = ["failed"] if "call" in phases else []
    found += ["errors"] * len(phases - {"call"})
    skipped = next((result for result in results if result._tag == "skipped"), None)
    is_test = phases.isdisjoint(("collect", "session")) and _fixture_phase(element) is None
    if phases <= {"teardown"} and is_test:  # a test whose teardown breaks has had its own outcome before
        found.append(_kind_of_skip(skipped) if skipped is not None else "passed")
    is_module = skipped is not None and skipped.message == "collection skipped"
    return (*found, "collected") if is_test and not is_module else tuple(found)


def _kind_of_skip(result: Any) -> str:
    message = result.message or ""
    if "passes unexpectedly" in message:
        return "xpassed"
    is_expected = (result.type or "").lower() in ("pytest.xfail", "xfail") or message.startswith(
        ("expected test failure", "expected failure")
    )
    return "xfailed" if is_expected else "skipped"


_FAILED_IMPORT = "unittest.loader._FailedTest"
_PHASES: tuple[tuple[str, Phase], ...] = (
    ("failed on setup", "setup"),
    ("test setup failure", "setup"),
    ("failed on teardown", "teardown"),
    ("test teardown failure", "teardown"),
    ("collection failure", "collect"),
)
_CLASS_FIXTURE = re.compile(r"(?P<when>setUp|tearDown)(?:Class|Module) \((?P<dotted>[\w.]{1,500})\)\Z")
_NUMBER = re.compile(r"(?:\d{1,9}(?:\.0{0,6})?)?", re.ASCII)


def _failure(element: Element, suite: _Suite, words: tuple[str, str, str], root: str) -> Failure:
    """One result that is wrong. ``words`` are its text, its message and its type."""
    classname, name, file = (
        sanitize(element.get(key, ""))[:_MAX_NAME] for key in ("classname", "name", "file")
    )
    is_pytest = suite.is_pytest or (not words[2] and _OF_PYTEST.search(words[0]) is not None)
    message, raised = _read_result(*words, root, name=name, is_pytest=is_pytest)
    phase = _phase(element, words[1], is_pytest=is_pytest)
    is_python = is_pytest or file.endswith(".py") or HEADER in words[0]
    is_python = is_python or words[2].startswith(("testtools.", "unittest."))
    nodeid, place, subtest = "", "", ""
    if phase == "session":
        pass
    elif is_python:
        nodeid, place, subtest = _python_test(classname, name, file, raised, root)
    else:
        nodeid, place = _other_test(classname, name, file or sanitize(suite.file), root)
    line = element.get("line", "") if project_path(file, root) else ""
    # pytest counts from 0.
    number = int(line) + is_pytest if line.isascii() and line.isdecimal() and len(line) < 9 else 0
    sections = tuple(_sections(element))
    if not is_python and words[0].strip():
        sections += (("stack", sanitize(words[0])),)
    return Failure(
        nodeid=nodeid,
        phase=phase,
        message=message,
        file=place,
        line=number,
        subtest=subtest,
        raised=raised,
        sections=bounded_sections(sections),
    )


def _phase(element: Element, message: str, *, is_pytest: bool) -> Phase:
    classname, name = element.get("classname", ""), element.get("name", "")
    if is_pytest and (classname, name, message) == ("pytest", "internal", "internal error"):
        return "session"
    if classname.startswith(_FAILED_IMPORT):
        return "collect"
    named = next((phase for start, phase in _PHASES if message.startswith(start)), None)
    return named or _fixture_phase(element) or "call"


def _fixture_phase(element: Element) -> Phase | None:
    """The phase of an element that is not a test, but a fixture of several."""
    name = element.get("name", "")[:_MAX_NAME]
    if fixture := _class_fixture(element.get("classname", ""), name):
        return "setup" if fixture["when"] == "setUp" else "teardown"
    return None


def _class_fixture(classname: str, name: str) -> re.Match[str] | None:
    # nose2 parts "setUpClass (a.b.C)" at its last dot
    return _CLASS_FIXTURE.match(name) or _CLASS_FIXTURE.match(f"{classname}.{name}")


_OUTPUTS = ("system-out", "system-err")
_PYTEST_OUTPUTS = {"Log": "Captured log", "Out": "Captured stdout", "Err": "Captured stderr"}
_CAPTURED = re.compile(r"^-{1,80}+ Captured (?P<what>Log|Out|Err) -{1,80}\n", re.MULTILINE)


def _sections(element: Element) -> Iterator[tuple[str, str]]:
    """Output that the case has captured, without that of reruns; pytest puts up to three kinds into one element."""
    for child in element:
        text = child.text or ""
        parts = _CAPTURED.split(text)
        if child.tag not in _OUTPUTS or not text.strip():
            continue
        if parts[0]:
            yield child.tag, text
            continue
        for what, part in zip(parts[1::2], parts[2::2], strict=True):
            if part.strip():
                yield _PYTEST_OUTPUTS[what], part.rstrip("\n") + "\n"


# --- the id of a test
#
# pytest writes ``tests/test_a.py::TestX::test_y`` as class name ``tests.test_a.TestX`` and name ``test_y``.
# The end of the module is found by, in this order: the ``file`` attribute (junit_family ``xunit1``,
# unittest-xml-reporting); a file in the traceback whose dotted path the class name begins with; the last part that
# is named like a test module (``test_…``, ``…_test``). Else the parts at the end that begin with a capital are classes.

_MAX_FOLDERS = 40
_TEST_MODULE = re.compile(r"test_\w{0,200}|\w{1,200}_test|conftest", re.ASCII)
_EXTENSIONS = ("txt", "rst", "md", "ipynb", "yaml", "yml", "feature")


def test_of_case(key: str, root: str) -> str:
    """The node id of a test of pytest that did not fail, by the key of its case."""
    file, classname, name = map(sanitize, key.split("\0")[:3])
    return _python_test(classname, name, file, None, root)[0]


def _python_test(
    classname: str, name: str, file: str, raised: Raised | None, root: str
) -> tuple[str, str, str]:
    """The node id of a test in Python, its file, and its subtest."""
    test, _, subtest = name.partition(" ")
    is_subtest = test.isidentifier() and subtest[:1] in ("[", "(") and subtest[-1:] in ("]", ")")
    name, subtest = (test, subtest) if is_subtest else (name, "")
    if fixture := _class_fixture(classname, f"{name} {subtest}".rstrip()):
        classname, name, subtest = fixture["dotted"], "", ""
    if classname.startswith(_FAILED_IMPORT):
        classname, name, file = f"{classname}.{name}".removeprefix(f"{_FAILED_IMPORT}."), "", ""
    if not classname:
        classname, name = name, ""
    own = project_path(file, root) or ""
    module, classes = _split(classname, own, raised)
    return (
        "::".join([module, *filter(None, classes.split(".")), *([name] if name else [])]),
        own or module,
        subtest,
    )


def _other_test(classname: str, name: str, file: str, root: str) -> tuple[str, str]:
    """What to call a test of another language: its file or class if it has one, then its name; and its file."""
    own = project_path(file, root) or ""
    parts = [own, classname if classname not in name else "", name]
    return "::".join(part for part in parts if part), own


def _split(dotted: str, own: str, raised: Raised | None) -> tuple[str, str]:
    """The file of the module, and the classes inside it, with dots."""
    files = [own] if own else []
    files += dict.fromkeys(frame.file for frame in raised.frames) if raised is not None else []
    if found := next(filter(None, (_matched(dotted, file) for file in files)), None):
        return found
    parts = dotted.split(".")
    if own and all(part[:1].isupper() for part in parts):
        return own, dotted
    if len(parts) > 1 and parts[-1] in _EXTENSIONS:
        return f"{'/'.join(parts[:-1])}.{parts[-1]}", ""
    modules = [at for at, part in enumerate(parts) if _TEST_MODULE.fullmatch(part)]
    end = modules[-1] + 1 if modules else len(parts)
    while not modules and end > 1 and parts[end - 1][:1].isupper():
        end -= 1
    return "/".join(parts[:end]) + ".py", ".".join(parts[end:])


def _matched(dotted: str, file: str) -> tuple[str, str] | None:
    """The file as it counts from pytest's root, if the class name is about it, and the classes, with dots."""
    extension = ".py" if file.endswith(".py") else ""
    folders = file.removesuffix(".py").split("/")[-_MAX_FOLDERS:]
    for start in range(len(folders)):
        path = ".".join(folders[start:])
        if f"{dotted}.".startswith(f"{path}."):
            return "/".join(folders[start:]) + extension, dotted[len(path) + 1 :]
    # behind other parts: --junitprefix, or the folder that pytest was started in
    before, found, classes = f".{dotted}.".partition(f".{'.'.join(folders)}.")
    if not found:
        return None
    above = f"{before[1:].replace('.', '/')}/" if len(folders) == 1 else ""
    return above + file, classes[:-1]


# --- the exception in the text of a ``failure`` or ``error`` element

# Where pytest's representation of a failure names a place, and how it begins the lines with the exception.
_OF_PYTEST = re.compile(
    r"^(?:E   |[^\s:\"'][^:\n\"']{0,500}+:\d{1,9}: (?:in \S|[A-Z]\w{0,100}$))", re.MULTILINE
)
# pytest strips the whole, and with it the margin of the first line.
_STRIPPED = (("+ Exception Group ", "  "), ("def ", "    "), ("async def ", "    "), ("@", "    "))
_FIXTURE = re.compile(r"failed on (?:setup|teardown) with \"(?P<words>.*?)\"?\Z", re.DOTALL)
_CUT = "; full report in element text]"
_FORMULAS = (
    *("", "test failure", "test setup failure", "test teardown failure"),
    *("collection failure", "internal error"),
)


def _read_result(
    text: str, message: str, type_name: str, root: str, *, name: str = "", is_pytest: bool = False
) -> tuple[str, Raised | None]:
    """The message and the exception of one result.

    :param text: the text inside the element; ``message`` and ``type_name`` are its attributes.
    :param name: the test's.
    """
    text, message, type_name = sanitize(text), sanitize(message), sanitize(type_name)[:1000]
    found = _FIXTURE.match(message)
    words = found["words"] if found else message
    words = "" if words in _FORMULAS or words.endswith(_CUT) else words  # the text has more
    if is_pytest:
        raised = _of_pytest(text, words, name, root)
    elif HEADER in text:
        raised = raised_in(text.replace("\n}}}\n", "\n\n"), root)  # subunit's brackets
    else:
        raised = _foreign_raised(text, words, type_name)
    said = raised.message if raised is not None else words or text.strip()
    said = clean(said, MAX_MESSAGE)
    raised = replace(raised, message=said) if raised is not None else None
    return said if said or raised is not None else "failed without a message", raised


def _of_pytest(text: str, words: str, name: str, root: str) -> Raised | None:
    margin = next((margin for start, margin in _STRIPPED if text.startswith(start)), "")
    body = f"\n{margin}{text}\n"
    if fixture := missing_fixture(body):
        return fixture[0]
    raised = read_doctest(body, name, root) or read_traceback(body, root)
    quoted = raised_from_words(words, root)
    if raised is None or quoted is None:
        return raised or quoted
    # A native traceback does not show the end of a message of several lines, style line not its margin.
    is_same = quoted.type == raised.type
    return replace(raised, message=_fuller(raised.message, quoted.message)) if is_same else raised


def _fuller(message: str, longer: str) -> str:
    """The second text if it begins with the first, which may have lost its line breaks; else the first."""
    return longer if " ".join(longer.split()).startswith(" ".join(message.split())) else message


# --- exceptions of runners in other languages than Python


def _foreign_raised(text: str, message: str, type_name: str) -> Raised | None:
    """The exception that an element names by its type; None if it names none."""
    module, _, short = type_name.rpartition(".")
    return Raised(type=short, module=module, message=message or text.strip()) if short else None
