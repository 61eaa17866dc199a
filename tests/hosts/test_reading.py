"""What hosts send, broken in every way: named, and never anything but a PayloadError."""

import json

import pytest
from host_payloads import FOLDER, recorded
from hypothesis import given
from hypothesis import strategies as st

from loop_close.hosts import MAX_INPUT, PayloadError, all_hosts, host_named

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
STOPS = ["claude-Stop", "codex-Stop", "gemini-AfterAgent"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=5,
)

every_host = pytest.mark.parametrize("host", all_hosts(), ids=lambda host: host.name)


def refused(host, data):
    with pytest.raises(PayloadError) as caught:
        host.read(data)
    return str(caught.value)


def outcome(host, data):
    """The session that was read, and why none was."""
    try:
        return host.read(data).session, ""
    except PayloadError as error:
        return "", str(error)


def host_of(name):
    return host_named(name.partition("-")[0])


@every_host
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the input is empty; expected JSON from a coding agent"),
        (b" \n", "the input is empty; expected JSON from a coding agent"),
        (b"{", "the input is invalid JSON: Expecting property name enclosed in double quotes"),
        (b"\xff", "the input is invalid UTF-8 at byte 0"),
        (b'{"a": "\xc3\x28"}', "the input is invalid UTF-8 at byte 7"),
        (b"[1]", "the input is a list, not an object"),
        (b"null", "the input is null, not an object"),
        (b"true", "the input is a boolean, not an object"),
        (b"7", "the input is a number, not an object"),
        (b'"{}"', "the input is a string, not an object"),
        (b"[" * 200_000, "the input is invalid JSON: "),
        (b'{"a": ' + b"1" * 5_000 + b"}", "the input is invalid JSON: "),
        (b" " * MAX_INPUT + b"{}", "the input is longer than 10,000,000 bytes"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_what_is_no_object_is_named(host, data, why):
    assert refused(host, data).startswith(why)


@every_host
def test_object_with_nothing_in_it_is_refused(host):
    assert "is missing or empty" in refused(host, b"{}")


@pytest.mark.parametrize("name", NAMES)
def test_keys_come_and_go(name):
    host, document = host_of(name), json.loads(recorded(name).decode("utf-8-sig"))
    more = json.dumps({"new_key": {"deep": [1]}, **document, "another": None}).encode()
    assert host.read(more) == host.read(recorded(name))
    for key in document:
        less = json.dumps({k: v for k, v in document.items() if k != key}).encode()
        session, error = outcome(host, less)
        assert session or key in error


@pytest.mark.parametrize(
    ("name", "key", "value", "why"),
    [
        *((name, "session_id", 7, "session_id is a number, not a string") for name in STOPS),
        *((name, "session_id", "", "session_id is missing or empty") for name in STOPS),
        *((name, "cwd", ["/a"], "cwd is a list, not a string") for name in STOPS),
        *((name, "cwd", "/a\0b", "cwd is not a path: it contains a NUL byte") for name in STOPS),
        *((name, "stop_hook_active", "no", "stop_hook_active is a string, not a boolean") for name in STOPS),
        *((name, "stop_hook_active", 1, "stop_hook_active is a number, not a boolean") for name in STOPS),
        *((name, "hook_event_name", {}, "hook_event_name is an object, not a string") for name in STOPS),
        ("claude-Stop", "background_tasks", {}, "background_tasks is an object, not a list"),
        ("codex-Stop", "last_assistant_message", 1.5, "last_assistant_message is a number, not a string"),
        ("openhands-Stop", "working_dir", True, "working_dir is a boolean, not a string"),
        ("openhands-Stop", "event_type", "PreToolUse", "event_type is 'PreToolUse'; loop-close handles Stop"),
        ("cursor-stop", "loop_count", "2", "loop_count is a string, not a whole number"),
        ("cursor-stop", "loop_count", True, "loop_count is True, not a whole number of at least 0"),
        ("cursor-stop", "loop_count", -1, "loop_count is -1, not a whole number of at least 0"),
        ("cursor-stop", "loop_count", 1.5, "loop_count is a number, not a whole number"),
        ("cursor-stop", "workspace_roots", "/a", "workspace_roots is a string, not a list"),
        ("cursor-stop", "workspace_roots", [7], "workspace_roots is a number, not a string"),
        ("cursor-stop", "conversation_id", ..., "conversation_id and session_id is missing or empty"),
        ("cline-tool_result", "workspaceInfo", [], "workspaceInfo is a list, not an object"),
        ("cline-PostToolUse", "taskId", None, "taskId is missing or empty"),
    ],
)
def test_wrong_types_are_named(name, key, value, why):
    assert refused(host_of(name), recorded(name, **{key: value})) == why


def test_half_a_surrogate_pair_can_be_written_on():
    payload = host_named("claude").read(recorded("claude-Stop", session_id="a\ud800b"))
    assert payload.session == "a?b"


@every_host
@given(data=st.binary())
def test_bytes_are_read_or_refused(host, data):
    assert any(outcome(host, data))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_values_are_read_or_refused(name, data):
    document = json.loads(recorded(name).decode("utf-8-sig"))
    key = data.draw(st.sampled_from(sorted(document)))
    changed = json.dumps({**document, key: data.draw(VALUES)}).encode()
    assert any(outcome(host_of(name), changed))


def test_hosts_are_found_by_name():
    assert [host.name for host in all_hosts()] == [
        "claude",
        "codex",
        "gemini",
        "openhands",
        "cursor",
        "cline",
        "copilot",
    ]
    assert all(host_named(host.name) is host for host in all_hosts())


@pytest.mark.parametrize("name", ["", "Claude", "aider"])
def test_unknown_host_names_the_known_ones(name):
    with pytest.raises(
        ValueError, match="known hosts: claude, codex, gemini, openhands, cursor, cline, copilot"
    ) as caught:
        host_named(name)
    assert repr(name) in str(caught.value)
