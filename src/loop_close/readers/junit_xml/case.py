"""One test case of JUnit XML: the test that it is about, its outcome and its failures.

junitparser reads the results of a case in the many dialects. If lxml is installed, junitparser uses it for its own
elements, so no method is called that would pass our elements to lxml. Elements below ``rerunFailure``,
``flakyFailure`` and the like (Maven Surefire) are not results: a flaky test has passed, and reruns repeat a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from loop_close.conventions import is_test_file
from loop_close.facts import bounded
from loop_close.model import Failure, Frame, Phase, Raised
from loop_close.readers import project_path
from loop_close.readers.printed import HEADER, raised_in
from loop_close.readers.pytest_output.tracebacks import (
    missing_fixture,
    raised_from_words,
    read_doctest,
    read_traceback,
)
from loop_close.readers.pytest_reports import bounded_sections
from loop_close.text import MAX_MESSAGE, sanitize
from loop_close.text.redact import clean

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


_MAX_RESULTS = 100
_JEST_COLLECTION = "Test suite failed to run"
_FAILED = ("failed", "failure", "fail", "error", "errored", "broken", "timedout")
_OUTPUTS = ("system-out", "system-err")
_PYTEST_OUTPUTS = {"Log": "Captured log", "Out": "Captured stdout", "Err": "Captured stderr"}
_CAPTURED = re.compile(r"^-{1,80}+ Captured (?P<what>Log|Out|Err) -{1,80}\n", re.MULTILINE)
_PHASES: tuple[tuple[str, Phase], ...] = (
    ("failed on setup", "setup"),
    ("test setup failure", "setup"),
    ("failed on teardown", "teardown"),
    ("test teardown failure", "teardown"),
    ("collection failure", "collect"),
)
_MOCHA_HOOK = re.compile(r'"(?P<when>before|after) (?:all|each)" hook')


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


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseResult:
    """What one element says.

    :ivar key: equal for elements about one test, also in other files.
    :ivar outcomes: fields of :class:`~loop_close.model.Counts` that it adds one to.
    """

    key: str
    suite: int
    outcomes: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    is_pytest: bool = False


def read_case(element: Element, suite: SuiteElement, root: str) -> CaseResult:
    """What an element says; it is not changed."""
    import junitparser

    case: Any = junitparser.TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    results = case.result[:_MAX_RESULTS] if len(element) else []
    wrong = [result for result in results if result._tag in ("failure", "error")]
    is_pytest = suite.is_pytest
    failures = tuple(_failures(case, suite, wrong, is_pytest, root)) if wrong else ()
    status = element.get("status", "").lower()
    if not results and status in _FAILED:
        said = _read_result(
            "", f"its status is {status}, and nothing says why", "", root, name="", is_pytest=is_pytest
        )
        failures = (_failure(case, suite, said, _sections(case), root),)
    return CaseResult(
        key="\0".join(element.get(name, "")[:1000] for name in ("file", "classname", "name")),
        suite=suite.number,
        outcomes=_outcomes(case, results, {failure.phase for failure in failures}),
        failures=failures,
        is_pytest=is_pytest or any(is_of_pytest(result.text or "") for result in wrong),
    )


def _outcomes(case: Any, results: list[Any], phases: set[Phase]) -> tuple[str, ...]:
    if not results and not phases:
        is_off = case._elem.get("status", "") in ("disabled", "notrun")  # CTest, GoogleTest
        return "skipped" if is_off else "passed", "collected"
    found = ["failed"] if "call" in phases else []
    found += ["errors"] * len(phases - {"call"})
    skipped = next((result for result in results if result._tag == "skipped"), None)
    is_test = phases.isdisjoint(("collect", "session")) and _fixture_phase(case) is None
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


def _failures(
    case: Any, suite: SuiteElement, wrong: list[Any], is_pytest: bool, root: str
) -> Iterator[Failure]:
    sections = _sections(case)
    for result in wrong:
        words = result.text or "", result.message or "", result.type or ""
        said = _read_result(*words, root, name=case.name or "", is_pytest=is_pytest)
        yield _failure(case, suite, said, sections, root)


def _failure(
    case: Any, suite: SuiteElement, said: ResultElement, sections: tuple[tuple[str, str], ...], root: str
) -> Failure:
    phase = _phase(case, said)
    named = _named(case, suite, said, root) if phase != "session" else Named(nodeid="")
    return Failure(
        nodeid=named.nodeid,
        phase=phase,
        message=said.message,
        file=named.file,
        line=_line(case, said.is_pytest) if named.is_placed else 0,
        subtest=named.subtest,
        raised=said.raised,
        sections=bounded_sections((*sections, ("stack", said.text)) if said.has_unread_stack else sections),
    )


def _named(case: Any, suite: SuiteElement, said: ResultElement, root: str) -> Named:
    classname, name, file = (sanitize(case._elem.get(key, "")) for key in ("classname", "name", "file"))
    if said.is_pytest or file.endswith(".py") or _is_of_python(said.text, said.type):
        named = _python_test(classname, name, file, said.text, root, suite.prefix)
        suite.prefix = suite.prefix or named.prefix
        return named
    if classname == _JEST_COLLECTION:
        return _other_test("", "", name, root)
    return _other_test(classname, name, file or sanitize(suite.file), root)


def _line(case: Any, is_pytest: bool) -> int:
    value = case._elem.get("line", "")
    if not (value.isascii() and value.isdecimal() and len(value) < 9):
        return 0
    return int(value) + 1 if is_pytest else int(value)  # pytest counts from 0 there


def _phase(case: Any, said: ResultElement) -> Phase:
    classname, name = case.classname or "", case.name or ""
    if said.is_pytest and (classname, name, said.attribute) == ("pytest", "internal", "internal error"):
        return "session"
    if classname.startswith(_FAILED_IMPORT) or classname == _JEST_COLLECTION:
        return "collect"
    named = next((phase for start, phase in _PHASES if said.attribute.startswith(start)), None)
    return named or _fixture_phase(case) or "call"


def _fixture_phase(case: Any) -> Phase | None:
    """The phase of an element that is not a test, but a fixture of several."""
    if fixture := _class_fixture(case.classname or "", case.name or ""):
        return "setup" if fixture[0] == "setUp" else "teardown"
    if hook := _MOCHA_HOOK.search((case.name or "")[:2000]):
        return "setup" if hook["when"] == "before" else "teardown"
    return None


def _sections(case: Any) -> tuple[tuple[str, str], ...]:
    """Output that the case has captured; pytest puts up to three kinds into one element."""
    found: list[tuple[str, str]] = []
    for element in case._elem:  # not those of a rerun, which lie deeper
        if element.tag in _OUTPUTS and (element.text or "").strip():
            found += _parted(element.tag, element.text)
    return tuple(found)


def _parted(title: str, text: str) -> Iterator[tuple[str, str]]:
    heads = list(_CAPTURED.finditer(text))
    if not heads or heads[0].start():
        yield title, text
        return
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        if text[head.end() : end].strip():
            yield _PYTEST_OUTPUTS[head["what"]], text[head.end() : end].rstrip("\n") + "\n"


# --- pytest's node id
#
# pytest writes ``tests/test_a.py::TestX::test_y`` as class name ``tests.test_a.TestX`` and name ``test_y``.
# The end of the module is found by, in this order: the ``file`` attribute (junit_family ``xunit1``,
# unittest-xml-reporting); a file in the traceback whose dotted path the class name begins with; the last part that
# is named like a test module (``test_…``, ``…_test``). Else the parts at the end that begin with a capital are classes.

_MAX_FILES = 50
_MAX_FOLDERS = 40
_MAX_NAME = 2_000
_MENTIONED = re.compile(
    r"^(?P<place>[^\s:\"'][^:\n\"']{0,500}+):\d{1,9}:"
    r"|^[ |]{0,40}File \"(?P<file>[^\"\n]{1,500})\", line \d{1,9}"
    r"|test module '(?P<module>[^'\n]{1,500})'",
    re.MULTILINE,
)
_TEST_MODULE = re.compile(r"test_\w{0,200}|\w{1,200}_test|conftest", re.ASCII)
_EXTENSIONS = ("txt", "rst", "md", "ipynb", "yaml", "yml", "feature")
_CLASS_FIXTURE = re.compile(r"(?P<when>setUp|tearDown)(?:Class|Module) \((?P<dotted>[\w.]{1,500})\)\Z")
_FAILED_IMPORT = "unittest.loader._FailedTest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A test as its element names it.

    :ivar file: its path; empty if unknown.
    :ivar prefix: what the class name begins with that is not part of the path, with its dot.
    :ivar is_placed: the element says itself which file that is, so that its line counts in there.
    """

    nodeid: str
    file: str = ""
    subtest: str = ""
    prefix: str = ""
    is_placed: bool = False


