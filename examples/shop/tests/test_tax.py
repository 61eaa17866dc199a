import pytest

from shop import tax
from shop.catalog import product


@pytest.mark.parametrize(
    ("country", "category", "percent"),
    [("DE", "standard", 19), ("DE", "book", 7), ("FR", "food", 5), ("NL", "standard", 21), ("US", "food", 0)],
)
def test_rate(country, category, percent):
    assert tax.rate(country, category) == percent


def test_tax_on_two_mugs():
    assert tax.tax_on(product("MUG-01"), 2, "FR") == 358


def test_no_tax_outside():
    assert tax.tax_on(product("MUG-01"), 2, "US") == 0
