import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.text.normalize import ratio, similar

anything = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", 1.0),
        ("same", "same", 1.0),
        ("", "a", 0.0),
        ("Hello world", "Hello world!", 0.957),
        ("Processing the user data...", "Processing user data now...", 0.852),
    ],
)
def test_ratio(a, b, expected):
    assert ratio(a, b, cutoff=0) == pytest.approx(expected, abs=0.001)


def test_below_the_cutoff_is_nothing():
    assert ratio("abcd", "abxy", cutoff=0.9) == 0.0


# 20 and 20 characters with n of them alike give exactly n / 20.
@pytest.mark.parametrize("n", range(1, 21))
def test_threshold_itself_is_similar(n):
    a, b = "a" * 20, "a" * n + "b" * (20 - n)
    assert similar(a, b, n / 20)
    assert not similar(a, b, n / 20 + 0.01)


def test_default_threshold():
    assert similar("a" * 20, "a" * 18 + "bb")
    assert not similar("a" * 20, "a" * 17 + "bbb")


@pytest.mark.parametrize("middle", ["y", "yy" * 5_000])
def test_of_long_texts_both_ends_count(middle):
    text = "x" * 20_000
    assert similar(text, text[:10_000] + middle + text[10_000:])
    assert not similar("a" * 20_000, "b" * 20_000)


@given(anything, anything)
def test_is_symmetric_and_within_0_and_1(a, b):
    assert 0 <= ratio(a, b, cutoff=0) <= 1
    assert ratio(a, b, cutoff=0) == pytest.approx(ratio(b, a, cutoff=0))
    assert ratio(a, a) == 1


def test_rapidfuzz_is_imported_when_first_needed():
    code = "import sys, loop_close.text.normalize as s; s.similar('a', 'a'); sys.exit('rapidfuzz' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