def _python_test(classname: str, name: str, file: str, text: str, root: str, prefix: str = "") -> Named:
    """The node id of a test in Python.

    :param file: the ``file`` attribute.
    :param text: the traceback.
    :param prefix: the prefix of other cases in the suite.
    """
    subtest = ""
    if fixture := _class_fixture(classname, name):
        classname, name = fixture[1], ""
    else:
        name, subtest = _without_subtest(name[:_MAX_NAME])
    if classname.startswith(_FAILED_IMPORT):
        classname, name, file = f"{classname}.{name}".removeprefix(f"{_FAILED_IMPORT}."), "", ""
    if not classname:
        classname, name = name, ""
    own = project_path(file, root) or ""
    dotted = classname[:_MAX_NAME].removeprefix(prefix).split(".")
    module, classes = _split(dotted, own, text, root)
    nodeid = "::".join([module, *classes, *([name] if name else [])])
    found = _prefix(dotted, module, classes)
    return Named(
        nodeid=nodeid, file=own or module, subtest=subtest, prefix=found, is_placed=bool(own and name)
    )


def test_of_case(key: str, root: str) -> str:
    """The node id of a test of pytest that did not fail, by the key of its case."""
    file, classname, name = map(sanitize, key.split("\0")[:3])
    return _python_test(classname, name, file, "", root).nodeid


