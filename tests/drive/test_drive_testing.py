import json

import pytest
from records import failure, frame, observed, raised

from loop_close import files
from loop_close.drive import causes_in
from loop_close.judge import report_of
from loop_close.prompt.report_json import dump, report_document

NOWHERE = {"file": "", "line": 0, "function": ""}


@pytest.fixture
def reported(tmp_path):
    """The causes of a project whose report is this text."""

    def read(text):
        files.state_folder(tmp_path)
        (tmp_path / files.REPORT).write_text(text, encoding="utf-8")
        return causes_in(tmp_path)

    return read


def cause(**fields):
    return {"id": "1", "kind": "crash", "exception": "", "message": "", "location": NOWHERE, **fields}


def test_causes_of_a_report(reported):
    error = raised("AssertionError", "assert 3 == 4\n  +  where 3 = f()", [frame("a.py", "f", 3)])
    document = report_document(report_of(observed(failure(error))), "")
    assert list(reported("".join(dump(document))).values()) == ["AssertionError: assert 3 == 4 (a.py:3)"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "crash"),
        ({"exception": "ValueError"}, "ValueError"),
        ({"message": "assert 3\n  == 4"}, "assert 3"),
        ({"exception": "E", "message": "x" * 200}, f"E: {'x' * 79}…"),
        ({"message": "password=hunter2hunter2"}, "password=<redacted 1>"),
        ({"location": {"file": "a.py", "line": 3, "function": "f"}}, "crash (a.py:3)"),
    ],
)
def test_descriptions(reported, fields, said):
    assert reported(json.dumps({"root_causes": [cause(**fields), cause(id="2")]})) == {
        "1": said,
        "2": "crash",
    }


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"root_causes": 3}', '{"root_causes": [{"id": 1}]}'])
def test_report_that_is_damaged_names_no_cause(reported, text):
    assert reported(text) == {}


def test_without_a_report_there_is_no_cause(tmp_path):
    assert causes_in(tmp_path) == {}
