import pytest

from shop.gateway import Gateway
from shop.payments import PaymentRefused
from shop.refunds import refund


def test_refund():
    assert refund("test-1", 490, Gateway("test")) == 490


def test_refund_of_another_account():
    with pytest.raises(PaymentRefused, match="refund of live-1"):
        refund("live-1", 490, Gateway("test"))