def _other_test(classname: str, name: str, file: str, root: str) -> Named:
    """What to call a test of another language: its file or class if it has one, then its name."""
    if not file and "/" in classname and "." in classname.rpartition("/")[2]:
        file, classname = classname, ""  # vitest
    own = project_path(file, root) or ""
    parts = [own, classname if classname not in name else "", name]
    return Named(nodeid="::".join(part[:_MAX_NAME] for part in parts if part), file=own, is_placed=bool(own))


def _class_fixture(classname: str, name: str) -> tuple[str, str] | None:
    """``setUp`` or ``tearDown``, and the class, of an element that unittest's runners write for a class's fixture."""
    # nose2 parts "setUpClass (a.b.C)" at its last dot
    found = _CLASS_FIXTURE.match(name) or _CLASS_FIXTURE.match(f"{classname}.{name}")
    return (found["when"], found["dotted"]) if found else None


def _without_subtest(name: str) -> tuple[str, str]:
    """Runners of unittest write ``test_x [message] (name=value)`` for a subtest."""
    test, _, rest = name.partition(" ")
    is_subtest = test.isidentifier() and rest[:1] in ("[", "(") and rest[-1:] in ("]", ")")
    return (test, rest) if is_subtest else (name, "")


def _split(dotted: Sequence[str], own: str, text: str, root: str) -> tuple[str, Sequence[str]]:
    """The file of the module, and the classes inside it."""
    for file in [own] if own else []:
        if found := _matched(dotted, file):
            return found
    matches = (_matched(dotted, file) for file in _files(text, root))
    best = max((m for m in matches if m is not None), key=lambda m: len(m[0]), default=None)
    return best or _by_convention(dotted)


def _files(text: str, root: str) -> Iterator[str]:
    """The files that a traceback names, each once."""
    seen: dict[str, None] = {}
    for found in _MENTIONED.finditer(text):
        path = project_path(found["place"] or found["file"] or found["module"], root)
        if path and path not in seen and len(seen) < _MAX_FILES:
            seen[path] = None
            yield path


def _matched(dotted: Sequence[str], file: str) -> tuple[str, Sequence[str]] | None:
    """The file as it counts from pytest's root, if the class name is about it, and the classes."""
    folders = file.removesuffix(".py").split("/")
    if len(folders) > _MAX_FOLDERS:
        return None
    parts = [part.split(".") for part in folders]
    for start in range(len(folders)):
        path = list(chain.from_iterable(parts[start:]))
        if list(dotted[: len(path)]) == path:
            return _joined(folders[start:], file), dotted[len(path) :]
    return _after_prefix(dotted, file, folders, list(chain.from_iterable(parts)))


