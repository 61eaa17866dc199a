"""Codex: what it sends, and the exact answers, which its schema takes."""

import json

import jsonschema
import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import Payload
from loop_close.hosts.codex import HOST

# What the output schema of its Stop event says, in short.
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "continue": {"type": "boolean"},
        "decision": {"const": "block"},
        "reason": {"type": "string", "pattern": r".*\S.*"},
        "stopReason": {"type": "string"},
        "suppressOutput": {"type": "boolean"},
        "systemMessage": {"type": "string"},
    },
    "dependentRequired": {"decision": ["reason"]},
}


def test_stop_is_read():
    assert HOST.read(recorded("codex-Stop")) == Payload(
        session="0199f3a2-77aa-7c31-8f0e-2f4c8b7d9a10", cwd="/home/me/shop", event="Stop", is_stop=True
    )


def test_second_stop_and_message_are_read():
    payload = HOST.read(recorded("codex-Stop", stop_hook_active=True, last_assistant_message="Done."))
    assert (payload.is_again, payload.message) == (True, "Done.")


def test_subagents_have_a_session_each():
    payload = HOST.read(recorded("codex-Stop", hook_event_name="SubagentStop", agent_id="a"))
    assert payload.session == "0199f3a2-77aa-7c31-8f0e-2f4c8b7d9a10 a"


def test_agent_is_sent_back():
    answer = HOST.go_on(HOST.read(recorded("codex-Stop")), "1 failed\nAll of it: nextprompt.md")
    assert answer == r'{"decision":"block","reason":"1 failed\nAll of it: nextprompt.md"}'


def test_run_is_ended():
    answer = HOST.end(HOST.read(recorded("codex-Stop")), "3 runs without progress")
    assert answer == '{"continue":false,"stopReason":"3 runs without progress"}'


def test_nobody_is_informed():
    assert HOST.inform(HOST.read(recorded("codex-Stop")), REASON) == ""


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(text):
    assert HOST.go_on(HOST.read(recorded("codex-Stop")), text) == ""


@pytest.mark.parametrize("answer", [HOST.go_on, HOST.end])
def test_schema_takes_the_answers(answer):
    jsonschema.validate(json.loads(answer(HOST.read(recorded("codex-Stop")), REASON)), SCHEMA)
