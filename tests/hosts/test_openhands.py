"""OpenHands: what it sends, and the exact answers."""

import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import ConfigError, Payload, PayloadError
from loop_close.hosts.openhands import HOST, path


def test_stop_is_read():
    assert HOST.read(recorded("openhands-Stop")) == Payload(
        session="8e0c", cwd="/workspace/shop", event="Stop", is_stop=True, is_again=None
    )


def test_keys_of_other_hosts_are_none():
    with pytest.raises(PayloadError, match="event_type is missing or empty"):
        HOST.read(recorded("openhands-Stop", event_type=..., hook_event_name="Stop"))


def test_agent_is_sent_back():
    answer = HOST.go_on(HOST.read(recorded("openhands-Stop")), "1 failed\nAll of it: nextprompt.md")
    assert answer == r'{"decision":"deny","additionalContext":"1 failed\nAll of it: nextprompt.md"}'


def test_end_and_information_are_nothing_as_both_would_send_it_back():
    payload = HOST.read(recorded("openhands-Stop"))
    assert (HOST.end(payload, REASON), HOST.inform(payload, REASON)) == ("", "")


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(text):
    assert HOST.go_on(HOST.read(recorded("openhands-Stop")), text) == ""


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({}, ("stop",)),
        ({"stop": []}, ("stop",)),
        ({"Stop": []}, ("Stop",)),
        ({"pre_tool_use": []}, ("stop",)),
        ({"hooks": {}}, ("hooks", "Stop")),
        ({"hooks": {"stop": []}}, ("hooks", "stop")),
        ({"hooks": {"Stop": []}}, ("hooks", "Stop")),
        ({"hooks": 7}, ("hooks", "Stop")),
    ],
)
def test_hooks_are_where_the_file_has_them(document, found):
    assert path(document) == found


def test_both_spellings_are_refused():
    with pytest.raises(ConfigError, match='both "stop" and "Stop"'):
        path({"stop": [], "Stop": []})