def _after_prefix(
    dotted: Sequence[str], file: str, folders: list[str], path: list[str]
) -> tuple[str, Sequence[str]] | None:
    """The same behind other parts: ``--junitprefix``, or the folder that pytest was started in."""
    for at in range(1, len(dotted) - len(path) + 1):
        if list(dotted[at : at + len(path)]) == path:
            # A lone file name has no folder because pytest was started in it.
            above = [] if len(folders) > 1 else list(dotted[:at])
            return _joined([*above, *folders], file), dotted[at + len(path) :]
    return None


def _prefix(dotted: Sequence[str], module: str, classes: Sequence[str]) -> str:
    """The parts of a class name that are neither of the path nor classes, with a dot."""
    path = module.removesuffix(".py").replace("/", ".").split(".")
    return "".join(f"{part}." for part in dotted[: max(len(dotted) - len(path) - len(classes), 0)])


def _joined(folders: Sequence[str], file: str) -> str:
    return "/".join(folders) + (".py" if file.endswith(".py") else "")


def _by_convention(dotted: Sequence[str]) -> tuple[str, Sequence[str]]:
    if len(dotted) > 1 and dotted[-1] in _EXTENSIONS:
        return f"{'/'.join(dotted[:-1])}.{dotted[-1]}", ()
    modules = [at for at, part in enumerate(dotted) if _TEST_MODULE.fullmatch(part)]
    end = modules[-1] + 1 if modules else len(dotted)
    while not modules and end > 1 and dotted[end - 1][:1].isupper():
        end -= 1
    return "/".join(dotted[:end]) + ".py", dotted[end:]


# --- the exception in the text of a ``failure`` or ``error`` element

_STACK = re.compile(r"^\s{1,12}(?:at|\u276f) ", re.MULTILINE)
# Where pytest's representation of a failure names a place, and how it begins the lines with the exception.
_OF_PYTEST = re.compile(
    r"^(?:E   |[^\s:\"'][^:\n\"']{0,500}+:\d{1,9}: (?:in \S|[A-Z]\w{0,100}$))", re.MULTILINE
)
# pytest strips the whole, and with it the margin of the first line.
_STRIPPED = (("+ Exception Group ", "  "), ("def ", "    "), ("async def ", "    "), ("@", "    "))
_FIXTURE = re.compile(r"failed on (?:setup|teardown) with \"(?P<words>.*?)\"?\Z", re.DOTALL)
_CUT = "; full report in element text]"
_FORMULAS = (
    "",
    "test failure",
    "test setup failure",
    "test teardown failure",
    "collection failure",
    "internal error",
)
_NO_MESSAGE = "failed without a message"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultElement:
    """What a result element says.

    :ivar attribute: its ``message`` attribute, unchanged.
    :ivar has_unread_stack: the text has a stack that no frames could be read from.
    """

    message: str
    raised: Raised | None
    text: str
    attribute: str
    type: str
    is_pytest: bool = False
    has_unread_stack: bool = False


def _read_result(
    text: str, message: str, type_name: str, root: str, *, name: str, is_pytest: bool
) -> ResultElement:
    """Read one result.

    :param text: the text inside the element; ``message`` and ``type_name`` are its attributes.
    :param name: the test's.
    :param is_pytest: its suite is one of pytest.
    """
    text, message, type_name = sanitize(text), sanitize(message), sanitize(type_name)[:1000]
    is_pytest = is_pytest or (is_of_pytest(text) and not type_name)
    words = _words(message)
    raised = _of_pytest(text, words, name, root) if is_pytest else _of_others(text, words, type_name, root)
    if raised is not None:
        raised = replace(raised, message=clean(raised.message, MAX_MESSAGE))
    return ResultElement(
        message=raised.message
        if raised is not None
        else clean(words or text.strip(), MAX_MESSAGE) or _NO_MESSAGE,
        raised=raised,
        text=text,
        attribute=message,
        type=type_name,
        is_pytest=is_pytest,
        has_unread_stack=raised is not None and not raised.frames and _STACK.search(text) is not None,
    )


