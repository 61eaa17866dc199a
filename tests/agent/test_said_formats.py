"""What the readers make of single events."""

import json

import pytest

from loop_close.agent.output import read_output

SESSION = {"session_id": "s1", "sessionID": "s1"}


def output(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def result(**fields: object) -> dict[str, object]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "num_turns": 1,
    } | fields


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        *((0.25, 0.25), (2, 2.0), (0, 0.0), (-1.0, 0.0), (True, 0.0), ("0.25", 0.0), (None, 0.0), ([1], 0.0)),
        *((float("nan"), 0.0), (float("inf"), 0.0), (-float("inf"), 0.0), (10**400, 0.0)),
    ],
)
def test_money_is_a_finite_number_above_zero(cost, expected):
    assert read_output(output(result(total_cost_usd=cost))).cost == expected
    finish = {"type": "step_finish", "part": {"type": "step-finish", "cost": cost}} | SESSION
    said = read_output(output(finish))
    assert (said.format, said.cost) == ("opencode", expected)


def test_number_too_long_for_json_is_noise():
    assert read_output('{"type":"result","is_error":false,"total_cost_usd":' + "9" * 9_999 + "}").format == ""


def test_claude_totals_are_sessions_totals():
    events = [
        result(session_id=name, total_cost_usd=cost) for name, cost in [("a", 0.5), ("a", 0.75), ("b", 1)]
    ]
    assert read_output(output(*events)).cost == 1.75


@pytest.mark.parametrize(
    ("fields", "is_error"),
    [
        ({}, False),
        ({"is_error": True}, True),
        ({"subtype": "error_max_turns"}, True),
        ({"subtype": "error_during_execution", "is_error": True}, True),
        ({"is_error": None}, False),
        ({"is_error": "true"}, False),
        ({"terminal_reason": "completed"}, False),
        ({"terminal_reason": "stop_hook_prevented"}, False),
        ({"terminal_reason": "max_turns"}, True),
        ({"terminal_reason": "api_error"}, True),
        ({"terminal_reason": ["api_error"]}, False),
    ],
)
def test_claude_tells_of_its_failure(fields, is_error):
    said = read_output(output(result(**fields)))
    assert (said.format, said.is_error, said.text) == ("claude", is_error, "Done.")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"errors": ["one", 2, "three"]}, "one\n\nthree"),
        ({}, "error_max_turns"),
        ({"errors": 3}, "error_max_turns"),
        ({"subtype": "success", "terminal_reason": "api_error"}, "api_error"),
    ],
)
def test_claude_says_what_went_wrong_where_it_says_nothing_else(fields, text):
    assert read_output(output(result(**{"subtype": "error_max_turns", "result": None} | fields))).text == text


def test_claude_meta_of_a_result_is_kept():
    use = {"type": "tool_use", "id": "t", "name": "x", "input": {"a": 1}}
    block = {"type": "tool_result", "tool_use_id": "t", "content": "c", "_meta": {"k": True}}
    lines = output(
        {"type": "assistant", "message": {"content": [use]}},
        {"type": "user", "message": {"content": [block, block | {"tool_use_id": ["t"]}]}},
    )
    (kept,) = read_output(lines).results
    assert (kept.tool, kept.input, kept.content, kept.meta) == ("x", {"a": 1}, "c", {"k": True})


def test_codex_error_before_a_completed_turn_is_not_an_error():
    started, error = {"type": "turn.started"}, {"type": "error", "message": "Reconnecting... 1/5"}
    assert read_output(output(started, error)).is_error
    assert read_output(output(started, error)).text == "Reconnecting... 1/5"
    assert not read_output(output(started, error, {"type": "turn.completed", "usage": {}})).is_error


def test_codex_declined_command_is_an_error():
    item = {"type": "command_execution", "command": "rm", "status": "declined", "exit_code": None}
    (kept,) = read_output(output({"type": "item.completed", "item": item})).results
    assert (kept.is_error, kept.input) == (True, {"command": "rm"})


def test_codex_items_of_the_first_weeks():
    item = {"id": "itm_0", "item_type": "assistant_message", "text": "Done."}
    said = read_output(
        output({"type": "session.created", "session_id": "s"}, {"type": "item.completed", "item": item})
    )
    assert (said.format, said.text) == ("codex", "Done.")


@pytest.mark.parametrize(
    ("message", "is_error", "text"),
    [
        ({"type": "error", "message": "no key"}, True, "no key"),
        ({"type": "turn_aborted", "reason": "interrupted"}, True, "interrupted"),
        ({"type": "task_complete", "last_agent_message": "Done."}, False, "Done."),
        ({"type": "task_complete", "last_agent_message": None}, False, ""),
    ],
)
def test_old_codex_tells_how_it_ended(message, is_error, text):
    said = read_output(output({"id": "0", "msg": {"type": "task_started"}}, {"id": "0", "msg": message}))
    assert (said.format, said.is_error, said.text) == ("codex", is_error, text)


def test_old_codex_failed_tools():
    begin = {"type": "mcp_tool_call_begin", "call_id": "c", "invocation": {"server": "s", "tool": "t"}}
    end = {"type": "mcp_tool_call_end", "call_id": "c", "result": {"Err": "boom"}}
    (kept,) = read_output(output({"id": "0", "msg": begin}, {"id": "0", "msg": end})).results
    assert (kept.tool, kept.content, kept.is_error) == ("mcp__s__t", "boom", True)


def test_gemini_json_of_a_failure():
    said = read_output(
        json.dumps({"session_id": "s", "error": {"type": "Error", "message": "quota", "code": 1}}, indent=2)
    )
    assert (said.format, said.text, said.is_error) == ("gemini", "quota", True)


