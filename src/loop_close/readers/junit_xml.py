"""JUnit XML, as pytest and many other runners write it, to failures and counts.

junitparser reads the results of a case in the many dialects. Elements below ``rerunFailure``, ``flakyFailure`` and the
like (Maven Surefire) are not results: a flaky test has passed, and reruns repeat a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase, Raised
from loop_close.readers import once, project_path
from loop_close.readers.logs import MAX_XML, failures_in
from loop_close.readers.printed import HEADER, raised_in
from loop_close.readers.pytest_output.tracebacks import (
    missing_fixture,
    raised_from_words,
    read_doctest,
    read_traceback,
)
from loop_close.records import Record
from loop_close.text import MAX_MESSAGE, decoded, sanitize
from loop_close.text.redact import clean

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


__all__ = ["JunitReading", "merge_junit", "read_junit", "test_of_case"]

_MAX_FAILURES = 20_000
_MAX_RESULTS = 100
_MAX_NAME = 2_000
_MAX_DEPTH = 200
_MAX_MISSING = 5
# Of two outcomes of a test in several files the first of these counts.
_RANKS = ("failed", "errors", "xpassed", "passed", "xfailed", "skipped", "collected")


class JunitReading(Record, frozen=True, kw_only=True):
    """What one file says, or several together.

    :ivar failures: in the order of the file, none twice.
    :ivar problems: what is wrong with the file, each beginning with its name and, where known, line and column.
    :ivar cases: the outcomes of each test, by a key that is equal for a test in any file.
    :ivar is_pytest: every case was written by pytest, so that the node ids can be given to it as arguments.
    """

    failures: tuple[Failure, ...] = ()
    problems: tuple[str, ...] = ()
    cases: Mapping[str, tuple[str, ...]] = {}
    is_pytest: bool = False

    @property
    def incomplete(self) -> str:
        """Why this is less than a whole run; empty if it is whole."""
        return "; ".join(self.problems)

    @property
    def counts(self) -> Counts:
        """The tests by outcome."""
        return Counts(**Counter(chain.from_iterable(self.cases.values())))


def read_junit(name: str, chunks: Iterable[bytes], root: str = "") -> JunitReading:
    """Read one file.

    A test that is several times in one ``testsuite`` was run again (pytest-rerunfailures, gotestsum, Gradle).
    If the last run passed, the test has passed. If it failed again, it fails once a phase: pytest writes the error
    of a teardown as another element. In another suite of the file it is another test.

    :param name: what to call the file in problems.
    :param chunks: its bytes, in pieces of any size; what they raise is passed on.
    :param root: the project's root, empty if it is unknown.
    """
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > MAX_XML:
            fault = f"{name}: XML of more than {MAX_XML // 1_000_000} MB is not read"
            return JunitReading(problems=(fault,))
    document, fault = _parsed(_text_of(bytes(data)))
    cases = _Cases(root)
    if document is not None:
        cases.add_suite(document)
    problems = [f"{name}: {each}" for each in cases.missing[:_MAX_MISSING]] + [f"{name}{fault}"] * bool(fault)
    return JunitReading(
        failures=once(islice(chain.from_iterable(cases.failures.values()), _MAX_FAILURES)),
        problems=tuple(problems),
        cases=cases.outcomes,
        is_pytest=bool(cases.outcomes) and cases.is_pytest,
    )


def merge_junit(readings: Iterable[JunitReading]) -> JunitReading:
    """Several files as one, such as the shards of one run.

    A test that failed in any of them has failed, whatever it did in the others: shards are runs of their own, and
    which was later is not known. It fails once a phase, and counts have it once.
    """
    readings = list(readings)
    cases: dict[str, tuple[str, ...]] = {}
    for key, outcomes in chain.from_iterable(reading.cases.items() for reading in readings):
        cases[key] = min(cases.get(key, outcomes), outcomes, key=_rank)
    return JunitReading(
        failures=once(failure for reading in readings for failure in reading.failures),
        problems=tuple(problem for reading in readings for problem in reading.problems),
        cases=cases,
        is_pytest=bool(cases) and all(reading.is_pytest for reading in readings if reading.cases),
    )


def _rank(outcomes: tuple[str, ...]) -> int:
    return min(map(_RANKS.index, outcomes), default=len(_RANKS))


# --- the bytes of a file as elements

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:(?P<decimal>\d{1,9})|x(?P<hexadecimal>[0-9A-Fa-f]{1,7}));")
_PROLOG = re.compile(r"(?>(?:\s|<\?[^>]{0,1000}\?>|<!--(?>(?:(?!-->).)*)-->)*)", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]{1,100}:)?testsuites?\b")


def _text_of(data: bytes) -> str:
    """The text, with characters that XML forbids spelled ``#x1B`` as pytest does."""
    text = _FORBIDDEN.sub(lambda found: f"#x{ord(found[0]):02X}", decoded(data))
    return _REFERENCE.sub(_allowed, text)


