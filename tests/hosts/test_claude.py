"""Claude Code: what it sends, and the exact answers."""

import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import Payload, PayloadError
from loop_close.hosts.claude import HOST

SESSION = "5d0f6f1e-6a0c-4a0e-9d0b-0c6f5a8e2b11"
SHOWN = r"# 1 test fails\n\n`na\u00efve` is not \"naive\"\n\nAll of it: nextprompt.md"


def test_stop_is_read():
    assert HOST.read(recorded("claude-Stop")) == Payload(
        session=SESSION,
        cwd="/home/me/shop",
        event="Stop",
        is_stop=True,
        is_again=True,
        message="All tests pass now.",
    )


def test_end_of_a_subagent_is_read():
    payload = HOST.read(recorded("claude-SubagentStop"))
    assert (payload.event, payload.is_stop, payload.is_again, payload.is_waiting) == (
        "SubagentStop",
        True,
        False,
        True,
    )


def test_failed_tool_is_read():
    assert HOST.read(recorded("claude-PostToolUseFailure")) == Payload(
        session=SESSION,
        cwd="/home/me/shop",
        event="PostToolUseFailure",
        is_stop=False,
    )


@pytest.mark.parametrize(("source", "is_start"), [("startup", True), ("resume", True), ("compact", False)])
def test_start_of_a_session_is_read(source, is_start):
    payload = HOST.read(recorded("claude-Stop", hook_event_name="SessionStart", source=source))
    assert (payload.event, payload.is_stop, payload.is_start) == ("SessionStart", False, is_start)


def test_interrupt_is_read():
    assert HOST.read(recorded("claude-PostToolUseFailure", is_interrupt=True)).is_interrupted


@pytest.mark.parametrize("key", ["background_tasks", "session_crons"])
def test_work_in_the_background_is_read(key):
    assert HOST.read(recorded("claude-Stop", **{key: [{"id": "b1"}]})).is_waiting


@pytest.mark.parametrize(
    ("tasks", "is_waiting"),
    [
        ([], False),
        ([{"id": "a3f9c2"}], False),
        ([{"id": "a3f9c2"}, {"id": "b1"}], True),
        ([{"id": None}], True),
        (["a3f9c2"], True),
    ],
)
def test_a_subagent_does_not_wait_for_itself(tasks, is_waiting):
    assert HOST.read(recorded("claude-SubagentStop", background_tasks=tasks)).is_waiting == is_waiting


def test_an_agent_waits_for_its_subagents():
    assert HOST.read(recorded("claude-Stop", background_tasks=[{"id": "a3f9c2"}])).is_waiting
    assert HOST.read(recorded("claude-Stop", background_tasks=[{"type": "subagent"}])).is_waiting


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_subagents_have_a_session_each(event):
    sessions = {HOST.read(recorded(f"claude-{event}", agent_id=agent)).session for agent in ("a", "b", ...)}
    assert sessions == {SESSION, f"{SESSION} a", f"{SESSION} b"}


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_agent_is_sent_back(event):
    payload = HOST.read(recorded(f"claude-{event}"))
    assert HOST.go_on(payload, REASON) == f'{{"decision":"block","reason":"{SHOWN}"}}'


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PostToolUseFailure"])
def test_agent_is_informed(event):
    payload = HOST.read(recorded(f"claude-{event}"))
    answer = f'{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"{SHOWN}"}}}}'
    assert HOST.inform(payload, REASON) == answer


def test_after_a_tool_nothing_is_blocked():
    payload = HOST.read(recorded("claude-PostToolUseFailure"))
    assert HOST.go_on(payload, REASON) == HOST.inform(payload, REASON)


@pytest.mark.parametrize("event", ["Stop", "PostToolUseFailure"])
def test_run_is_ended(event):
    answer = HOST.end(HOST.read(recorded(f"claude-{event}")), "3 runs without progress")
    assert answer == '{"continue":false,"stopReason":"3 runs without progress"}'


@pytest.mark.parametrize("event", ["Stop", "PostToolUseFailure"])
@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(event, text):
    payload = HOST.read(recorded(f"claude-{event}"))
    assert (HOST.go_on(payload, text), HOST.inform(payload, text)) == ("", "")


def test_other_events_are_not_answered():
    with pytest.raises(PayloadError) as caught:
        HOST.read(recorded("claude-Stop", hook_event_name="PreToolUse"))
    assert str(caught.value) == (
        "hook_event_name is 'PreToolUse'; loop-close handles Stop and SubagentStop and PostToolUseFailure"
        " and SessionStart"
    )


def test_stop_of_a_subagent_is_left_to_the_agent_that_asked_it():
    """Copilot runs the hooks of Claude Code's settings, and those of Stop for subagents, too."""
    assert HOST.read(recorded("claude-Stop", agent_id="a7")).is_waiting
    assert not HOST.read(recorded("claude-SubagentStop", background_tasks=[])).is_waiting
