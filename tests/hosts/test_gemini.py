"""Gemini CLI: what it sends, and the exact answers."""

import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import Payload
from loop_close.hosts.gemini import HOST


def test_end_of_a_turn_is_read():
    assert HOST.read(recorded("gemini-AfterAgent")) == Payload(
        session="c1b2",
        cwd="/home/me/shop",
        event="AfterAgent",
        is_stop=True,
        is_again=None,
        message="I fixed the tests.",
        is_all_said=True,
    )


def test_retry_is_read():
    assert HOST.read(recorded("gemini-AfterAgent", stop_hook_active=True)).is_again


def test_agent_is_sent_back():
    answer = HOST.go_on(HOST.read(recorded("gemini-AfterAgent")), "1 failed\nAll of it: nextprompt.md")
    assert answer == r'{"decision":"deny","reason":"1 failed\nAll of it: nextprompt.md"}'


def test_run_is_ended():
    answer = HOST.end(HOST.read(recorded("gemini-AfterAgent")), "3 runs without progress")
    assert answer == '{"continue":false,"stopReason":"3 runs without progress"}'


def test_nobody_is_informed():
    assert HOST.inform(HOST.read(recorded("gemini-AfterAgent")), REASON) == ""


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(text):
    assert HOST.go_on(HOST.read(recorded("gemini-AfterAgent")), text) == ""
