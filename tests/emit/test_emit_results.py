"""CTRF and JUnit XML: failing tests by source."""

import json
from xml.etree import ElementTree

import junitparser
import pytest
from emit_harness import assert_valid, document
from records import failure, raised

from loop_close.emit.formats import ctrf, junit
from loop_close.emit.report import checked
from loop_close.merge import joined
from loop_close.model import Counts, Observation, Provenance
from loop_close.parts import packed, part_of
from loop_close.prompt.report_json import report_document

CLASS = "tests/shop/test_a.py::TestCart::test_total[a::b]"


def xml_of(found):
    text = junit(found)
    assert_valid("junit", text)
    return ElementTree.fromstring(text)


def ctrf_of(found):
    text = ctrf(found)
    assert_valid("ctrf", text)
    return json.loads(text)["results"]


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
    (test,) = ctrf_of(found)["tests"]
    assert sorted(test["extra"]["phases"]) == ["call", "teardown"]
    assert len(test["extra"]["root_causes"]) in (1, 2)


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
    summary = ctrf_of(found)["summary"]
    assert {key: summary[key] for key in ("tests", "passed", "failed", "skipped", "pending", "other")} == {
        "tests": 41,
        "passed": 34,
        "failed": 1,
        "skipped": 2,
        "pending": 0,
        "other": 4,
    }


def test_other_readers_of_junit_understand_it():
    found = document(
        failure(raised("KeyError", "]]> <b>\x00\x1b[31m")), failure(nodeid="t.py::b", phase="setup")
    )
    suites = junitparser.JUnitXml.fromstring(junit(found).encode())
    (suite,) = suites
    assert [type(case.result[0]).__name__ for case in suite] == ["Failure", "Error"]


def merged():
    """Two sources: one test fails in both, one in the second alone; a third is incomplete, and green so far."""

    def part(source, *failed, **fields):
        found = Observation(
            exit_code=1 if failed else 0,
            source=source,
            provenance=Provenance(collected=3, digest="d", **fields),
            failures=tuple(failure(raised("KeyError", "'eu'"), test) for test in failed),
            counts=Counts(passed=3 - len(failed), failed=len(failed)),
            tests=("t.py::a", "t.py::b", "t.py::c"),
        )
        text = json.dumps({"schema": "loop-close.report/1", "observation": packed(found)})
        return part_of(source, text)

    parts = [part("py311", "t.py::a"), part("py312", "t.py::a", "t.py::b"), part("py313", shard=(1, 2))]
    return checked(report_document(joined(parts).report, ""))


def test_each_source_is_a_suite_with_the_tests_that_failed_in_it():
    found = {suite.get("name"): [case.get("name") for case in suite] for suite in xml_of(merged())}
    assert found == {"py311": ["a"], "py312": ["a", "b"], "py313": ["the run"]}
    results = ctrf_of(merged())
    assert [(test["suite"][0], test["name"]) for test in results["tests"]] == [
        ("py311", "t.py::a"),
        ("py312", "t.py::a"),
        ("py312", "t.py::b"),
        ("py313", "the run"),
    ]
    assert (results["summary"]["passed"], results["summary"]["failed"]) == (6, 4)


def test_a_missing_shard_is_an_error():
    suite = xml_of(merged())[2]
    assert suite.get("errors") == "1"
    assert "shard 2 of 2 is missing" in suite.find("testcase/error").get("message")


def test_green():
    found = document(exit_code=0, counts=Counts(passed=3))
    (suite,) = xml_of(found)
    assert (len(suite), suite.get("tests")) == (0, "3")
    assert ctrf_of(found)["tests"] == []


def test_own_data_is_under_extra():
    results = ctrf_of(document(failure()))
    assert results["extra"] == {"verdict": "first-failure", "listed": "failing tests"}
    assert results["tests"][0]["extra"]["kind"] == "test-failure"
