"""What holds in every format: the published schemas, hostile text, credentials, determinism."""

import re
from itertools import pairwise

import pytest
from emit_harness import FORGED, assert_valid, document, many
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from records import failure, failures, raised

from loop_close.emit import FORMATS, document_of
from loop_close.model import Counts

forged = st.lists(st.sampled_from(FORGED) | st.text(max_size=4), min_size=1, max_size=4).map("".join)
forged_failures = st.builds(
    lambda nodeid, message, file, name, phase: failure(
        raised(name, message), f"t.py::{nodeid}", phase=phase, file=file
    ),
    forged,
    forged,
    forged,
    forged,
    st.sampled_from(["collect", "setup", "call", "teardown", "session", "check", "process"]),
)
RED = document(*many(3, places=2))
GREEN = document(exit_code=0, counts=Counts(passed=3))
NOTHING = document(exit_code=5, counts=Counts())
CUT = document(failure(), incomplete="interrupted by Ctrl-C")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("found", [RED, GREEN, NOTHING, CUT], ids=["red", "green", "nothing", "cut"])
def test_a_report_is_valid_in_each_format(name, found):
    text = FORMATS[name](found)
    assert_valid(name, text)


@settings(max_examples=40)
@given(st.lists(failures | forged_failures, max_size=4), forged)
def test_hostile_text_stays_text(found, incomplete):
    report = document(*found, incomplete=incomplete)
    for name in FORMATS:
        text = FORMATS[name](report)
        assert_valid(name, text)
        text.encode("utf-8")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028\ufffe]", text)
        if name == "github-summary":
            assert_is_our_markdown(text)


def assert_is_our_markdown(text):
    """Nothing but our headings, code, lists, one kind of HTML, and tables."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inner)}
    assert kinds.isdisjoint(
        {"html_block", "html_inline", "link_open", "image", "blockquote_open", "hr", "code_block"}
    ), text
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert all(re.match(r"loop-close: |\d+\. ", each) for each in headings), text


@pytest.mark.parametrize("name", FORMATS)
def test_no_credential_of_a_report_is_shown(name):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    raw = {
        "summary": secret,
        "verdict": "red",
        "incomplete": secret,
        "root_causes": [
            {
                "id": "0a",
                "kind": "test-failure",
                "title": secret,
                "exception": "E",
                "message": f"password={secret}",
                "place": {"file": f"{secret}.py", "line": 1, "function": secret},
                "location": {"file": f"{secret}.py", "line": 1, "function": secret},
                "tests": [f"t.py::test[{secret}]"],
                "suspects": [],
            }
        ],
        "sources": [],
        "evidence": [],
    }
    assert secret not in FORMATS[name](document_of(raw))


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_the_same_each_time_and_names_no_time(name):
    assert FORMATS[name](RED) == FORMATS[name](document(*reversed(many(3, places=2))))


@pytest.mark.parametrize("name", ["gitlab", "sarif"])
def test_a_run_that_is_not_whole_is_never_empty(name):
    for found in (NOTHING, CUT, document(exit_code=0, counts=Counts(passed=3), incomplete="shard 1 of 2")):
        text = FORMATS[name](found)
        assert "incomplete-run" in text
    assert "incomplete-run" not in FORMATS[name](RED) + FORMATS[name](GREEN)
