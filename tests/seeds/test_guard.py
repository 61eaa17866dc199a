import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_close.seeds.guard import LimitReached, Limits, SafetyGuard, Spent, similarity

MANY = Limits(
    max_iterations=math.inf, max_runtime=math.inf, max_cost=math.inf, max_consecutive_failures=math.inf
)


def reached(guard, now=0.0):
    found = guard.check(now)
    return found and found.limit


@pytest.mark.parametrize(
    ("limits", "turns", "costs", "expected"),
    [
        (Limits(), 99, 0.0, None),
        (Limits(), 100, 0.0, "iterations"),
        (Limits(), 9, 1.0, None),
        (Limits(), 10, 1.0, "cost"),
        (MANY, 500, 100.0, None),
    ],
)
def test_turns_and_costs_add_up(limits, turns, costs, expected):
    guard = SafetyGuard(limits)
    for _ in range(turns):
        guard.record_success(cost=costs)
    assert reached(guard) == expected


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([0, 14_399.5], None),
        ([0, 14_400], "runtime"),
        ([1e6, 1e6 + 14_400], "runtime"),
        ([-5.0, 14_395.0], "runtime"),
        ([14_400], None),  # the first moment is the beginning
        ([0, 10_000, 5_000, 9_399], None),  # set back: what was counted stays, what was set back does not
        ([0, 10_000, 5_000, 9_400], "runtime"),
    ],
)
def test_run_time_is_what_passed(moments, expected):
    guard = SafetyGuard()
    *before, last = moments
    for now in before:
        guard.check(now)
    assert reached(guard, last) == expected


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


@pytest.mark.parametrize("value", [-1, 0, math.nan, -math.inf])
@pytest.mark.parametrize("name", ["max_iterations", "max_consecutive_failures", "max_runtime", "max_cost"])
def test_limits_are_above_zero(name, value):
    with pytest.raises(ValueError, match=rf"^{name} is .*: it must be a number above 0, or math\.inf"):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_at_least_one_output_is_kept(value):
    with pytest.raises(ValueError, match=r"^max_recent_outputs is .*: it must be a number of at least 1$"):
        SafetyGuard(max_recent_outputs=value)


@pytest.mark.parametrize("value", [-0.01, 1.01, 90, math.nan, math.inf])
def test_threshold_is_a_share(value):
    with pytest.raises(ValueError, match=r"^loop_threshold is .*: it must be a number from 0 to 1$"):
        SafetyGuard(loop_threshold=value)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_costs_that_are_none_are_refused_and_not_counted(value):
    guard = SafetyGuard()
    with pytest.raises(ValueError, match=r"^cost is .*: it must be a number of at least 0$"):
        guard.record_success(cost=value)
    assert guard.spent == Spent()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_clock_has_to_be_one(value):
    with pytest.raises(ValueError, match=r"^now is .*: it must be a number of seconds"):
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


# --- repetition

anything = st.text(st.characters(exclude_categories=()))
#: No two of them are alike.
DISTINCT = ["a" * 20, "b" * 20, "c" * 20, "d" * 20, "e" * 20, "f" * 20, "g" * 20]


def found_in(outputs, **settings):
    guard = SafetyGuard(**settings)
    return [guard.detect_loop(output) for output in outputs]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (DISTINCT, [False] * 7),
        (["I fixed it.", "I fixed it."], [False, True]),
        (
            ["Processing the user data...", "Creating the schema...", "Processing the user data…"],
            [False, False, True],
        ),
        (["a" * 20, "a" * 18 + "bb"], [False, True]),  # 0.90 to the digit
        (["a" * 20, "a" * 17 + "bbb"], [False, False]),
        (["", " \n\t", "", "\u200b\x1b[0m", None], [False] * 5),
        ([*DISTINCT[:5], DISTINCT[0]], [False] * 5 + [True]),
        ([*DISTINCT[:6], DISTINCT[0]], [False] * 7),  # the first is out of the window
        ([*DISTINCT[:5], "", " ", DISTINCT[0]], [False] * 7 + [True]),  # empty ones push nothing out
    ],
)
def test_loops(outputs, expected):
    assert found_in(outputs) == expected


