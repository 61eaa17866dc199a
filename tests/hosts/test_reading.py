"""What hosts send after their documentation, read; and broken in every way: never anything but a PayloadError."""

import json

import pytest
from host_payloads import FOLDER, recorded
from hypothesis import given
from hypothesis import strategies as st

from loop_close.hosts import MAX_INPUT, Payload, PayloadError, host_named

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
SHOP = "/home/me/shop"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=5,
)


def host_of(name):
    return host_named(name.partition("-")[0])


def read(name, **changed):
    return host_of(name).read(recorded(name, **changed))


def refused(host, data):
    with pytest.raises(PayloadError) as caught:
        host.read(data)
    return str(caught.value)


def is_read(host, data):
    try:
        return bool(host.read(data).session)
    except PayloadError as error:
        return bool(str(error))


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("cursor-stop", Payload(session="cdefee2d", cwd=SHOP, event="stop", is_again=True)),
        ("cline-PostToolUse", Payload(session="1787414000000", cwd=SHOP, event="PostToolUse")),
    ],
)
def test_what_was_not_recorded_is_read(name, payload):
    assert read(name) == payload


@pytest.mark.parametrize(
    ("source", "is_start"), [("startup", True), ("clear", False), ("resume", False), ("compact", False)]
)
def test_a_session_that_is_resumed_does_not_begin(source, is_start):
    payload = read("claude-Stop", hook_event_name="SessionStart", source=source)
    assert (payload.event, payload.is_start) == ("SessionStart", is_start)


def test_stop_and_start_of_copilot_without_their_name():
    stop = read("copilot-SubagentStop", response=..., agentId=...)
    start = read("copilot-SubagentStop", response=..., stopReason=..., source="new")
    assert (stop.event, stop.is_start, stop.is_left_alone) == ("Stop", False, False)
    assert (start.event, start.is_start) == ("SessionStart", True)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("claude-Stop", {"background_tasks": [{"id": "b1"}]}),
        ("claude-Stop", {"agent_id": "a7"}),  # Copilot runs the hooks of Claude Code for its subagents, too
        ("claude-SubagentStop", {}),
        ("copilot-SubagentStop", {"response": ...}),
    ],
)
def test_who_waits_for_others(name, changed):
    assert read(name, **changed).is_left_alone


@pytest.mark.parametrize("tasks", [[], [{"id": "a3f9c2"}]])
def test_a_subagent_does_not_wait_for_itself(tasks):
    assert not read("claude-SubagentStop", background_tasks=tasks).is_left_alone


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("claude-PostToolUseFailure", {"is_interrupt": True}),
        ("cursor-stop", {"status": "aborted"}),
    ],
)
def test_whoever_aborts_is_not_overruled(name, changed):
    assert read(name, **changed).is_left_alone


@pytest.mark.parametrize("name", ["claude-Stop", "claude-SubagentStop", "codex-Stop"])
def test_subagents_have_a_session_each(name):
    assert len({read(name, agent_id=agent).session for agent in ("a", "b", ...)}) == 3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the input is not JSON from a coding agent: "),
        (b"{", "the input is not JSON from a coding agent: "),
        (b"[" * 200_000, "the input is not JSON from a coding agent: "),
        (b'{"a": ' + b"1" * 5_000 + b"}", "the input is not JSON from a coding agent: "),
        (b"[1]", "the input is not a JSON object"),
        (b"{}", "the event is ''; handled are "),
        (b" " * MAX_INPUT + b"{}", "the input is longer than 10,000,000 bytes"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_what_cannot_be_read_is_named(data, why):
    assert refused(host_named("claude"), data).startswith(why)


@pytest.mark.parametrize(
    ("name", "key", "value", "why"),
    [
        ("claude-Stop", "session_id", 7, "the input names no session"),
        ("codex-Stop", "session_id", "", "the input names no session"),
        ("openhands-Stop", "event_type", "PreToolUse", "'PreToolUse'; handled are Stop, SessionStart"),
    ],
)
def test_wrong_values_are_named(name, key, value, why):
    assert refused(host_of(name), recorded(name, **{key: value})).endswith(why)


@pytest.mark.parametrize("name", NAMES)
def test_keys_come_and_go(name):
    document = json.loads(recorded(name).decode("utf-8-sig"))
    more = json.dumps({"new_key": {"deep": [1]}, **document, "another": None}).encode()
    assert host_of(name).read(more) == read(name)
    for key in document:
        assert is_read(host_of(name), recorded(name, **{key: ...}))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_values_are_read_or_refused(name, data):
    key = data.draw(st.sampled_from(sorted(json.loads(recorded(name).decode("utf-8-sig")))))
    assert is_read(host_of(name), recorded(name, **{key: data.draw(VALUES)}))
