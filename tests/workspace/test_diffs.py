import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.workspace.edits import MAX_CHARACTERS, MAX_LINES, diff_of

KEY = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b c", "a x c", [" a", "-b", "+x", " c"]),
        ("a", "a b", [" a", "+b"]),
        ("a b", "b", ["-a", " b"]),
        ("", "a b", ["+a", "+b"]),
        ("a b", "", ["-a", "-b"]),
        ("a b c d e f g", "x b c d e f y", ["-a", "+x", " b", " f", "-g", "+y"]),
        ("a", "a", []),
        ("", "", []),
    ],
)
def test_diff_has_one_line_around_and_no_headers(before, after, expected):
    assert diff_of(before.split(), after.split()).splitlines() == expected


def test_line_that_looks_like_a_header_stays():
    assert diff_of(["-- a"], ["++ b", "@@ c"]).splitlines() == ["--- a", "+++ b", "+@@ c"]


def test_long_diff_is_cut_and_says_by_how_much():
    lines = diff_of([], [f"line {n}" for n in range(16)]).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (MAX_LINES, "+line 0", "… 5 more lines")


def test_wide_diff_is_cut():
    text = diff_of(["x" * 500] * 3, ["y" * 500] * 6)
    assert len(text) <= MAX_CHARACTERS
    assert text.splitlines()[-1] == "… 4 more lines"
    assert text.splitlines()[0] == "-" + "x" * 158 + "…"


def test_credentials_and_control_characters_are_taken_out():
    text = diff_of(["a = 1"], [f"a = '{KEY}'", "b = '\x1b[31mred\u202e'"])
    assert text.splitlines() == ["-a = 1", "+a = '<redacted 1>'", "+b = 'red'"]


def test_private_key_is_redacted_before_the_lines_are_taken_apart():
    key = ["-----BEGIN PRIVATE KEY-----", *["QUJD" * 16] * 5, "-----END PRIVATE KEY-----"]
    changed = [*key[:3], "Q0JB" * 16, *key[4:]]
    for before, after in ((key, changed), (key, []), ([], key), (["x"], key)):
        assert "QUJD" not in diff_of(before, after)
        assert "Q0JB" not in diff_of(before, after)


def test_command_for_a_ci_log_is_defused():
    assert " ::error" not in diff_of(["::error::x", "a"], ["::error::x", "b"])


@pytest.mark.timeout(20)
def test_long_and_unlike_sources_take_no_time():
    before = [f"x = {n % 300}" for n in range(20_000)]
    after = [f"x = {n * 7 % 301}" for n in range(20_000)]
    text = diff_of(before, after)
    assert text.splitlines()[0] == "-x = 1"
    assert len(text.splitlines()) == MAX_LINES


@given(*[st.lists(st.text(max_size=300), max_size=40)] * 2)
def test_diff_is_bounded(before, after):
    text = diff_of(before, after)
    assert len(text) <= MAX_CHARACTERS
    assert len(text.split("\n")) <= MAX_LINES