def _allowed(reference: re.Match[str]) -> str:
    """A reference such as ``&#27;`` or ``&#x1b;`` as it is, or as forbidden characters are spelled."""
    number = int(reference["decimal"] or "0") or int(reference["hexadecimal"] or "0", 16)
    is_allowed = number <= 0x10FFFF and not _FORBIDDEN.match(chr(number))
    return reference[0] if is_allowed else f"#x{number:02X}"


def _parsed(text: str) -> tuple[Element | None, str]:
    """The root with what can be read before the first fault, and the fault; empty while all is well.

    A declaration of a document type or of entities is refused.
    """
    from xml.etree.ElementTree import ParseError, XMLPullParser

    prolog = _PROLOG.match(text)
    start = prolog.end() if prolog is not None else 0
    if not text[start:]:
        return None, ": empty"
    if text.startswith("<!", start):
        return None, ": a document type or entity declaration, which no test results need; refused"
    if not _ROOT.match(text, start):
        return None, ": it does not begin with <testsuites> or <testsuite>"
    parser: Any = XMLPullParser(["start", "end"])
    parser.feed(re.sub(r"[^\n]", " ", text[:start]) + text[start:])
    root, fault = None, ""
    within: list[Element] = []
    try:
        for event, element in chain(parser.read_events(), _last(parser)):
            if event == "end":
                within.pop()
                continue
            root = element if root is None else root
            element.tag = element.tag.rpartition("}")[2]
            within.append(element)
            if len(within) > _MAX_DEPTH:
                fault = f": elements nested more than {_MAX_DEPTH} deep"
                element.clear()  # of what is in it, some may have been read
                break
    except ParseError as error:
        line, column = error.position
        fault = f":{line}:{column + 1}: {str(error).partition(':')[0]}; the cases before it were read"
    for element in within:
        if element.tag == "testcase":  # not read to its end
            element.clear()
            element.tag = ""
    return root, fault


def _last(parser: Any) -> Iterator[tuple[str, Element]]:
    """What is left at the end of a document, or its fault."""
    parser.close()
    yield from parser.read_events()


# --- suites and cases

_FAILED = ("failed", "failure", "fail", "error", "errored", "broken", "timedout")
_OUTPUTS = ("system-out", "system-err")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


