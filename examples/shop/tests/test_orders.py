import pytest

from shop import orders
from shop.cart import Cart
from shop.customers import Customer
from shop.inventory import OutOfStock


@pytest.fixture
def order(customer, tea_cart, inventory):
    return orders.place(customer, tea_cart, inventory, "2024-001")


def test_place(order):
    assert order.state == "placed"


def test_placing_takes_from_stock(order, inventory):
    assert inventory.level("TEA-10") == 38


def test_empty_cart(customer, inventory):
    with pytest.raises(orders.OrderError, match="the cart is empty"):
        orders.place(customer, Cart(), inventory, "2024-002")


def test_out_of_stock(customer, inventory):
    cart = Cart()
    cart.add("POT-03", 2)
    with pytest.raises(OutOfStock):
        orders.place(customer, cart, inventory, "2024-003")


def test_cancelling_puts_back(order, inventory):
    order.cancel(inventory)
    assert inventory.level("TEA-10") == 40


def test_advance(customer, tea_cart):
    order = orders.Order("2024-004", customer, tea_cart)
    assert [order.advance() for _ in range(4)] == ["paid", "packed", "sent", "delivered"]


def test_advance_too_far(customer, tea_cart):
    order = orders.Order("2024-005", customer, tea_cart, state="delivered")
    with pytest.raises(orders.OrderError, match="is delivered"):
        order.advance()


def test_parcel_label(customer, tea_cart):
    label = orders.parcel_label(orders.Order("2024-006", customer, tea_cart))
    assert label.splitlines()[-2:] == ["75001 Paris", "FR"]


def test_parcel_label_with_one_address(home, tea_cart):
    jo = Customer("Jo Meier", "jo@example.org", {"billing": home})
    label = orders.parcel_label(orders.Order("2024-007", jo, tea_cart))
    assert label.splitlines()[0] == "Jo Meier"


def test_amount_due_with_one_address(home):
    cart = Cart()
    cart.add("POT-03", 2)
    jo = Customer("Jo Meier", "jo@example.org", {"billing": home})
    assert orders.amount_due(orders.Order("2024-008", jo, cart)) == 11_998 + 2_280


def test_points_earned(customer, tea_cart):
    order = orders.Order("2024-009", customer, tea_cart, state="delivered")
    assert orders.points_earned(order) == 17


def test_no_points_before_delivery(customer, tea_cart):
    assert orders.points_earned(orders.Order("2024-010", customer, tea_cart)) == 0
