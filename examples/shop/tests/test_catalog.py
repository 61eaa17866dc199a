import pytest

from shop import catalog


def test_product():
    assert catalog.product("MUG-01").name == "Mug, blue"


def test_product_in_lower_case():
    assert catalog.product("pot-03").cents == 5999


def test_unknown_product():
    with pytest.raises(catalog.UnknownProduct, match="CUP-99"):
        catalog.product("CUP-99")


def test_search():
    assert [product.sku for product in catalog.search("tea")] == ["TEA-10", "TEA-11", "BOOK-7", "POT-03"]


def test_search_two_words():
    assert [product.sku for product in catalog.search("tea green")] == ["TEA-11"]


def test_search_finds_nothing():
    assert catalog.search("coffee") == []
