import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent import StateError
from loop_close.agent.supervisor import Supervisor, SupervisorLimits, ToolResult


def bad(tool):
    return ToolResult(tool=tool, content="bad", is_error=True)


def saved():
    supervisor = Supervisor()
    for tool in ("stuck", "stuck", "stuck", "free", "free"):
        supervisor.observe(bad(tool))
    return json.loads(json.dumps(supervisor.state()))


def test_goes_on_where_it_was():
    supervisor = Supervisor.from_state(saved())
    assert supervisor.disabled == {"stuck"}
    assert supervisor.observe(bad("stuck")).count == 3
    assert supervisor.observe(bad("free")).kind == "repeated"


def test_limits_are_those_given_now():
    supervisor = Supervisor.from_state(saved(), SupervisorLimits(repeats=4))
    assert supervisor.observe(bad("free")) is None
    assert supervisor.observe(bad("free")).count == 4


def test_state_holds_no_content():
    supervisor = Supervisor()
    supervisor.observe(ToolResult(tool="t", input="the input", content="the content"))
    text = json.dumps(supervisor.state())
    assert "the input" not in text
    assert "the content" not in text


def test_state_is_bounded():
    supervisor = Supervisor()
    for n in range(500):
        supervisor.observe(ToolResult(tool="t", input=n, content="x" * n))
    assert len(json.dumps(supervisor.state())) < 5_000


STUCK, FREE = ("tools", "stuck"), ("tools", "free")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), "x", "state is of type str, expected an object"),
        (("version",), "1", "state.version is '1'; this release reads version 1"),
        (("tools",), [], "state.tools is of type list, expected an object"),
        (FREE, 1, "state.tools['free'] is 1, expected an object"),
        ((*FREE, "marks"), 1, "state.tools['free'].marks is 1, expected a list"),
        ((*FREE, "marks"), ["a", 2], "state.tools['free'].marks[1] is 2, expected a string"),
        ((*FREE, "contents"), ["a"], "state.tools['free'].contents has 1 strings, expected 2"),
        ((*FREE, "seen"), ..., "state.tools['free'].seen is missing"),
        ((*FREE, "missed"), -1, "state.tools['free'].missed is -1, expected a whole number"),
        ((*STUCK, "stuck_on"), None, "state.tools['stuck'].stuck_on is None, expected a list"),
        ((*STUCK, "trip"), 1, "state.tools['stuck'].trip is 1, expected an object"),
        (
            (*STUCK, "trip", "kind"),
            "x",
            "state.tools['stuck'].trip.kind is 'x', expected one of repeated, cycle",
        ),
        ((*STUCK, "trip", "count"), "3", "state.tools['stuck'].trip.count is '3', expected a whole number"),
        ((*STUCK, "trip", "text"), None, "state.tools['stuck'].trip.text is None, expected a string"),
    ],
)
def test_damage_is_named(path, value, message):
    with pytest.raises(StateError) as caught:
        Supervisor.from_state(damaged(saved(), path, value))
    assert str(caught.value).startswith(message)


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


def test_text_of_a_trip_is_made_safe_again():
    state = damaged(saved(), (*STUCK, "trip", "text"), "\x1b[31mred\u202e" + "x" * 5_000)
    text = Supervisor.from_state(state).trips["stuck"].text
    assert text.startswith(r"red\u202ex")
    assert len(text) < 1_000


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from([(), ("tools",), STUCK, (*STUCK, "trip"), (*STUCK, "marks"), (*FREE, "missed")]), values
)
def test_damage_is_never_another_error(path, value):
    try:
        supervisor = Supervisor.from_state(damaged(saved(), path, value))
    except StateError:
        return
    supervisor.observe(bad("stuck"))
    supervisor.observe(bad("free"))
