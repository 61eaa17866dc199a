"""The reader of JSON reports."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import any_text, failure, observed

from loop_close.emit import ReportError, document_of, parsed
from loop_close.judge import report_of
from loop_close.prompt.report_json import dump, report_document

TEXT = "".join(dump(report_document(report_of(observed(failure(), failure(nodeid="t.py::b"))), "# x\n")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is not JSON, or cut off"),
        ("[" * 100_000, "it is not JSON, or cut off"),
        ("[]", "it is not a report of loop-close"),
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
        ("root_causes", {}, "Expected `array`, got `object` - at `$.root_causes`"),
        ("root_causes", [{"id": "x"}], "Object missing required field `kind` - at `$.root_causes[0]`"),
        ("evidence", [1], "Expected `object`, got `int` - at `$.evidence[0]`"),
    ],
)
def test_a_value_that_does_not_fit_is_named(key, value, said):
    with pytest.raises(ReportError) as caught:
        document_of({**parsed(TEXT), key: value})
    assert str(caught.value) == f"it does not fit: {said}"


@pytest.mark.parametrize(("score", "line"), [(1e999, 1), (1.5, 1), (-1, 1), (1, 10**30), (1, -1)])
def test_a_score_is_a_probability_and_a_line_is_bounded(score, line):
    raw = json.loads(TEXT)
    suspect = {"file": "a.py", "line": line, "end_line": 2, "function": "f", "score": score, "reasons": []}
    raw["root_causes"][0]["suspects"] = [suspect]
    with pytest.raises(ReportError, match="score" if line == 1 else "line|out of range"):
        document_of(raw)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(any_text, inner, max_size=2),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(TEXT))), values)
def test_any_value_is_read_or_refused(key, value):
    with contextlib.suppress(ReportError):
        document_of({**parsed(TEXT), key: value})


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
    assert document_of(raw, folder).evidence[0].file == expected
