"""JUnit XML: failing tests by source."""

from xml.etree import ElementTree

import junitparser
import pytest
from emit_harness import assert_valid, document
from msgspec.structs import replace
from records import failure, observed, raised

from loop_close.emit.formats import junit
from loop_close.emit.report import checked
from loop_close.judge import report_of
from loop_close.model import Counts, SourceResult
from loop_close.prompt.report_json import report_document

CLASS = "tests/shop/test_a.py::TestCart::test_total[a::b]"


def xml_of(found):
    text = junit(found)
    assert_valid("junit", text)
    return ElementTree.fromstring(text)


@pytest.mark.parametrize(
    ("nodeid", "classname", "name"),
    [
        (CLASS, "tests.shop.test_a.TestCart", "test_total[a::b]"),
        ("test_a.py::test_b", "test_a", "test_b"),
        ("test_a.py", "", "test_a.py"),
    ],
)
def test_a_test_is_named_as_pytest_names_it(nodeid, classname, name):
    (case,) = xml_of(document(failure(nodeid=nodeid))).iter("testcase")
    assert (case.get("classname"), case.get("name")) == (classname, name)


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        ("call", "failure"),
        ("setup", "error"),
        ("teardown", "error"),
        ("collect", "error"),
        ("session", "error"),
    ],
)
def test_failures_and_errors(phase, kind):
    (suite,) = xml_of(document(failure(raised("KeyError", "'eu'\nb"), phase=phase)))
    (child,) = suite.iter(kind)
    assert (child.get("type"), child.get("message")) == ("KeyError", "KeyError: 'eu'")
    assert child.text.endswith("KeyError: 'eu'\nb")
    numbers = {"failures": "0", "errors": "0", f"{kind}s": "1"}
    assert {key: suite.get(key) for key in numbers} == numbers


def test_a_test_that_fails_twice_is_one_case():
    found = document(failure(), failure(phase="teardown"))
    (case,) = xml_of(found).iter("testcase")
    assert sorted(child.tag for child in case) == ["error", "failure"]


def test_subtests_are_cases_of_their_own():
    found = document(failure(subtest="[n=1]"), failure(subtest="[n=2]"))
    names = sorted(case.get("name") for case in xml_of(found).iter("testcase"))
    assert [name.partition(" ")[2] for name in names] == ["[n=1]", "[n=2]"]


def test_tests_that_pass_are_counted():
    counts = Counts(passed=34, failed=1, skipped=2, xfailed=3, xpassed=1)
    found = document(failure(), counts=counts)
    root = xml_of(found)
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("41", "1", "5")
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("41", "1", "0")


def test_other_readers_of_junit_understand_it():
    found = document(
        failure(raised("KeyError", "]]> <b>\x00\x1b[31m")), failure(nodeid="t.py::b", phase="setup")
    )
    suites = junitparser.JUnitXml.fromstring(junit(found).encode())
    (suite,) = suites
    assert [type(case.result[0]).__name__ for case in suite] == ["Failure", "Error"]


def merged():
    """Two sources: one test fails in both, one in the second alone; a third is incomplete, and green so far."""

    def source(name, *failed, incomplete=""):
        found = tuple(failure(raised("KeyError", "'eu'"), test) for test in failed)
        counts = Counts(passed=3 - len(failed), failed=len(failed))
        seen = observed(*found, source=name, counts=counts, incomplete=incomplete, exit_code=len(failed))
        report = report_of(seen)
        return SourceResult(
            source=name,
            verdict=report.verdict,
            observation=seen,
            causes=tuple(each.id for each in report.causes),
        )

    sources = (
        source("py311", "t.py::a"),
        source("py312", "t.py::a", "t.py::b"),
        source("py313", incomplete="shard 2 of 2 is missing"),
    )
    whole = report_of(observed(*sources[1].observation.failures))
    return checked(report_document(replace(whole, sources=sources), ""))


def test_each_source_is_a_suite_with_the_tests_that_failed_in_it():
    found = {suite.get("name"): [case.get("name") for case in suite] for suite in xml_of(merged())}
    assert found == {"py311": ["a"], "py312": ["a", "b"], "py313": ["the run"]}


def test_a_missing_shard_is_an_error():
    suite = xml_of(merged())[2]
    assert suite.get("errors") == "1"
    assert "shard 2 of 2 is missing" in suite.find("testcase/error").get("message")


def test_green():
    found = document(exit_code=0, counts=Counts(passed=3))
    (suite,) = xml_of(found)
    assert (len(suite), suite.get("tests")) == (0, "3")
