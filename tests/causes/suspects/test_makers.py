import pytest
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.clues import failing_classes, is_of_the_exception, maker_share

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
    assert failing_classes([failure(exc)]) == dict.fromkeys(classes, 1.0)


def test_a_class_counts_by_its_share_of_the_failures():
    assert failing_classes([failure(LACKS), *[failure(verdict())] * 3]) == {"Cart": 0.25}


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
    assert maker_share(function, {"Cart": 0.5}) == 0.5 * expected


def test_a_function_of_no_class_makes_nothing():
    assert maker_share("__init__", failing_classes([failure(raised(frames=[frame(function="f")]))])) == 0


CUSTOM = raised("Refused", frames=[in_test()], bases=("ShopError", "Exception"))


@pytest.mark.parametrize(
    ("function", "exceptions", "expected"),
    [
        ("Refused.total", [CUSTOM], False),
        ("__init__", [CUSTOM], False),
        ("Cart.__init__", [CUSTOM], False),
        ("Refused.__init__", [CUSTOM, verdict()], False),
        ("Refused.__init__", [None], False),
        ("Refused.__init__", [CUSTOM], True),
        ("ShopError.__init__", [CUSTOM, CUSTOM], True),
    ],
)
def test_what_makes_the_exception_itself(function, exceptions, expected):
    assert is_of_the_exception(function, [failure(each) for each in exceptions]) is expected
