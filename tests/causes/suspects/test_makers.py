import pytest
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.suspects.makers import failing_classes, is_maker, is_of_the_exception

LACKS = raised("AttributeError", frames=[in_test()], details={"owner": "shop.cart.Cart", "name": "items"})


@pytest.mark.parametrize(
    ("exc", "classes"),
    [
        (None, set()),
        (verdict(), set()),
        (LACKS, {"Cart"}),
        (raised(frames=[frame(function="total")]), set()),
        (
            raised(frames=[in_test(), frame(function="Shop.total"), frame(function="shop.Cart.total")]),
            {"Cart"},
        ),
        (raised(frames=[frame(function="total"), in_test("TestCart.test_total")]), set()),
        (raised("ValueError", frames=[frame(function="Cart.tax")], cause=LACKS), {"Cart"}),
    ],
)
def test_classes_of_a_failure(exc, classes):
    assert failing_classes([failure(exc)]) == classes


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("Cart.__init__", True),
        ("make.<locals>.Cart.__post_init__", True),
        ("Cart.__new__", True),
        ("Cart.total", False),
        ("Shop.__init__", False),
        ("__init__", False),
        ("Cart", False),
    ],
)
def test_makers(function, expected):
    assert is_maker(function, frozenset({"Cart"})) is expected


def test_a_function_of_no_class_makes_nothing():
    assert not is_maker("__init__", failing_classes([failure(raised(frames=[frame(function="f")]))]))


SHOP_ERROR = raised("CartError", bases=("ShopError", "Exception"))


@pytest.mark.parametrize(
    ("function", "raises", "expected"),
    [
        ("CartError.__init__", [], False),
        ("CartError.__init__", [None], False),
        ("CartError.__init__", [raised()], False),
        ("CartError.__init__", [SHOP_ERROR, raised()], False),
        ("CartError.__init__", [verdict(context=SHOP_ERROR)], False),  # a test that judges the error's text
        ("CartError.__str__", [SHOP_ERROR], False),
        ("Cart.__init__", [SHOP_ERROR], False),
        ("__init__", [SHOP_ERROR], False),
        ("CartError.__init__", [SHOP_ERROR], True),
        ("ShopError.__init__", [SHOP_ERROR, SHOP_ERROR], True),
        ("make.<locals>.CartError.__new__", [SHOP_ERROR], True),
    ],
)
def test_constructors_of_the_exception_itself(function, raises, expected):
    assert is_of_the_exception(function, [failure(exc) for exc in raises]) is expected
