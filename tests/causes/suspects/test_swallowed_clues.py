import pytest
from called import CART, called, calls, nodeid
from records import failure, frame, in_test, raised, verdict

from loop_close.calls import Swallowed
from loop_close.causes.clues import swallowed_for, swallowed_words
from loop_close.causes.rank import found_for, scored, suspects_among
from loop_close.causes.spectrum import Counted
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=30, lines={1: 30, 2: 0})
HANDLE = called("handle", 30, passed=30, lines={1: 30})
TESTS = ("test_a", "test_b", "test_c")


def cause(*failures):
    failures = failures or tuple(failure(verdict(test=name), nodeid(name)) for name in TESTS)
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in failures)
    return RootCause(id="00000000", kind="test-failure", evidence=evidence)


def lost(failed=TESTS, passed=0, line=12, **fields):
    fields = {"function": "total", "type": "ValueError", "caught": f"{CART}:33", "file": CART, **fields}
    return Swallowed(line=line, failed=frozenset(map(nodeid, failed)), passed=passed, **fields)


def known(*swallowed, passed=36, **fields):
    ran = {name: [(0, 1), (0, 2), (1, 1)] for name in TESTS}
    return calls(TOTAL, HANDLE, passed=passed, **ran)._replace(swallowed=swallowed, **fields)


@pytest.mark.parametrize(
    "each",
    [
        lost(passed=36),
        lost(passed=12),
        lost(failed=["test_a"]),
        lost(failed=["test_x"]),
        lost(file="tests/test_cart.py"),
        lost(caught="tests/test_cart.py:3"),
    ],
)
def test_what_says_nothing(each):
    assert swallowed_for(cause(), known(each)) == ()


def test_nothing_known():
    assert swallowed_for(cause(), None) == ()
    assert swallowed_for(cause(), calls(passed=3)) == ()
    assert swallowed_for(RootCause(id="0", kind="crash", evidence=()), known(lost())) == ()


SHOWN = raised(frames=[in_test(), frame(CART, "total", 12)])


@pytest.mark.parametrize(
    ("exc", "is_shown"),
    [
        (SHOWN, True),
        (raised("KeyError", frames=[in_test()], cause=SHOWN), True),
        (raised("KeyError", frames=[in_test()], cause=raised("KeyError"), context=SHOWN), True),
        (raised("ExceptionGroup", frames=[in_test()], members=(SHOWN,)), True),
        (raised("KeyError", frames=[in_test(), frame(CART, "total", 12)]), False),
        (raised(frames=[in_test(), frame(CART, "total", 13)]), False),
        (None, False),
    ],
)
def test_on_a_traceback_of_the_failure(exc, is_shown):
    assert (swallowed_for(cause(failure(exc, nodeid("test_a"))), known(lost())) == ()) is is_shown


def test_order_and_number():
    few, none, half = lost(passed=2, line=11), lost(), lost(failed=TESTS[:2], line=13)
    found = swallowed_for(cause(), known(half, few, none, lost(line=14), lost(line=15)))
    assert [each.line for each in found] == [12, 14, 15]
    assert [each.line for each in swallowed_for(cause(), known(half, few, none))] == [12, 11, 13]


def test_tests_of_other_root_causes_do_not_count():
    (found,) = swallowed_for(cause(), known(lost(failed=[*TESTS, "test_x"])))
    assert found.failed == {*map(nodeid, TESTS)}


NONE_PASSING = "in 3 of 3 failing and 0 of 36 passing tests"


@pytest.mark.parametrize(
    ("each", "fields", "expected"),
    [
        (lost(), {}, f"raised ValueError that handle() caught, {NONE_PASSING}"),
        (lost(passed=1), {}, "raised ValueError that handle() caught, in 3 of 3 failing and 1 of 36 passing tests"),
        (lost(caught=f"{CART}:14"), {}, f"raised ValueError that it caught itself, {NONE_PASSING}"),
        (lost(caught="click.testing"), {}, f"raised ValueError that click.testing caught, {NONE_PASSING}"),
        (lost(caught="a:b"), {}, f"raised ValueError that a:b caught, {NONE_PASSING}"),
        (lost(caught="other.py:7"), {}, f"raised ValueError that other.py:7 caught, {NONE_PASSING}"),
        (lost(caught=""), {}, f"raised ValueError that no test saw, {NONE_PASSING}"),
        (lost(), {"cut": 1}, "raised ValueError that handle() caught, in 3 of 3 failing tests"),
        (lost(), {"remembered": 36}, "raised ValueError that handle() caught, in 3 of 3 failing tests"),
    ],
)  # fmt: skip
def test_words(each, fields, expected):
    assert swallowed_words(each, 3, known(**fields)) == expected


@pytest.mark.parametrize(("line", "is_shown"), [(12, True), (11, False)])
def test_counts_of_an_earlier_run_are_those_of_its_lines(line, is_shown):
    found = swallowed_for(cause(), known(lost(line=line), remembered=36))
    assert bool(found) is is_shown


def test_suspect():
    def first(*swallowed):
        found = suspects_among(scored(found_for(cause(), Counted(known(*swallowed)))))
        return next(each for each in found if each.function == "total")

    (reason,) = first(lost()).reasons
    assert reason == "raised ValueError that handle() caught, in 3 of 3 failing and 0 of 36 passing tests"
    assert first().reasons == ()
    assert first(lost()).score > first().score
    assert first(lost(passed=36)).score == first().score
