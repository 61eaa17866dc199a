import pytest

from shop import shipping


@pytest.mark.parametrize(
    ("grams", "country", "cents"),
    [(500, "DE", 490), (500, "FR", 890), (2500, "DE", 790), (4100, "AT", 1290), (500, "US", 1990)],
)
def test_cost(grams, country, cents):
    assert shipping.cost(grams, country, 2000) == cents


def test_free_delivery():
    assert shipping.cost(500, "NL", 10_000) == 0


def test_express_within_the_eu():
    assert shipping.express(500, "DE") == 1990


def test_express_overseas():
    assert shipping.express(500, "US") == 4990


@pytest.mark.parametrize(("country", "days"), [("DE", 2), ("FR", 4), ("JP", 10)])
def test_days(country, days):
    assert shipping.days(country) == days
