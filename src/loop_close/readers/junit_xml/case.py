"""One ``testcase`` element as what it says: the outcome of a test, and its failures.

The element goes through junitparser, which knows what the result of a case is in the many dialects. Two of its
ways matter here: it takes lxml for its own elements where that is installed, so nothing is asked of it that would
hand our elements to lxml; and what lies below ``rerunFailure``, ``flakyFailure`` and their like (Maven Surefire)
is no result to it, which is right: a flaky test has passed, and the reruns of a failed one only repeat it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loop_close.model import Failure, Phase
from loop_close.readers.junit_xml.handlers import Suite
from loop_close.readers.junit_xml.names import (
    Named,
    class_fixture,
    is_failed_import,
    other_test,
    python_test,
)
from loop_close.readers.junit_xml.said import Said, is_of_pytest, is_of_python, said_by
from loop_close.readers.pytest_reports import bounded_sections
from loop_close.text.sanitize import sanitize

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MAX_RESULTS = 100
_JEST_COLLECTION = "Test suite failed to run"
_FAILED = ("failed", "failure", "fail", "error", "errored", "broken", "timedout")
_OUTPUTS = {"system-out": "system-out", "system-err": "system-err"}
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What one element says.

    :ivar key: equal for elements about one test, also in other files.
    :ivar outcomes: fields of :class:`~loop_close.model.Counts` that it adds one to.
    """

    key: str
    suite: int
    outcomes: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    is_pytest: bool = False


def read_case(element: Element, suite: Suite, root: str) -> Case:
    """What an element says; it is not changed."""
    import junitparser

    case: Any = junitparser.TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    results = case.result[:_MAX_RESULTS] if len(element) else []
    wrong = [result for result in results if result._tag in ("failure", "error")]
    is_pytest = suite.is_pytest
    failures = tuple(_failures(case, suite, wrong, is_pytest, root)) if wrong else ()
    status = element.get("status", "").lower()
    if not results and status in _FAILED:
        said = said_by(
            "", f"its status is {status}, and nothing says why", "", root, name="", is_pytest=is_pytest
        )
        failures = (_failure(case, suite, said, _sections(case), root),)
    return Case(
        key=_key(element),
        suite=suite.number,
        outcomes=_outcomes(case, results, {failure.phase for failure in failures}),
        failures=failures,
        is_pytest=is_pytest or any(is_of_pytest(result.text or "") for result in wrong),
    )


def _key(element: Element) -> str:
    get = element.get
    return f"{get('file', '')[:1000]}\0{get('classname', '')[:1000]}\0{get('name', '')[:1000]}"


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


def _failures(case: Any, suite: Suite, wrong: list[Any], is_pytest: bool, root: str) -> Iterator[Failure]:
    sections = _sections(case)
    for result in wrong:
        words = result.text or "", result.message or "", result.type or ""
        said = said_by(*words, root, name=case.name or "", is_pytest=is_pytest)
        yield _failure(case, suite, said, sections, root)


def _failure(
    case: Any, suite: Suite, said: Said, sections: tuple[tuple[str, str], ...], root: str
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


def _named(case: Any, suite: Suite, said: Said, root: str) -> Named:
    classname, name, file = (sanitize(case._elem.get(key, "")) for key in ("classname", "name", "file"))
    if said.is_pytest or file.endswith(".py") or is_of_python(said.text, said.type):
        named = python_test(classname, name, file, said.text, root, suite.prefix)
        suite.prefix = suite.prefix or named.prefix
        return named
    if classname == _JEST_COLLECTION:
        return other_test("", "", name, root)
    return other_test(classname, name, file or sanitize(suite.file), root)


def _line(case: Any, is_pytest: bool) -> int:
    value = case._elem.get("line", "")
    if not (value.isascii() and value.isdecimal() and len(value) < 9):
        return 0
    return int(value) + 1 if is_pytest else int(value)  # pytest counts from 0 there


def _phase(case: Any, said: Said) -> Phase:
    classname, name = case.classname or "", case.name or ""
    if said.is_pytest and (classname, name, said.attribute) == ("pytest", "internal", "internal error"):
        return "session"
    if is_failed_import(classname) or classname == _JEST_COLLECTION:
        return "collect"
    told = next((phase for start, phase in _PHASES if said.attribute.startswith(start)), None)
    return told or _fixture_phase(case) or "call"


def _fixture_phase(case: Any) -> Phase | None:
    """The phase of an element that is no test, but a fixture of many."""
    if fixture := class_fixture(case.classname or "", case.name or ""):
        return "setup" if fixture[0] == "setUp" else "teardown"
    if hook := _MOCHA_HOOK.search((case.name or "")[:2000]):
        return "setup" if hook["when"] == "before" else "teardown"
    return None


def _sections(case: Any) -> tuple[tuple[str, str], ...]:
    """Output that the case has captured; pytest puts up to three kinds into one element."""
    found: list[tuple[str, str]] = []
    for element in case._elem:  # not those of a rerun, which lie deeper
        if element.tag in _OUTPUTS and (element.text or "").strip():
            found += _parted(_OUTPUTS[element.tag], element.text)
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
