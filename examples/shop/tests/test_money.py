import pytest

from shop import money


@pytest.mark.parametrize(
    ("cents", "text"), [(0, "0.00 EUR"), (5, "0.05 EUR"), (1234, "12.34 EUR"), (-250, "-2.50 EUR")]
)
def test_to_text(cents, text):
    assert money.to_text(cents) == text


@pytest.mark.parametrize(("text", "cents"), [("12.34", 1234), ("12.3", 1230), ("12", 1200), (" 0.05 ", 5)])
def test_from_text(text, cents):
    assert money.from_text(text) == cents


def test_times():
    assert money.times(449, 3) == 1347
