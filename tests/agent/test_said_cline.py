"""What the reader of Cline's events makes of single ones."""

import json

import pytest

from loop_close.agent.output import read_output


def output(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def cline(**event: object) -> dict[str, object]:
    return {"ts": "t", "type": "agent_event", "event": event}


def cline_end(reason: str, cost: object, **fields: object) -> dict[str, object]:
    return {"ts": "t", "type": "run_result", "finishReason": reason, "usage": {"totalCost": cost}} | fields


@pytest.mark.parametrize(
    ("reason", "is_error"),
    [
        ("completed", False),
        ("error", True),
        ("max_iterations", True),
        ("aborted", True),
        ("mistake_limit", True),
    ],
)
def test_cline_tells_how_it_ended(reason, is_error):
    said = read_output(output(cline_end(reason, 0.25, text="Done.")))
    assert (said.format, said.text, said.is_error, said.cost) == ("cline", "Done.", is_error, 0.25)
    assert read_output(output(cline_end(reason, "1", text=None))).text == reason


def test_cline_costs_add_up_and_are_those_of_all_agents():
    usage = cline(type="usage", totalCost=0.5)
    assert read_output(output(usage)).cost == 0.5
    end = cline_end("completed", 0.5, aggregateUsage={"totalCost": 0.75})
    assert read_output(output(usage, end)).cost == 0.75
    assert read_output(output(usage, end, usage)).cost == 1.25
    assert read_output(output(usage, end, usage, end)).cost == 1.5


def test_cline_broken_off_within_a_message():
    start = {"type": "content_start", "contentType": "text"}
    end = {"type": "content_end", "contentType": "text"}
    events = [cline(**start, text="I ", accumulated="I "), cline(**start, text="see", accumulated="I see")]
    assert read_output(output(*events)).text == "I see"
    assert read_output(output(*events, cline(**end, text="I see."))).text == "I see."
    of_subagent = cline(**end, text="Mine.", parentAgentId="a")
    assert read_output(output(cline(**end, text="I see."), of_subagent)).text == "I see."


@pytest.mark.parametrize(
    ("fields", "content", "is_error"),
    [
        ({"output": "o"}, "o", False),
        ({"error": "e"}, "e", True),
        ({"output": {"a": 1}}, {"a": 1}, False),
        ({"output": [{"result": "a", "success": True}, {"result": "b", "success": True}]}, "a\nb", False),
        ({"output": [{"result": "a", "success": True}, {"error": "b", "success": False}]}, "a\nb", True),
    ],
)
def test_cline_results_of_tools(fields, content, is_error):
    call = {"contentType": "tool", "toolName": "x", "toolCallId": "c"}
    start = cline(type="content_start", input={"a": 1}, **call)
    (kept,) = read_output(output(start, cline(type="content_end", **call, **fields))).results
    assert (kept.tool, kept.input, kept.content, kept.is_error) == ("x", {"a": 1}, content, is_error)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "run_result", "finishReason": "completed", "text": "x"},
        {"ts": 1, "type": "run_result", "finishReason": "completed", "text": 1},
        {"ts": "t", "type": "run_result", "finishReason": 1},
        {"ts": "t", "type": "hook_event"},
        {"ts": "t", "type": "agent_event", "event": "x"},
        {"ts": "t", "type": "log", "level": "info"},
    ],
)
def test_other_events_with_a_time_are_not_clines(event):
    assert read_output(output(event, event)).format == ""
