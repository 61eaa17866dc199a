import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.text.budget import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("x" * 4_000, 1_000),
        ("日本語", 3),
        ("😀", 1),
        ("\ud800", 0),
    ],
)
def test_estimate_tokens(text, tokens):
    assert estimate_tokens(text) == tokens


@given(st.text(st.characters(exclude_categories=())), st.text())
def test_parts_are_never_less_than_the_whole(a, b):
    assert estimate_tokens(a + b) <= estimate_tokens(a) + estimate_tokens(b)
