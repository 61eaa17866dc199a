import pytest

from shop.gateway import Gateway
from shop.orders import Order
from shop.payments import PaymentRefused, pay


@pytest.fixture
def order(customer, tea_cart):
    return Order("2024-011", customer, tea_cart)


def test_pay(order):
    assert pay(order, "4111 1111", Gateway("test")) == "test-1"
    assert order.state == "paid"


def test_refused(order):
    with pytest.raises(PaymentRefused, match="card ending in 0000"):
        pay(order, "4111 0000", Gateway("test"))
