import pytest

from shop.coupons import Coupon, CouponError, parse


@pytest.mark.parametrize(
    ("code", "campaign", "percent"),
    [
        ("HELLO-5", "HELLO", 5),
        ("hello-3", "HELLO", 3),
        ("SPRING-10", "SPRING", 10),
        ("SPRING-15", "SPRING", 15),
        ("summer-20", "SUMMER", 20),
        (" AUTUMN-12 ", "AUTUMN", 12),
        ("WINTER-25", "WINTER", 25),
        ("FRIENDS-30", "FRIENDS", 30),
        ("staff-40", "STAFF", 40),
        ("LAST-75", "LAST", 75),
    ],
)
def test_parse(code, campaign, percent):
    assert parse(code) == Coupon(campaign, percent)


@pytest.mark.parametrize("code", ["", "SPRING", "SPRING-", "-15", "SPRING-FIVE"])
def test_not_a_code(code):
    with pytest.raises(CouponError):
        parse(code)


def test_discount():
    assert Coupon("SPRING", 15).discount(2000) == 300