def is_of_pytest(text: str) -> bool:
    """Whether a text is pytest's representation of a failure."""
    return _OF_PYTEST.search(text) is not None


def _is_of_python(text: str, type_name: str) -> bool:
    """Whether a result was written by a runner of tests in Python."""
    return HEADER in text or type_name.startswith(("testtools.", "unittest."))


def _words(message: str) -> str:
    """What the attribute quotes; empty if it is a formula, or was cut and the text has more."""
    found = _FIXTURE.match(message)
    words = found["words"] if found else message
    return "" if words in _FORMULAS or words.endswith(_CUT) else words


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
    is_more = quoted.type == raised.type and _folded(quoted.message).startswith(_folded(raised.message))
    return replace(raised, message=quoted.message) if is_more else raised


def _folded(text: str) -> str:
    return " ".join(text.split())


def _of_others(text: str, words: str, type_name: str, root: str) -> Raised | None:
    if HEADER in text:
        return raised_in(text.replace("\n}}}\n", "\n\n"), root)  # subunit's brackets
    return _foreign_raised(text, words, type_name, root)


# --- exceptions and stacks of runners in other languages than Python

_MAX_FRAMES = 400
# Node: "at Cart.first (src/cart.js:4:34)", "at mocha/cart.js:6:52"; vitest begins with an arrow.
_FOREIGN_FRAME = re.compile(
    r"^[ \t]{1,12}(?:at|\u276f) (?:async )?(?:(?P<function>[^\n(]{1,200}+)\()?"
    r"(?P<file>[^\s():]{1,500}+):(?P<line>\d{1,9}):\d{1,9}\)?$"
    r"|^[ \t]{1,12}\u276f (?P<named>[^\s():]{1,200}+) (?P<path>[^\s():]{1,500}+):(?P<at>\d{1,9}):\d{1,9}$",
    re.MULTILINE,
)
_FOREIGN_STACK = re.compile(r"^[ \t]{1,12}(?:at |\u276f )", re.MULTILINE)
_TYPED = re.compile(r"(?P<type>[A-Za-z_$][\w$.]{0,200}+)(?: \[\w{1,60}\])?: ?")
_LIBRARY = ("node_modules/", "node:")


def _foreign_raised(text: str, message: str, type_name: str, root: str) -> Raised | None:
    """The exception of a failure; None if its element says no more than that it failed.

    :param text: the text inside the element, sanitized.
    :param message: the ``message`` attribute, ``type_name`` the ``type`` attribute.
    """
    stack = _FOREIGN_STACK.search(text)
    said = (text[: stack.start()] if stack else text).strip()
    said = said.removeprefix("\u25cf Test suite failed to run").strip()  # jest
    typed = _TYPED.match(said)
    name = type_name or (typed["type"] if typed and typed["type"].endswith(("Error", "Exception")) else "")
    if not name and not stack:
        return None
    if typed and typed["type"].rpartition(".")[2] == name.rpartition(".")[2]:
        said = said[typed.end() :]
    module, _, short = name.rpartition(".")
    own = list(_frames(text, root))[::-1]
    return Raised(
        type=short or "Error",
        module=module,
        message=clean(_fuller(message.strip(), said), MAX_MESSAGE),
        frames=tuple(bounded(own)),
    )


def _fuller(message: str, said: str) -> str:
    """The text if it begins with the attribute, which has lost its line breaks; else the attribute."""
    return said if _folded(said).startswith(_folded(message)) else message


def _frames(text: str, root: str) -> Iterator[Frame]:
    """The frames in the project's files, innermost first as they are printed."""
    for number, found in enumerate(_FOREIGN_FRAME.finditer(text)):
        if number >= _MAX_FRAMES:
            return
        path = found["file"] or found["path"]
        file = None if any(part in path for part in _LIBRARY) else project_path(path, root)
        if file is not None:
            function = (found["function"] or found["named"] or "").strip()
            line = int(found["line"] or found["at"])
            yield Frame(file=file, line=line, function=function, is_test=_is_test(file))


def _is_test(file: str) -> bool:
    name = file.rpartition("/")[2]
    return is_test_file(file) or ".test." in name or ".spec." in name
