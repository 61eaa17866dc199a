from shop.cart import Cart
from shop.pricing import quote


def test_teapot_to_germany():
    cart = Cart()
    cart.add("POT-03")
    assert quote(cart, "DE").total == 5999 + 1140 + 490


def test_tea_to_germany(tea_cart):
    price = quote(tea_cart, "DE")
    assert price.tax == 233
    assert price.total == 2516


def test_world_has_no_tax(tea_cart):
    assert quote(tea_cart, "US").total == 1793 + 1990


def test_coupon(tea_cart):
    assert quote(tea_cart, "US", "HELLO-5").discount == 90


def test_large_order_is_delivered_for_nothing():
    cart = Cart()
    cart.add("POT-03", 2)
    assert quote(cart, "FR").delivery == 0