class _Cases:
    """The cases of one document, put together as they come.

    :ivar outcomes: of each test, by its key: fields of :class:`~loop_close.model.Counts` that it adds one to.
    :ivar missing: what the document says that it has, and does not list.
    """

    def __init__(self, root: str) -> None:
        self.outcomes: dict[str, tuple[str, ...]] = {}
        self.failures: dict[str, tuple[Failure, ...]] = {}
        self.missing: list[str] = []
        self.is_pytest = True
        self._root = root
        self._suites: dict[str, tuple[Element, int]] = {}  # the last with each test, and how many before it

    def add_suite(self, suite: Element, is_pytest: bool = False) -> tuple[int, bool]:
        """Take in a suite with all that is in it; how many cases that were, and whether it failed.

        Failures that it counts, and none of which it lists, are failures of the suite.

        :param is_pytest: pytest wrote it, which counts subtests among its tests and lists none of those that pass.
        """
        name = suite.get("name", "")
        is_pytest = is_pytest or name.partition(" ")[0] == "pytest"
        cases, has_failing = 0, False
        for child in suite:
            if child.tag == "testcase":
                number, is_failing = 1, self._add_case(child, suite, is_pytest)
            elif child.tag in ("failure", "error", *_OUTPUTS):
                number, is_failing = 0, self._add_own(child, suite)
            else:
                number, is_failing = self.add_suite(child, is_pytest)
            cases, has_failing = cases + number, has_failing or is_failing
        said = (_NUMBER.match(suite.get(key, "").strip()) for key in ("tests", "failures", "errors"))
        tests, failures, errors = (int(found[0]) if found else 0 for found in said)
        says = f"suite {name[:100]!r} says that it has"
        if failures + errors and not has_failing:
            message = f"{says} {failures + errors} failures, and lists none"
            failure = Failure(nodeid="", phase="call", message=message, number=failures + errors)
            self._add("", suite, ("failed",) * min(failures + errors, _MAX_FAILURES), [failure])
            return cases, True
        if tests > cases and not (has_failing or is_pytest):
            self.missing.append(f"{says} {tests} tests, and lists {cases}")
        return cases, has_failing

    def _add_own(self, element: Element, suite: Element) -> bool:
        """What a suite itself failed with; a failing summary in its output."""
        failures: Sequence[Failure] = ()
        if element.tag not in _OUTPUTS:
            words = element.text or "", element.get("message", ""), element.get("type", "")
            message, raised = _read_result(*words, self._root)
            failures = [Failure(nodeid="", phase="setup", message=message, raised=raised)]
        elif element.text:
            failures = failures_in(element.text, self._root)
        if failures:
            self._add("", suite, ("errors",) * len(failures), failures)
        return bool(failures)

    def _add_case(self, element: Element, suite: Element, is_pytest: bool) -> bool:
        import junitparser

        case: Any = junitparser.TestCase.fromelem(element)  # type: ignore[no-untyped-call]
        results = case.result[:_MAX_RESULTS] if len(element) else []
        wrong = [(r.text or "", r.message or "", r.type or "") for r in results if r._tag != "skipped"]
        said = {element.get(name, "").lower() for name in ("status", "result")}.intersection(_FAILED)
        if said and not results:
            wrong = [("", f"its status is {min(said)}, and nothing says why", "")]
        is_pytest = is_pytest or any(not kind and _OF_PYTEST.search(text) for text, _, kind in wrong)
        self.is_pytest = self.is_pytest and is_pytest
        failures = [_failure(element, suite, words, self._root, is_pytest) for words in wrong]
        outcomes = _outcomes(element, results, {failure.phase for failure in failures})
        key = "\0".join(element.get(name, "")[:1000] for name in ("file", "classname", "name"))
        self._add(key, suite, outcomes, failures)
        return bool(failures)

    def _add(self, key: str, suite: Element, outcomes: tuple[str, ...], failures: Sequence[Failure]) -> None:
        """Take results in; what was said of the same test in the same suite before gives way to them.

        :param key: of the test; empty for what is said of the suite.
        """
        self.is_pytest = self.is_pytest and key != ""
        key = key if key.strip("\0") else f"\0\0\0{len(self.outcomes)}"
        last, number = self._suites.get(key, (suite, 0))
        number += last is not suite
        self._suites[key] = suite, number
        key = f"{key}\0{number}" if number else key
        before, earlier = self.outcomes.pop(key, ()), self.failures.pop(key, ())
        if failures and earlier:
            both = {*before, *outcomes}
            outcomes = tuple(name for name in ("failed", "errors", "collected") if name in both)
            failures = [*earlier, *failures]
        self.outcomes[key] = outcomes
        if failures:
            self.failures[key] = tuple(failures)


def _outcomes(element: Element, results: Sequence[Any], phases: set[Phase]) -> tuple[str, ...]:
    if not results and not phases:
        is_off = element.get("status", "") in ("disabled", "notrun")  # CTest, GoogleTest
        return "skipped" if is_off else "passed", "collected"
    found = ["failed"] * ("call" in phases) + ["errors"] * len(phases - {"call"})
    skipped = next((result for result in results if result._tag == "skipped"), None)
    is_test = phases.isdisjoint(("collect", "session"))
    if phases <= {"teardown"}:  # a test whose teardown breaks has had its own outcome before
        found.append(_kind_of_skip(skipped) if skipped is not None else "passed")
    is_module = skipped is not None and skipped.message == "collection skipped"
    return (*found, "collected") if is_test and not is_module else tuple(found)


def _kind_of_skip(result: Any) -> str:
    message = result.message or ""
    if "passes unexpectedly" in message:
        return "xpassed"
    is_expected = (result.type or "").lower() in ("pytest.xfail", "xfail")
    is_expected = is_expected or message.startswith(("expected test failure", "expected failure"))
    return "xfailed" if is_expected else "skipped"


_PHASES: tuple[tuple[str, Phase], ...] = (
    ("failed on setup", "setup"),
    ("failed on teardown", "teardown"),
    ("collection failure", "collect"),
)


def _failure(
    element: Element, suite: Element, words: tuple[str, str, str], root: str, is_pytest: bool
) -> Failure:
    """One result that is wrong. ``words`` are its text, its message and its type."""
    said = words[1]
    classname, name, file = (
        sanitize(element.get(key, ""))[:_MAX_NAME] for key in ("classname", "name", "file")
    )
    message, raised = _read_result(*words, root, name=name, is_pytest=is_pytest)
    phase: Phase = next((phase for start, phase in _PHASES if said.startswith(start)), "call")
    nodeid, place = "", ""
    if is_pytest and (classname, name, said) == ("pytest", "internal", "internal error"):
        phase = "session"
    elif is_pytest:
        nodeid, place = _python_test(classname, name, file, raised, root)
    else:
        place = project_path(file or sanitize(suite.get("file", ""))[:_MAX_NAME], root)
        nodeid = "::".join(filter(None, [place, classname if classname not in name else "", name]))
    line = element.get("line", "") if project_path(file, root) else ""
    return Failure(
        nodeid=nodeid,
        phase=phase,
        message=message,
        file=place,
        line=int(line) + is_pytest if _NUMBER.fullmatch(line) else 0,  # pytest counts from 0
        raised=raised,
    )


