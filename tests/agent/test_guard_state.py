import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent import StateError
from loop_close.agent.guard import Limits, SafetyGuard

anything = st.text(st.characters(exclude_categories=()), max_size=20)


def saved(guard):
    return json.loads(json.dumps(guard.state()))


def used():
    guard = SafetyGuard()
    guard.record_success(cost=1.5, now=100)
    guard.record_failure(now=160)
    guard.detect_loop("what was said first")
    return guard


def test_goes_on_where_it_was():
    guard = SafetyGuard.from_state(saved(used()))
    assert guard.spent == used().spent
    assert guard.detect_loop("what was said first")


def test_no_time_passes_between_two_processes():
    guard = SafetyGuard.from_state(saved(used()))
    guard.check(5)  # another clock
    guard.check(7)
    assert guard.spent.runtime == 62


def test_settings_are_those_given_now():
    guard = SafetyGuard(window=5)
    for letter in "abc":
        guard.detect_loop(letter * 9)
    again = SafetyGuard.from_state(saved(guard), Limits(max_iterations=1), window=2)
    assert [output["text"][0] for output in again.state()["outputs"]] == ["b", "c"]
    again.record_success()
    assert again.check(0).limit == "iterations"


def test_credentials_are_not_saved():
    guard = SafetyGuard()
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    guard.detect_loop(f"I used {key} to push")
    guard.detect_loop("x" * 9_000 + f" {key} " + "y" * 9_000)
    assert key[:12] not in json.dumps(guard.state())


@given(st.lists(st.tuples(anything, st.booleans(), st.floats(0, 3)), max_size=10))
def test_a_kill_after_any_turn_changes_nothing(turns):
    one, other = SafetyGuard(), SafetyGuard()
    for output, is_good, cost in turns:
        for guard in (one, other):
            (guard.record_success if is_good else guard.record_failure)(cost=cost)
        assert one.detect_loop(output) == other.detect_loop(output)
        other = SafetyGuard.from_state(saved(other))
        assert one.check(0) == other.check(0)
        assert one.state() == other.state()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), [], "state is of type list, expected an object"),
        ((), None, "state is of type NoneType, expected an object"),
        (("version",), 2, "state.version is 2; this release reads version 1"),
        (("version",), True, "state.version is True; this release reads version 1"),
        (("version",), ..., "state.version is missing"),
        (("spent",), ..., "state.spent is missing"),
        (("spent",), 3, "state.spent is 3, expected an object"),
        (
            ("spent", "iterations"),
            -1,
            "state.spent.iterations is -1, expected a whole number of at least 0",
        ),
        (("spent", "iterations"), 1.0, "state.spent.iterations is 1.0, expected"),
        (("spent", "iterations"), 2**60, "state.spent.iterations is of type int, expected"),
        (("spent", "failures"), True, "state.spent.failures is True, expected"),
        (
            ("spent", "cost"),
            math.nan,
            "state.spent.cost is nan, expected a finite number of at least 0",
        ),
        (("spent", "runtime"), "1", "state.spent.runtime is '1', expected"),
        (("outputs",), "x", "state.outputs is 'x', expected a list"),
        (("outputs", 0), "x", "state.outputs[0] is of type str, expected an object"),
        (("outputs", 0, "text"), None, "state.outputs[0].text is None, expected a string"),
        (("outputs", 0, "length"), ..., "state.outputs[0].length is missing"),
    ],
)
def test_damage_is_named(path, value, message):
    with pytest.raises(StateError) as caught:
        SafetyGuard.from_state(damaged(saved(used()), path, value))
    assert str(caught.value).startswith(message)


def test_number_that_python_does_not_spell_is_named():
    with pytest.raises(StateError, match=r"^state\.spent\.cost is of type int, expected a finite number"):
        SafetyGuard.from_state(damaged(saved(used()), ("spent", "cost"), 10**5000))


def damaged(state, path, value):
    if not path:
        return value
    *above, last = path
    inner = state
    for step in above:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return state


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from([(), ("version",), ("spent",), ("spent", "cost"), ("outputs",), ("outputs", 0)]),
    json_values,
)
def test_damage_is_never_another_error(path, value):
    try:
        guard = SafetyGuard.from_state(damaged(saved(used()), path, value))
    except StateError:
        return
    assert guard.check(0) is None or guard.spent.cost >= 10