def test_cursor_broken_off_within_a_message():
    start = {
        "type": "tool_call",
        "subtype": "started",
        "call_id": "c",
        "tool_call": {"readToolCall": {"args": {}}},
    }
    part = {"type": "assistant", "timestamp_ms": 1, "session_id": "s"}
    texts = [part | {"message": {"content": [{"type": "text", "text": text}]}} for text in ("I ", "see")]
    assert read_output(output(start, *texts)).text == "I see"


def test_cursor_result_wins_where_it_is_all_there_is_or_an_error():
    call = {"type": "tool_call", "subtype": "started", "tool_call": {}}
    said_before = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hm."}]}}
    end = {"type": "result", "subtype": "error", "is_error": True, "result": "boom", "duration_ms": 1}
    said = read_output(output(call, said_before, end))
    assert (said.format, said.text, said.is_error) == ("cursor", "boom", True)


def test_cursor_reads_a_file():
    body = {"args": {"path": "a"}, "result": {"success": {"content": "text", "totalLines": 1}}}
    call = {"type": "tool_call", "subtype": "completed", "call_id": "c", "tool_call": {"readToolCall": body}}
    (kept,) = read_output(output(call)).results
    assert (kept.tool, kept.input, kept.content, kept.is_error) == ("read", {"path": "a"}, "text", False)


@pytest.mark.parametrize(
    ("observation", "is_error"),
    [
        ({"is_error": False, "exit_code": 0}, False),
        ({"is_error": False, "exit_code": 2}, True),
        ({"is_error": False, "exit_code": -1}, False),
        ({"is_error": False, "exit_code": "2"}, False),
        ({"is_error": True, "exit_code": None}, True),
    ],
)
def test_openhands_failed_command(observation, is_error):
    base = {"id": "e", "source": "agent", "tool_call_id": "c"}
    action = base | {"kind": "ActionEvent", "tool_name": "terminal", "action": {}}
    (kept,) = read_output(
        output(action, base | {"kind": "ObservationEvent", "observation": observation})
    ).results
    assert kept.is_error is is_error


def test_openhands_failure_and_a_message_without_finish():
    base = {"id": "e", "timestamp": "t", "source": "agent"}
    message = base | {
        "kind": "MessageEvent",
        "llm_message": {"content": [{"type": "text", "text": "Which?"}]},
    }
    error = base | {"kind": "ConversationErrorEvent", "code": "LLMError", "detail": "no key"}
    assert read_output(output(message)).text == "Which?"
    said = read_output(output(error))
    assert (said.format, said.text, said.is_error) == ("openhands", "no key", True)


def test_opencode_failure():
    start = {"type": "step_start", "part": {"type": "step-start"}} | SESSION
    error = {"type": "error", "error": {"name": "APIError", "data": {"message": "no key"}}} | SESSION
    said = read_output(output(start, error))
    assert (said.format, said.text, said.is_error) == ("opencode", "no key", True)


@pytest.mark.parametrize(
    ("error", "format"), [({"name": "X"}, "opencode"), ({"name": 1}, ""), ({}, ""), (None, "")]
)
def test_opencode_error_alone(error, format):
    said = read_output(output({"type": "error", "error": error} | SESSION))
    assert (said.format, said.is_error) == (format, format != "")


@pytest.mark.parametrize(("code", "is_error"), [(0, False), (1, True), (None, False), ("1", False)])
def test_opencode_failed_command(code, is_error):
    state = {"status": "completed", "input": {}, "output": "o", "metadata": {"exit": code}}
    part = {"type": "tool", "tool": "bash", "state": state}
    (kept,) = read_output(output({"type": "tool_use", "part": part} | SESSION)).results
    assert (kept.content, kept.is_error) == ("o", is_error)


def test_gemini_warning_parts_messages():
    base = {"timestamp": "t"}
    word = base | {"type": "message", "role": "assistant", "delta": True}
    warning = base | {"type": "error", "severity": "warning", "message": "blocked"}
    events = [word | {"content": "I am "}, word | {"content": "done."}]
    assert read_output(output(*events)).text == "I am done."
    assert read_output(output(*events, warning)).text == "I am done."
    assert read_output(output(*events, warning, word | {"content": "Still."})).text == "Still."


@pytest.mark.parametrize(
    ("lines", "is_error"),
    [
        ("litellm.AuthenticationError: no key", True),
        ("litellm.Timeout: too late", True),
        ("litellm.RateLimitError: wait\nRetrying in 0.2 seconds...\n{tokens}", False),
        ("litellm.RateLimitError: wait\nTokens: 1k sent, 2 received.", False),
        ("{tokens}\nlitellm.APIError: gone", True),
        ("litellm.APIError: gone\nAider v0.86.2\n{tokens}", False),
        ("It raises litellm.APIError: gone", False),
        ("litellm.APIError is raised", False),
    ],
)
def test_aider_failed_where_nothing_follows_an_error(lines, is_error):
    tokens = "Tokens: 1k sent, 2 received. Cost: $1.00 message, $1.50 session."
    said = read_output("Aider v0.86.2\n" + lines.format(tokens=tokens) + "\n")
    assert (said.format, said.is_error) == ("aider", is_error)
    assert said.cost == (1.5 if "{tokens}" in lines else 0.0)


def test_aider_costs_are_processes_costs():
    run = "Aider v0.86.2\nTokens: 1k sent, 2 received. Cost: $1.00 message, $1.50 session.\n"
    assert read_output(run * 2).cost == 3.0
    assert read_output("Aider v0.86.2\nTokens: 1k sent, 2 received.\n").cost == 0.0
