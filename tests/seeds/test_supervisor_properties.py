import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_calls import ADVANCED, MACHINE, REPEATED, STALLED, error, ok, told

from loop_close.seeds.supervisor import Supervisor, ToolResult, ToolState

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
hostile = st.text(st.characters(exclude_categories=()), max_size=20)
results = st.builds(
    ToolResult,
    tool=st.sampled_from("tu"),
    input=st.integers(0, 2),
    content=st.sampled_from(["a", "b", "timed out"]),
    is_error=st.booleans(),
    meta=st.sampled_from([{}, {}, STALLED, ADVANCED, MACHINE]),
)


@given(st.lists(st.tuples(st.sampled_from("tuv"), st.integers()), unique=True, max_size=40))
def test_different_results_never_trip(pairs):
    assert set(told([ok(f"item number {n}", tool, input={"n": n}) for tool, n in pairs])) <= {"."}
    assert set(told([error(f"error {n} ", tool) for tool, n in pairs])) <= {"."}


@given(st.integers(2, 6), json_values, hostile, st.booleans())
def test_trips_exactly_at_the_threshold(repeats, value, content, is_error):
    result = ToolResult(tool="t", input=value, content=f"word {content}", is_error=is_error)
    assert told([result] * repeats, repeats=repeats) == ["."] * (repeats - 1) + [f"repeated {repeats}"]


@given(st.dictionaries(hostile, json_values, min_size=2, max_size=4))
def test_order_of_keys_does_not_matter(value):
    backwards = dict(reversed(value.items()))
    assert told([ok("x", input=value), ok("x", input=backwards), ok("x", input=value)])[-1] == REPEATED
    assert told([ok([value]), ok([backwards]), ok([value])])[-1] == REPEATED


@given(st.lists(results, max_size=40), st.lists(st.integers(0, 40), max_size=10))
def test_faults_of_the_machine_change_nothing(sequence, places):
    mixed = list(sequence)
    for place in places:
        mixed.insert(place, error("gone", meta=MACHINE))
    answers = zip(mixed, told(mixed), strict=True)
    assert [answer for result, answer in answers if result.content != "gone"] == told(sequence)


@given(st.lists(results, max_size=40))
def test_a_kill_after_any_result_changes_nothing(sequence):
    one, other = Supervisor(), Supervisor()
    for result in sequence:
        assert one.observe(result) == other.observe(result)
        other = Supervisor(msgspec.convert(msgspec.to_builtins(other.tools), dict[str, ToolState]))
        assert one.tools == other.tools


@given(
    hostile,
    hostile | json_values | st.lists(hostile | json_values),
    json_values,
    st.dictionaries(hostile, json_values),
)
def test_anything_is_taken(tool, content, value, meta):
    supervisor = Supervisor()
    for is_error in (True, False, True, True, True):
        supervisor.observe(ToolResult(tool=tool, input=value, content=content, is_error=is_error, meta=meta))
    json.dumps(msgspec.to_builtins(supervisor.tools))


def endless():
    deep = []
    deep.append(deep)
    return deep


@pytest.mark.parametrize(
    "value",
    [endless(), 10**5000, {1: "a", "b": 2}, {"a": {1, 2}}, b"bytes", object],
    ids=["endless", "huge", "mixed keys", "set", "bytes", "class"],
)
def test_what_json_cannot_hold_is_taken(value):
    assert told([ok([value], input=value)] * 3) == [".", ".", REPEATED]
