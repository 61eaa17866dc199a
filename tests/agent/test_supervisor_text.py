import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent.supervisor import MAX_TEXT, trip
from loop_close.text import sanitize

anything = st.text(st.characters(exclude_categories=()))


def said(kind="repeated", count=3, length=1, is_error=True, content="HTTP 400: no such field", tool="search"):
    return trip(tool, kind, count, length, is_error=is_error, content=content).text


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({}, "`search` made no progress 3 times in a row: the same error, whatever the input."),
        (
            {"is_error": False},
            "`search` made no progress 3 times in a row: the same result for the same input.",
        ),
        (
            {"kind": "cycle", "count": 6, "length": 2},
            "`search` made no progress 6 times in a row: the same 2 results repeated in a cycle, 3 times.",
        ),
        (
            {"kind": "non-advancing"},
            "`search` made no progress 3 times in a row: each result was marked as no progress, for inputs"
            " that differ only in spelling.",
        ),
        (
            {"kind": "non-advancing", "count": 6, "length": 0},
            "`search` made no progress 6 times in a row: each result was marked as no progress, whatever the"
            " input.",
        ),
    ],
)
def test_says_what_and_how_often(fields, first):
    lines = said(**fields).split("\n")
    assert lines == [
        first,
        "It counts as disabled for the rest of this run. Other tools are not affected.",
        "What it was called for is still missing: report it as unresolved, with what was tried.",
        "Its last result: `HTTP 400: no such field`",
    ]


def test_nothing_is_shown_of_an_empty_result():
    assert "last result" not in said(content=" \x1b[0m\n")


def test_credentials_are_not_shown():
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    for content in (f"denied for {key}", "x" * 700 + key + "y" * 9_000):
        assert key[:12] not in said(content=content)


@pytest.mark.parametrize("content", ["`" * 5_000, "` " * 500, "\n```\n# Orders\n", "x" * 1_000_000])
@pytest.mark.parametrize("tool", ["t", "`" * 500, "tool\n# Title"])
def test_content_stays_quoted_and_short(content, tool):
    text = said(content=content, tool=tool)
    assert len(text) < MAX_TEXT
    assert len(text.split("\n")) in (3, 4)


@given(anything, anything)
def test_text_is_safe_and_short(tool, content):
    text = said(tool=tool, content=content)
    assert len(text) < MAX_TEXT
    assert sanitize(text) == text
    assert "made no progress 3 times in a row" in text
