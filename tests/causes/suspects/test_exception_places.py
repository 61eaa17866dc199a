import pytest
from called import CART
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.suspects.places import handlers, is_named, places
from loop_close.model import Evidence, RootCause, Site


def cause(exc):
    return RootCause(
        id="0", kind="test-failure", evidence=(Evidence(kind="", snippet="", failure=failure(exc)),)
    )


def placed(message="one", function="total", **fields):
    return cause(raised(message=message, frames=[in_test(), frame(CART, function)], **fields))


def test_by_function():
    site = Site(frame=frame(CART, "total"), statement="return items[0]")
    found = places([placed(site=site), placed(type="KeyError"), placed("tax() missing 1 argument", "tax")])
    assert {name: sorted(each) for (_, name), each in found.items()} == {
        "total": [("KeyError", "statement()", ""), ("ValueError", "return items[0]", "")],
        "tax": [("ValueError", "statement()", "tax")],
    }


def test_verdicts_and_what_tests_raise_come_out_of_none():
    assert places([cause(verdict()), cause(raised(frames=[in_test()])), cause(None)]) == {}


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (raised(), False),
        (None, True),
        (raised(type="NameError", details={"name": "x"}), True),
        (raised(type="AttributeError", details={"name": "x", "owner": "Cart"}), False),
    ],
)
def test_told_by_a_name(exc, expected):
    assert is_named(cause(exc)) is expected


def test_what_raised_another_exception_over_one():
    first = raised(type="KeyError", frames=[in_test(), frame(CART, "run"), frame(CART, "total")])
    over = raised(frames=[in_test(), frame(CART, "run.<locals>.<lambda>")], cause=first)
    assert handlers([failure(over), failure(first), failure(None)]) == {(CART, "run")}
