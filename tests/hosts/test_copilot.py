"""GitHub Copilot: what it sends, in each of its spellings, and the exact answers."""

import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import Payload, PayloadError
from loop_close.hosts.copilot import HOST


def test_stop_of_vs_code_is_read():
    assert HOST.read(recorded("copilot-Stop")) == Payload(
        session="session-identifier", cwd="/home/me/shop", event="Stop", is_stop=True, is_again=True
    )


def test_stop_of_a_subagent_without_the_name_of_its_event_is_read():
    assert HOST.read(recorded("copilot-SubagentStop")) == Payload(
        session="01HW2X3Y4Z5 a7",
        cwd="/home/me/shop",
        event="SubagentStop",
        is_stop=True,
        is_again=None,
        message="All tests pass now.",
    )


def test_stop_and_start_without_their_name_are_read():
    stop = HOST.read(recorded("copilot-SubagentStop", response=..., agentId=...))
    start = HOST.read(recorded("copilot-SubagentStop", response=..., stopReason=..., source="new"))
    assert (stop.event, stop.is_stop, stop.is_start, stop.is_waiting) == ("Stop", True, False, False)
    assert (start.event, start.is_stop, start.is_start) == ("SessionStart", False, True)


def test_who_asked_a_subagent_judges_its_end():
    assert HOST.read(recorded("copilot-Stop", agent_id="a7")).is_waiting
    assert HOST.read(recorded("copilot-SubagentStop", response=...)).is_waiting


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"hookEventName": ...}, "hook_event_name and hookEventName is missing or empty"),
        ({"hookEventName": "PreToolUse"}, "hookEventName is 'PreToolUse'; loop-close handles Stop and Sub"),
        ({"hook_event_name": 7}, "hook_event_name is a number, not a string"),
        ({"sessionId": ""}, "session_id and sessionId is missing or empty"),
        ({"stop_hook_active": "yes"}, "stop_hook_active is a string, not a boolean"),
    ],
)
def test_what_is_wrong_is_named(changed, why):
    with pytest.raises(PayloadError, match=why):
        HOST.read(recorded("copilot-Stop", **changed))


def test_agent_is_sent_back_in_both_forms():
    answer = HOST.go_on(HOST.read(recorded("copilot-Stop")), "1 failed\nAll of it: nextprompt.md")
    block = r'"decision":"block","reason":"1 failed\nAll of it: nextprompt.md"'
    assert answer == f'{{{block},"hookSpecificOutput":{{"hookEventName":"Stop",{block}}}}}'


def test_run_is_ended():
    answer = HOST.end(HOST.read(recorded("copilot-Stop")), "3 runs without progress")
    assert answer == '{"continue":false,"stopReason":"3 runs without progress"}'


def test_nobody_is_informed():
    assert HOST.inform(HOST.read(recorded("copilot-Stop")), REASON) == ""


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(text):
    assert HOST.go_on(HOST.read(recorded("copilot-Stop")), text) == ""
