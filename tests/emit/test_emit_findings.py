"""GitLab's code quality report, and SARIF."""

import gzip
import json

import pytest
from emit_harness import assert_valid, document, many, plain
from records import SRC, failure, frame, in_test, raised

from loop_close.emit import document_of, gitlab, sarif
from loop_close.model import Counts, Failure


def at(file, line, function="total", name="KeyError", test="t.py::test_a"):
    exc = raised(name, "'eu'", frames=(in_test(), frame(file, function, line)))
    return failure(exc, test)


def check(file, line, code="F401", tool="ruff"):
    return Failure(
        nodeid="", phase="check", message=f"{code} unused", file=file, line=line, tool=tool, code=code
    )


def rows(*found, **fields):
    text = gitlab(document(*found, **fields))
    assert_valid("gitlab", text)
    return json.loads(text)


def run_of(*found, **fields):
    text = sarif(document(*found, **fields))
    assert_valid("sarif", text)
    return json.loads(text)["runs"][0]


def test_fingerprints_are_unique_and_stay_when_lines_move():
    def fingerprints(moved):
        found = [at(SRC, 12 + moved), at(SRC, 14 + moved, test="t.py::test_b")]
        found += [check(file, line + moved) for file, line in (("a.py", 1), ("a.py", 2), ("b.py", 1))]
        return [row["fingerprint"] for row in rows(*found)]

    before, after = fingerprints(0), fingerprints(10)
    assert len(set(before)) == len(before) >= 5
    assert before == after
    assert set(before).isdisjoint(row["fingerprint"] for row in rows(at("src/shop/other.py", 12)))


@pytest.mark.parametrize("of", [(), (failure(phase="session", nodeid="", message="coverage", file=""),)])
def test_a_finding_without_file_has_a_place_all_the_same(of):
    shown = rows(*of, exit_code=3, counts=Counts())
    assert {row["location"]["path"] for row in shown} == {"pyproject.toml"}
    results = run_of(*of, exit_code=3, counts=Counts())["results"]
    places = [each["locations"][0]["physicalLocation"]["artifactLocation"] for each in results]
    assert {place["uri"] for place in places} == {"pyproject.toml"}


def test_green_is_an_empty_array_and_no_result():
    assert rows(exit_code=0, counts=Counts(passed=1)) == []
    assert run_of(exit_code=0, counts=Counts(passed=1))["results"] == []


def test_failing_tests_of_a_root_cause_are_one_result_with_related_locations():
    found = [at(SRC, 12 + n, test=f"t.py::test_{n:03}") for n in range(150)]
    run = run_of(*found)
    (result,) = run["results"]
    assert len(result["relatedLocations"]) == 99
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "test-failure"
    assert result["partialFingerprints"]["primaryLocationLineHash"].endswith(":1")


def test_what_a_checker_found_is_a_result_for_each_place():
    run = run_of(check("a.py", 1), check("a.py", 7), check("b.py", 2), counts=Counts())
    lines = [
        (place["artifactLocation"]["uri"], place["region"]["startLine"])
        for each in run["results"]
        for place in [each["locations"][0]["physicalLocation"]]
    ]
    assert sorted(lines) == [("a.py", 1), ("a.py", 7), ("b.py", 2)]
    assert len({each["partialFingerprints"]["primaryLocationLineHash"] for each in run["results"]}) == 3


def test_uris_are_relative_and_percent_encoded():
    (first, *_) = run_of(check("src/ä b%41/#x?.py", 3), counts=Counts())["results"]
    place = first["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "src/%C3%A4%20b%2541/%23x%3F.py", "uriBaseId": "%SRCROOT%"}


@pytest.mark.slow
def test_the_limits_of_code_scanning_are_kept():
    found = plain(*many(1))
    (cause,) = found["root_causes"]
    found["root_causes"] = [{**cause, "id": f"{n:08x}", "message": "x" * 1_900} for n in range(6_000)]
    text = sarif(document_of(found))
    assert_valid("sarif", text)
    assert len(gzip.compress(text.encode())) < 10_000_000
    (run,) = json.loads(text)["runs"]
    assert len(run["results"]) == 5_000
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"] == "1,000 results are left out"
