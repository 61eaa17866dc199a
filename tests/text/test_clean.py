import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.text import sanitize
from loop_close.text.redact import clean

TOKEN = "ghp_" + "abcdefghij0123456789ABCDEFGHIJ012345"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("", None, ""),
        ("plain", None, "plain"),
        ("0123456789abcdef", 10, "012345\n… 6 characters left out …\ncdef"),
        ("0123456789", 0, "\n… 10 characters left out …\n"),
        ("\x1b[31m0123456789\x1b[0m", 10, "0123456789"),
        ("password='hunter2'", None, "password='<redacted 1>'"),
        # an escape sequence inside would hide it
        ("pass\x1b[0mword='hun\u200bter2'", None, "password='<redacted 1>'"),
    ],
)
def test_clean(text, limit, expected):
    assert clean(text, limit) == expected


def test_cut_makes_no_command():
    text = "x" * 100 + " ::error::abcdefghijklmnop"
    cuts = [clean(text, limit) for limit in range(len(text))]
    assert all("\n::error" not in cut for cut in cuts)
    assert any("\n: :error" in cut for cut in cuts)


@pytest.mark.parametrize("around", ["{}", "password='{}'", "\x1b[31m{}\x1b[0m", "https://me:{}@host"])
def test_no_part_of_a_credential_survives_a_cut(around):
    text = "a" * 30 + " " + around.format(TOKEN) + " " + "b" * 30
    for limit in range(len(text)):
        assert "ghp_" not in clean(text, limit)
        assert TOKEN[-4:] not in clean(text, limit)


@given(st.text(st.characters(exclude_categories=())), st.none() | st.integers(-1, 50))
def test_result_is_sanitized_and_bounded(text, limit):
    result = clean(text, limit)
    assert sanitize(result) == result
    if limit is not None:
        assert len(result) <= max(limit, 0) + 60


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["x", "(", "\x1b[", "aB3/"])
def test_a_megabyte_of_the_same_comes_back(piece):
    assert len(clean(piece * (1_000_000 // len(piece)), 1_000)) < 1_100
