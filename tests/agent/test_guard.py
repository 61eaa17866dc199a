import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent.guard import LimitReached, Limits, SafetyGuard, Spent

MANY = Limits(
    max_iterations=math.inf, max_runtime=math.inf, max_cost=math.inf, max_consecutive_failures=math.inf
)


def reached(guard, now=0.0):
    found = guard.check(now)
    return found and (found.limit, found.value, found.maximum)


def test_nothing_is_reached_at_first():
    assert SafetyGuard().check(1e9) is None


@pytest.mark.parametrize(
    ("limits", "turns", "costs", "expected"),
    [
        (Limits(), 99, 0.0, None),
        (Limits(), 100, 0.0, ("iterations", 100, 100)),
        (Limits(max_iterations=3), 4, 0.0, ("iterations", 4, 3)),
        (Limits(), 9, 1.0, None),
        (Limits(), 10, 1.0, ("cost", 10.0, 10.0)),
        (Limits(max_cost=0.25), 1, 0.25, ("cost", 0.25, 0.25)),
        (MANY, 500, 100.0, None),
    ],
)
def test_turns_and_costs_add_up(limits, turns, costs, expected):
    guard = SafetyGuard(limits)
    for _ in range(turns):
        guard.record_success(cost=costs)
    assert reached(guard) == expected


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ("ffff", None),
        ("fffff", ("failures", 5, 5)),
        ("ffffsf", None),
        ("sfffff", ("failures", 5, 5)),
    ],
)
def test_failures_count_in_a_row(turns, expected):
    guard = SafetyGuard()
    for turn in turns:
        (guard.record_failure if turn == "f" else guard.record_success)()
    assert reached(guard) == expected
    assert guard.spent.iterations == len(turns)


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([0, 14_399.5], None),
        ([0, 14_400], ("runtime", 14_400, 14_400)),
        ([1e6, 1e6 + 14_400], ("runtime", 14_400, 14_400)),
        ([-5.0, 14_395.0], ("runtime", 14_400, 14_400)),
        ([14_400], None),  # the first moment is the beginning
        ([0, 10_000, 5_000, 9_399], None),  # set back: what was counted stays, what was set back does not
        ([0, 10_000, 5_000, 9_400], ("runtime", 14_400, 14_400)),
    ],
)
def test_run_time_is_what_passed(moments, expected):
    guard = SafetyGuard()
    *before, last = moments
    for now in before:
        guard.check(now)
    assert reached(guard, last) == expected


def test_run_time_passes_with_what_is_recorded_too():
    guard = SafetyGuard()
    guard.record_success(now=10)
    guard.record_failure(now=15)
    assert guard.spent == Spent(iterations=2, runtime=5, failures=1)


def test_of_several_the_first_is_named():
    guard = SafetyGuard(Limits(max_iterations=1, max_runtime=1, max_cost=1, max_consecutive_failures=1))
    guard.record_failure(cost=1, now=0)
    assert reached(guard, 1) == ("iterations", 1, 1)


@pytest.mark.parametrize(
    ("limits", "cost", "now", "reason"),
    [
        (Limits(max_iterations=1), 0, 0, "1 turns, the limit is 1"),
        (Limits(), 0, 14_400.5, "14400.50 seconds of run time, the limit is 14400"),
        (Limits(), 12.3, 0, "12.30 cost, the limit is 10"),
        (Limits(max_consecutive_failures=1, max_iterations=9), 0, 0, "1 failures in a row, the limit is 1"),
    ],
)
def test_reason_says_what_and_how_much(limits, cost, now, reason):
    guard = SafetyGuard(limits)
    guard.check(0)
    guard.record_failure(cost=cost)
    found = guard.check(now)
    assert isinstance(found, LimitReached)
    assert found.reason == reason


@pytest.mark.parametrize("value", [-1, 0, 1.5, math.nan, True, "3", None, -math.inf])
@pytest.mark.parametrize("name", ["max_iterations", "max_consecutive_failures"])
def test_counts_are_whole_and_above_zero(name, value):
    with pytest.raises(
        ValueError, match=rf"^{name} is .*: it must be a whole number of at least 1, or math\.inf"
    ):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [-0.1, 0, math.nan, True, "3", None, -math.inf])
@pytest.mark.parametrize("name", ["max_runtime", "max_cost"])
def test_amounts_are_above_zero(name, value):
    with pytest.raises(ValueError, match=rf"^{name} is .*: it must be a number above 0"):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [0, -1, 2.0, math.nan, math.inf, True, "5"])
def test_window_holds_at_least_one(value):
    with pytest.raises(ValueError, match=r"^window is .*: it must be a whole number of at least 1$"):
        SafetyGuard(window=value)


@pytest.mark.parametrize("value", [-0.01, 1.01, 90, math.nan, math.inf, True, "0.9", None])
def test_threshold_is_a_share(value):
    with pytest.raises(ValueError, match=r"^threshold is .*: it must be a number from 0 to 1$"):
        SafetyGuard(threshold=value)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, 10**400, "1", True])
def test_costs_that_are_none_are_refused_and_not_counted(value):
    guard = SafetyGuard()
    with pytest.raises(ValueError, match=r"^cost is .*: it must be a finite number, at least 0$"):
        guard.record_success(cost=value)
    assert guard.spent == Spent()


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, "1", None])
def test_clock_has_to_be_one(value):
    with pytest.raises(ValueError, match=r"^now is .*: it must be a time in seconds"):
        SafetyGuard().check(value)


def test_reset_forgets_all():
    guard = SafetyGuard(Limits(max_consecutive_failures=1))
    guard.check(0)
    guard.record_failure(cost=3, now=9)
    guard.detect_loop("the same words")
    guard.reset()
    assert guard.spent == Spent()
    assert guard.check(1e6) is None
    assert not guard.detect_loop("the same words")


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=40), st.integers(1, 30), st.integers(1, 6)
)
def test_limit_is_reached_exactly_when_it_should_be(turns, most, failures):
    guard = SafetyGuard(Limits(max_iterations=most, max_consecutive_failures=failures, max_cost=20))
    row, cost = 0, 0.0
    for number, (is_good, price) in enumerate(turns, 1):
        (guard.record_success if is_good else guard.record_failure)(cost=price)
        row, cost = (0 if is_good else row + 1), cost + price
        expected = (
            "iterations"
            if number >= most
            else "cost"
            if cost >= 20
            else "failures"
            if row >= failures
            else None
        )
        found = guard.check(0)
        assert (found.limit if found else None) == expected
        assert found is None or found.value >= found.maximum
