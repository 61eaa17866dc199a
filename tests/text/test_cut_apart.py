import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.text import cut_apart

LONG = "a" * 200
TEXTS = st.lists(st.text("ab\\<>x4", max_size=90) | st.text("ab", max_size=3).map(LONG.__add__), max_size=4)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["1", "2"], ["1", "2"]),
        # What fits is whole, whatever it is beside.
        (["a" * 40 + "b", LONG], ["a" * 40 + "b", f"…{'a' * 48}…"]),
        ([f"{LONG}3", f"{LONG}4"], [f"…{'a' * 16}3", f"…{'a' * 16}4"]),
        ([f"{LONG}3{LONG}", f"{LONG}4"], [f"…{'a' * 16}3{'a' * 31}…", f"…{'a' * 16}4"]),
        # The difference is near the beginning: that is shown.
        ([f"3{LONG}", f"4{LONG}"], [f"3{'a' * 48}…", f"4{'a' * 48}…"]),
        # Each around what sets it apart from the one that is most like it.
        ([f"{LONG}3", f"{LONG}4", "b" * 99], [f"…{'a' * 16}3", f"…{'a' * 16}4", f"{'b' * 49}…"]),
        # Equal texts differ in nothing.
        ([LONG, LONG], [f"{'a' * 49}…"] * 2),
    ],
)
def test_long_texts_are_cut_around_what_differs(texts, expected):
    assert cut_apart(texts, 50) == expected


@pytest.mark.parametrize("unit", ["<redacted 12>", "<path>", r"\x1b", r"\u200b", r"\U000e0041", r"\\", r"\n"])
def test_marks_and_escapes_stay_whole(unit):
    for number in range(len(unit) + 1):
        for before, after in (("a" * (90 + number), "a" * 60), ("", "a" * number), ("a" * number, "b" * 90)):
            left, right = (f"{before}{unit * 3}{last}{after}" for last in "34")
            for shown in cut_apart([left, right], 50):
                assert len(shown) <= 50
                rest = shown.replace(unit, "").strip("…")
                assert not set(rest) - set("ab34"), shown


def test_numbers_of_marks_are_told_apart():
    texts = [f"{LONG}<redacted {number}>{LONG}" for number in (1, 2)]
    assert [f"<redacted {n}>" in shown for n, shown in enumerate(cut_apart(texts, 50), 1)] == [True, True]


@given(TEXTS, st.integers(24, 90))
def test_any_texts(texts, limit):
    cut = cut_apart(texts, limit)
    assert [len(text) <= limit for text in cut] == [True] * len(texts)
    assert cut == cut_apart(cut, limit)
    assert all(shown == text for text, shown in zip(texts, cut, strict=True) if len(text) <= limit)


@given(st.integers(0, 300), st.integers(1, 300), st.integers(40, 120))
def test_two_texts_that_differ_are_shown_as_different(before, after, limit):
    left, right = cut_apart([f"{'a' * before}3{'b' * after}", f"{'a' * before}4{'b' * after}"], limit)
    assert left != right
    assert left.replace("3", "4") == right