@pytest.mark.parametrize(
    ("settings", "outputs", "expected"),
    [
        ({"loop_threshold": 0.95}, ["a" * 20, "a" * 18 + "bb"], [False, False]),
        ({"loop_threshold": 0.85}, ["a" * 20, "a" * 17 + "bbb"], [False, True]),
        ({"loop_threshold": 1}, ["Hello world", "Hello world!", "Hello world"], [False, False, True]),
        ({"loop_threshold": 0}, ["a", "b"], [False, True]),
        ({"max_recent_outputs": 1}, ["a" * 9, "b" * 9, "a" * 9], [False, False, False]),
        ({"max_recent_outputs": 7}, [*DISTINCT, DISTINCT[0]], [False] * 7 + [True]),
    ],
)
def test_settings(settings, outputs, expected):
    assert found_in(outputs, **settings) == expected


def test_of_long_outputs_the_ends_count():
    head, tail = "x" * 20_000, "y" * 20_000
    assert found_in([head + tail, head + "changed" + tail]) == [False, True]
    assert found_in([head + tail, tail + head]) == [False, False]


@given(st.lists(anything, max_size=8), st.integers(1, 4), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_any_text_is_taken(outputs, window, threshold):
    guard = SafetyGuard(max_recent_outputs=window, loop_threshold=threshold)
    for output in outputs:
        is_loop = guard.detect_loop(output)
        assert (guard.found is not None) == is_loop
        assert not is_loop or guard.found >= threshold
        assert len(guard.spent.outputs) <= window


@settings(max_examples=10)
@given(st.sampled_from(["\ud800", "\0", "\x1b[31m", "`", "token=abcd1234 ", "\n", "(", "é\u200b"]))
def test_long_hostile_texts_are_kept_short(piece):
    guard = SafetyGuard()
    guard.detect_loop(piece * 60_000)
    assert all(len(output) < 20_000 for output in guard.spent.outputs)


# --- the document's own examples, with what rapidfuzz gives for them


@pytest.mark.parametrize(
    ("one", "other", "ratio", "expected"),
    [
        ("Hello world", "Hello world!", "ratio", 0.957),
        ("Processing the user data...", "Processing user data now...", "ratio", 0.852),
        (
            "Let me check the database for user information...",
            "Checking the database for user information...",
            "ratio",
            0.872,
        ),
        ("user data", "Processing the user data...", "partial_ratio", 1.0),
        ("fix the parser now", "now fix the parser", "token_sort_ratio", 1.0),
    ],
)
def test_ratios(one, other, ratio, expected):
    assert (
        similarity(one, other, ratio) == similarity(other, one, ratio) == pytest.approx(expected, abs=0.001)
    )


@pytest.mark.parametrize(
    ("ratio", "outputs"),
    [
        (
            "partial_ratio",
            ["I fixed the parser.", "As before: I fixed the parser. The tests are next, in a moment."],
        ),
        ("token_sort_ratio", ["the parser is fixed now", "now the parser is fixed"]),
    ],
)
def test_ratio_is_an_option_of_the_guard(ratio, outputs):
    assert found_in(outputs, ratio=ratio) == [False, True]
    assert found_in(outputs) == [False, False]


# --- going on in another process


def resumed(guard):
    """The guard in another process."""
    spent = msgspec.json.decode(msgspec.json.encode(guard.spent), type=Spent)
    return SafetyGuard(spent=spent)


def test_no_time_passes_between_two_processes():
    before = SafetyGuard()
    before.record_success(now=100)
    before.record_failure(now=160)
    guard = resumed(before)
    guard.check(5)  # another clock
    guard.check(7)
    assert guard.spent.runtime == 62


def test_credentials_are_not_saved():
    guard = SafetyGuard()
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    guard.detect_loop(f"I used {key} to push")
    guard.detect_loop("x" * 9_000 + f" {key} " + "y" * 9_000)
    assert key[:12] not in "".join(guard.spent.outputs)


@given(st.lists(st.tuples(anything, st.booleans(), st.floats(0, 3)), max_size=10))
def test_a_kill_after_any_turn_changes_nothing(turns):
    one, other = SafetyGuard(), SafetyGuard()
    for output, is_good, cost in turns:
        for guard in (one, other):
            (guard.record_success if is_good else guard.record_failure)(cost=cost)
        assert one.detect_loop(output) == other.detect_loop(output)
        other = resumed(other)
        assert one.check(0) == other.check(0)
        assert one.spent == other.spent
