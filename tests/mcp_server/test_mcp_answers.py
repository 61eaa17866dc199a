import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.mcp_server.tools import (
    REPORT_SCHEMA,
    Field,
    ToolError,
    bounded,
    checked,
    close_streams,
    failed,
    input_schema,
)

FIELDS = (
    Field(name="text", kind="string", description=""),
    Field(name="number", kind="integer", least=1, most=9, description=""),
    Field(name="code", kind="integer", description=""),
)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.none())


@given(st.dictionaries(st.sampled_from(["text", "number", "code", "other"]), VALUES))
def test_what_the_schema_refuses_is_refused_by_name(given):
    validator = jsonschema.Draft202012Validator(input_schema(FIELDS))
    wrong = {error.path[0] if error.path else "other" for error in validator.iter_errors(given)}
    if not wrong:
        assert checked("tool", FIELDS, given).keys() == {k for k, v in given.items() if v is not None}
        return
    with pytest.raises(ToolError) as raised:
        checked("tool", FIELDS, given)
    assert any(name in str(raised.value) for name in wrong)


def test_long_documents_are_cut_and_counted():
    found = bounded({"next_prompt": "x" * 9_000, "a": ["y" * 9_000] * 30, "b": [{"tests": ["t"] * 27}] * 2})
    assert len(found["next_prompt"]) == 9_000
    assert (len(found["a"]), len(found["a"][0]), found["a"][0][-1]) == (25, 600, "…")
    assert found["omitted"] == {"a": 5, "tests": 4}


def test_errors_are_one_short_line():
    found = failed("a\n\x1b[31mb" + "c" * 9_000)
    assert (found.is_error, found.document, len(found.text), found.text[:4]) == (True, None, 500, "a bc")


VALIDATOR = jsonschema.Draft202012Validator(REPORT_SCHEMA)  # once: to check the schema takes long


@given(st.text(), st.text(), st.none() | st.integers())
def test_any_streams_make_a_report_as_described(stdout, stderr, code):
    found = close_streams(stdout, stderr, code)
    VALIDATOR.validate(found.document)
    assert found == close_streams(stdout, stderr, code)
    assert not found.is_error


LOG = (
    "a.py:1: error: Incompatible types  [assignment]\nFound 1 error in 1 file (checked 1 source file)\n"
    "1 failed in 0.10s\n"
)
NAMES = (Field(name="detectors", kind="names", among=("internal-error", "crash"), description=""),)


def test_only_the_detectors_that_are_named_look_at_the_output():
    kinds = {each["kind"] for each in close_streams(LOG).document["evidence"]}
    assert kinds == {"typecheck-error", "test-failure"}
    found = close_streams(LOG, detectors=["test-failure"]).document
    assert {each["kind"] for each in found["evidence"]} == {"test-failure"}


def test_detectors_are_checked_by_name():
    assert checked("tool", NAMES, {"detectors": ["crash"]}) == {"detectors": ["crash"]}
    assert input_schema(NAMES)["properties"]["detectors"]["items"]["enum"] == ["internal-error", "crash"]
    with pytest.raises(ToolError, match=r"unknown name in detectors; known names: internal-error, crash"):
        checked("tool", NAMES, {"detectors": ["crahs"]})
    with pytest.raises(ToolError, match="detectors must be an array of strings, not a string"):
        checked("tool", NAMES, {"detectors": "crash"})
