import pytest
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.suspects.makers import failing_classes, is_maker

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
