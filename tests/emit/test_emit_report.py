"""The reader of JSON reports."""

import contextlib
import json

import msgspec
import pytest
from emit_harness import document
from hypothesis import given
from hypothesis import strategies as st
from records import any_text, failure, frame, observed, raised

from loop_close.emit.report import (
    Cause,
    ReportError,
    checked,
    parsed,
    title,
    why_no_result,
)
from loop_close.judge import report_of
from loop_close.model import Counts
from loop_close.prompt.report_json import dump, report_document

TEXT = "".join(dump(report_document(report_of(observed(failure(), failure(nodeid="t.py::b"))), "# x\n")))


def test_a_report_is_read():
    found = checked(parsed(TEXT))
    assert (found.source, found.verdict) == ("pytest", "red")
    assert [each.test for each in found.evidence] == ["t.py::b", failure().nodeid]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is not JSON, or cut off"),
        (TEXT[: len(TEXT) // 2], "it is not JSON, or cut off"),
        ("[" * 100_000, "it is not JSON, or cut off"),
        (
            '{"schema": "loop-close.report/1", "a": NaN}',
            "it is not JSON, or cut off (NaN is not a JSON value)",
        ),
        ("[]", "it is not a report of loop-close"),
        ('{"schema": 1}', "it is not a report of loop-close"),
        ('{"schema": "loop-close.status/1"}', "it is not a report of loop-close"),
        (
            '{"schema": "loop-close.report/2"}',
            "its schema is loop-close.report/2, this version reads loop-close.report/1",
        ),
    ],
)
def test_a_text_that_is_no_report_is_refused(text, said):
    with pytest.raises(ReportError) as caught:
        parsed(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("verdict", 1, "Expected `str`, got `int` - at `$.verdict`"),
        ("counts", [], "Expected `object`, got `array` - at `$.counts`"),
        ("root_causes", {}, "Expected `array`, got `object` - at `$.root_causes`"),
        ("root_causes", [{"id": "x"}], "Object missing required field `kind` - at `$.root_causes[0]`"),
        ("evidence", [1], "Expected `object`, got `int` - at `$.evidence[0]`"),
    ],
)
def test_a_value_that_does_not_fit_is_named(key, value, said):
    with pytest.raises(ReportError) as caught:
        checked({**parsed(TEXT), key: value})
    assert str(caught.value) == f"it does not fit: {said}"


@pytest.mark.parametrize("value", [True, 1.5, "1", None])
def test_a_count_is_a_whole_number(value):
    raw = parsed(TEXT)
    raw["counts"]["passed"] = value
    with pytest.raises(ReportError, match=r"\$\.counts\.passed"):
        checked(raw)


@pytest.mark.parametrize(("score", "line"), [(1e999, 1), (1.5, 1), (-1, 1), (1, 10**30), (1, -1)])
def test_a_score_is_a_probability_and_a_line_is_bounded(score, line):
    raw = json.loads(TEXT)
    suspect = {"file": "a.py", "line": line, "end_line": 2, "function": "f", "score": score, "reasons": []}
    raw["root_causes"][0]["suspects"] = [suspect]
    with pytest.raises(ReportError, match="score" if line == 1 else "line|out of range"):
        checked(raw)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(any_text, inner, max_size=2),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(TEXT))), values)
def test_any_value_is_read_or_refused(key, value):
    with contextlib.suppress(ReportError):
        checked({**parsed(TEXT), key: value})


@pytest.mark.parametrize(
    ("file", "folder", "expected"),
    [
        ("a/b.py", "", "a/b.py"),
        ("./a//b.py", "", "a/b.py"),
        ("/abs/a.py", "", "abs/a.py"),
        ("../a.py", "", ""),  # outside of it all
        ("../src/a.py", "tests", "src/a.py"),
        ("a.py", "packages/shop/", "packages/shop/a.py"),
        ("", "packages", ""),
    ],
)
def test_paths_are_relative_to_the_repository(file, folder, expected):
    raw = json.loads(TEXT)
    raw["evidence"][0]["file"] = file
    assert checked(raw, folder).evidence[0].file == expected


def suspected(score, **location):
    at = {"file": "t.py", "line": 5, "function": "test_a", **location}
    suspect = {"file": "a.py", "line": 10, "end_line": 20, "function": "f", "score": score, "reasons": []}
    return {
        "id": "0a",
        "exception": "E",
        "kind": "test-failure",
        "message": "",
        "tests": [],
        "location": at,
        "suspects": [suspect],
    }


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (suspected(0.62), "Probably f() in a.py:10 (62 %)"),
        (suspected(0.3), "Possibly f() in a.py:10 (30 %)"),
        (suspected(0.9, file="a.py", line=12), "Probably f() in a.py:12 (90 %)"),
        (suspected(0.1), "E at t.py:5"),
        (suspected(0.1, file="", line=0), "No clear place, at best f() in a.py:10 (10 %)"),
        ({**suspected(0.1), "suspects": [], "exception": ""}, "test-failure at t.py:5"),
    ],
)
def test_heading(cause, expected):
    assert msgspec.convert(cause, Cause).heading() == expected


def test_place_without_suspects_is_that_of_the_failure():
    assert msgspec.convert({**suspected(0.1), "suspects": []}, Cause).suspect is None


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Counts(passed=34, failed=2), "2 tests fail, 34 pass"),
        (
            Counts(passed=1, failed=1, failed_subtests=2, errors=1),
            "1 test and 2 subtests fail, 1 error, 1 passes",
        ),
        (Counts(), "1 root cause"),
    ],
)
def test_title(counts, expected):
    assert title(document(failure(), counts=counts)) == expected


def test_why_there_is_no_result():
    assert why_no_result(document(exit_code=5, counts=Counts())) == "No result: no tests collected"
    assert why_no_result(document(failure(), incomplete="Ctrl-C")) == "The run is incomplete: Ctrl-C"
    assert why_no_result(document(failure())) == ""
    assert why_no_result(document(exit_code=0, counts=Counts(passed=1))) == ""


def test_chain_is_kept():
    exc = raised("ValueError", frames=(frame(),), cause=raised("KeyError"))
    evidence, *_ = document(failure(exc)).evidence
    assert [link.exception for link in evidence.chain] == ["ValueError", "KeyError"]


def test_the_heading_names_a_constant():
    cause = suspected(0.62)
    cause["suspects"][0]["constant"] = "Cart.STEP"
    assert msgspec.convert(cause, Cause).heading() == "Probably Cart.STEP in a.py:10 (62 %)"


@pytest.mark.parametrize(("function", "line"), [("total.<locals>.<genexpr>", 12), ("other", 10)])
def test_place_in_a_suspect_whose_last_line_is_not_known(function, line):
    cause = suspected(0.9, file="a.py", line=12, function=function)
    cause["suspects"][0] |= {"end_line": 0, "function": "total"}
    assert msgspec.convert(cause, Cause).place.line == line
