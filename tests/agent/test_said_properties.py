"""Nothing that a command writes is an error."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent.output import AgentOutput, read_output
from loop_close.agent.output_reader import chunks_of
from loop_close.agent.supervisor import fingerprint
from loop_close.text import sanitize

CORPUS = Path(__file__).parent / "corpus" / "said"
LINES = [
    line for path in sorted(CORPUS.rglob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()
]
WHOLE = 4_000_000

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def check(output: str) -> AgentOutput:
    said = read_output(output)
    assert 0.0 <= said.cost < math.inf
    assert isinstance(said.is_error, bool)
    assert sanitize(said.text) == said.text
    for result in said.results:
        assert result.tool
        fingerprint(result)
    return said


def changed(value: object, at: int, new: object) -> tuple[object, int]:
    """The value with the field that is reached after so many steps replaced; and the steps left."""
    if at == 0:
        return new, -1
    at -= 1
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    made = []
    for key, each in items:
        if at >= 0:
            each, at = changed(each, at, new)
        made.append((key, each))
    if not isinstance(value, dict | list):
        return value, at
    return (dict(made) if isinstance(value, dict) else [each for _, each in made]), at


@given(st.text())
def test_any_text(output):
    assert check(output).text == sanitize(output) or output.lstrip().startswith(("{", "["))


@given(st.lists(VALUES.map(json.dumps) | st.sampled_from(LINES) | st.text(max_size=20), max_size=9))
def test_any_lines(lines):
    check("\n".join(lines))


@given(st.lists(st.tuples(st.sampled_from(LINES), st.integers(0, 30), VALUES), min_size=1, max_size=9))
def test_events_with_values_of_other_types(edits):
    check("\n".join(json.dumps(changed(json.loads(line), at, new)[0]) for line, at, new in edits))


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=9), st.integers(0, 200), st.integers(0, 200))
def test_cut_at_both_ends(lines, start, end):
    output = "\n".join(lines)
    check(output[start : len(output) - end])


@given(st.text(alphabet='{}[]"a,:\n 1'))
def test_each_line_is_in_one_piece(output):
    assert sum(piece.lines for piece in chunks_of(output)) == sum(
        bool(line.rstrip()) for line in output.split("\n")
    )


@pytest.mark.parametrize("depth", [400, 900, 5_000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting(depth, opening):
    closing = "]" if opening == "[" else "}"
    deep = opening * depth + "1" + closing * depth
    use = '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"x","input":DEEP}]}}'
    end = '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[DEEP]}]}}'
    check(f"DEEP\n{use}\n{end}".replace("DEEP", deep))


@pytest.mark.large
@pytest.mark.parametrize(
    "line",
    [
        *("x", "{", "[", "{}", "[]", "[{}]", '{"', "]}", "\x1b[", "-", "Tokens: \n", "Aider v1\nTokens: 1 "),
        '{"type":"result","is_error":false,"session_id":"%d","total_cost_usd":1}',
        '{"type":"assistant","message":{"content":"x"}}',
        '{"type":"message","timestamp":"","role":"assistant","content":"x"}',
        '{"type":"tool_call","subtype":"started","call_id":"%d","tool_call":{"xToolCall":{"args":1}}}',
        ',{"type":"result"}]',
        '{"ts":"","type":"agent_event","event":{"type":"content_start","contentType":"tool","toolCallId":"%d"}}',
        *(
            "Aider v1\nlitellm.",
            "Aider v1\nlitellm.xError:",
            "Aider v1\nTokens: 1",
            "✓ Agent initialized with model: ",
        ),
        "Agent is working",
        "── CONVERSATION SUMMARY ──",
    ],
)
def test_large_outputs(line):
    count = WHOLE // 20 // (len(line) + 1)
    check("\n".join(line.replace("%d", str(at)) for at in range(count)))
