import pytest

from shop.cart import Cart


def test_empty_cart():
    assert len(Cart()) == 0
    assert Cart().subtotal() == 0


def test_add(tea_cart):
    assert len(tea_cart) == 3


def test_add_the_same_again(tea_cart):
    tea_cart.add("tea-10", 3)
    assert tea_cart.quantities["TEA-10"] == 5


def test_add_nothing(tea_cart):
    with pytest.raises(ValueError, match="at least 1"):
        tea_cart.add("MUG-02", 0)


def test_remove(tea_cart):
    tea_cart.remove("TEA-10")
    assert list(tea_cart.quantities) == ["MUG-01"]


def test_remove_what_is_not_there(tea_cart):
    tea_cart.remove("POT-03")
    assert len(tea_cart) == 3


def test_subtotal(tea_cart):
    assert tea_cart.subtotal() == 2 * 449 + 895


def test_grams(tea_cart):
    assert tea_cart.grams() == 580