# --- the id of a test
#
# pytest writes ``tests/test_a.py::TestX::test_y`` as class name ``tests.test_a.TestX`` and name ``test_y``.
# The end of the module is found by, in this order: the ``file`` attribute (junit_family ``xunit1``); a file in the
# traceback whose dotted path the class name begins with; the last part that is named like a test module (``test_…``,
# ``…_test``). Else the parts at the end that begin with a capital are classes.

_MAX_FOLDERS = 40
_TEST_MODULE = re.compile(r"test_\w{0,200}|\w{1,200}_test|conftest", re.ASCII)
_EXTENSIONS = ("txt", "rst", "md", "ipynb", "yaml", "yml", "feature")


def test_of_case(key: str, root: str) -> str:
    """The node id of a test of pytest that did not fail, by the key of its case."""
    file, classname, name = map(sanitize, key.split("\0")[:3])
    return _python_test(classname, name, file, None, root)[0]


def _python_test(classname: str, name: str, file: str, raised: Raised | None, root: str) -> tuple[str, str]:
    """The node id of a test of pytest, and its file."""
    if not classname:
        classname, name = name, ""
    own = project_path(file, root)
    module, classes = _split(classname, own, raised)
    return "::".join(filter(None, [module, *classes.split("."), name])), own or module


def _split(dotted: str, own: str, raised: Raised | None) -> tuple[str, str]:
    """The file of the module, and the classes inside it, with dots."""
    files = [own] if own else []
    files += dict.fromkeys(frame.file for frame in raised.frames) if raised is not None else []
    if found := next(filter(None, (_matched(dotted, file) for file in files)), None):
        return found
    parts = dotted.split(".")
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
    behind = None
    for start in range(len(folders)):
        before, found, classes = f".{dotted}.".partition(f".{'.'.join(folders[start:])}.")
        if found and not before:
            return "/".join(folders[start:]) + extension, classes[:-1]
        if found and not start:  # behind other parts: --junitprefix, or the folder that pytest was started in
            above = f"{before[1:].replace('.', '/')}/" if len(folders) == 1 else ""
            behind = above + file, classes[:-1]
    return behind


# --- the exception in the text of a ``failure`` or ``error`` element

# Where pytest's representation of a failure names a place, and how it begins the lines with the exception.
_OF_PYTEST = re.compile(
    r"^(?:E   |[^\s:\"'][^:\n\"']{0,500}+:\d{1,9}: (?:in \S|[A-Z]\w{0,100}$))", re.MULTILINE
)
# pytest strips the whole, and with it the margin of the first line.
_STRIPPED = (("+ Exception Group ", "  "), ("def ", "    "), ("async def ", "    "), ("@", "    "))
_FIXTURE = re.compile(r"failed on (?:setup|teardown) with \"(?P<words>.*?)\"?\Z", re.DOTALL)
_CUT = "; full report in element text]"
_FORMULAS = ("", "test failure", "collection failure", "internal error")


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
    module, _, short = type_name.rpartition(".")
    if is_pytest:
        raised = _of_pytest(text, words, name, root)
    elif HEADER in text:
        raised = raised_in(text.replace("\n}}}\n", "\n\n"), root)  # subunit's brackets
    else:
        raised = Raised(type=short, module=module, message=words or text.strip()) if short else None
    if raised is None:
        return clean(words or text.strip(), MAX_MESSAGE) or "failed without a message", None
    said = clean(raised.message, MAX_MESSAGE)
    return said, replace(raised, message=said)


def _of_pytest(text: str, words: str, name: str, root: str) -> Raised | None:
    margin = next((margin for start, margin in _STRIPPED if text.startswith(start)), "")
    body = f"\n{margin}{text}\n"
    if fixture := missing_fixture(body):
        return fixture[0]
    raised = read_doctest(body, name, root) or read_traceback(body, root)
    quoted = raised_from_words(words, root)
    if raised is None or quoted is None:
        return raised or quoted
    # a native traceback does not show the end of a message of several lines, style line not its margin
    return replace(raised, message=quoted.message) if quoted.type == raised.type else raised
