import pytest

from shop import loyalty


@pytest.mark.parametrize(("cents", "points"), [(0, 0), (99, 0), (100, 1), (12_345, 123)])
def test_points(cents, points):
    assert loyalty.points(cents) == points


@pytest.mark.parametrize(
    ("points", "name"), [(0, "bronze"), (499, "bronze"), (500, "silver"), (1_999, "silver")]
)
def test_tier(points, name):
    assert loyalty.tier(points).name == name


def test_gold():
    assert loyalty.tier(2_000).name == "gold"


def test_gold_gets_five_percent():
    assert loyalty.tier(7_500).percent == 5
