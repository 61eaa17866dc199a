import pytest
from called import CART
from records import failure, frame, in_test, observed, raised, verdict

from loop_close.causes.clues import is_named
from loop_close.causes.locate import handlers, raising_place
from loop_close.judge import report_of
from loop_close.model import Evidence, RootCause, Site


def cause(exc):
    return RootCause(
        id="0", kind="test-failure", evidence=(Evidence(kind="", snippet="", failure=failure(exc)),)
    )


def placed(message="one", function="total", **fields):
    return cause(raised(message=message, frames=[in_test(), frame(CART, function)], **fields))


def test_by_function():
    site = Site(frame=frame(CART, "total"), statement="return items[0]")
    wrong_call = placed("tax() missing 1 argument", "tax", type="TypeError")
    causes = [placed(site=site), placed(type="KeyError"), wrong_call]
    assert [raising_place(each) for each in causes] == [
        ((CART, "total"), ("ValueError", "return items[0]", "")),
        ((CART, "total"), ("KeyError", "statement()", "")),
        ((CART, "tax"), ("TypeError", "statement()", "tax")),
    ]


@pytest.mark.parametrize("exc", [verdict(), raised(frames=[in_test()]), None])
def test_verdicts_and_what_tests_raise_come_out_of_none(exc):
    assert raising_place(cause(exc)) is None


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


def test_what_raised_one_again():
    again = raised(frames=[in_test(), frame(CART, "pay"), frame(CART, "fail", is_handing_on=True)])
    assert handlers([failure(again)]) == {(CART, "fail")}


@pytest.mark.parametrize("name", ["NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError"])
def test_where_a_name_is_missing_is_surer_than_where_another_exception_was_raised(name):
    bases = {"UnboundLocalError": ("NameError",), "ModuleNotFoundError": ("ImportError",)}.get(name, ())
    scores = []
    for exc in (raised(), raised(name, bases=bases)):
        (cause,) = report_of(observed(failure(exc))).causes
        scores.append([each.score for each in cause.suspects])
    assert scores == [[0.664], [0.873]]
