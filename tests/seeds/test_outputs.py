"""What is made of an agent's output: the corpus of formats, what commands really wrote, and what stays plain text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.seeds.outputs import AgentOutput, read_output

CORPUS = Path(__file__).parent / "corpus" / "outputs"
ANSWER = "Fixed `add`: it subtracted. All 12 tests pass."
HELLO = "It said hello.\n\nAll done."
BAD_KEY = "Invalid API key · Fix external API key"


def read(name):
    return (CORPUS / name).read_text(encoding="utf-8")


RESULT = read("claude.json")
STREAM = read("claude-stream.jsonl")
# By file: the start of the text, the cost, whether the agent reports that it failed. "Recorded": what commands wrote.
EXPECTED = {
    "claude.json": (ANSWER, 0.1834, False),
    "claude-verbose.json": (ANSWER, 0.1834, False),
    "claude-stream.jsonl": (ANSWER, 0.1834, False),
    "claude-max-turns.jsonl": ("I'll try another fixture.", 1.402, True),
    "codex.jsonl": (ANSWER, 0.0, False),
    "codex-failed.jsonl": ("You've hit your usage limit.", 0.0, True),
    "cursor.json": (ANSWER, 0.0, False),
    "cursor-stream.jsonl": (ANSWER, 0.0, False),
    "cursor-partial.jsonl": (ANSWER, 0.0, False),
    "gemini.json": (ANSWER, 0.0, False),
    "gemini-stream.jsonl": (ANSWER, 0.0, False),
    "gemini-failed.jsonl": ("Reached max session turns", 0.0, True),
    "opencode.jsonl": (ANSWER, 0.02, False),
    "openhands.txt": (ANSWER, 0.0, False),
    "openhands-old.txt": (ANSWER, 0.0, False),
    "aider.txt": ("Aider v0.86", 0.0, False),
    "recorded/claude.json": (HELLO, 0.0088, False),
    "recorded/claude-401.json": (BAD_KEY, 0.0, True),
    "recorded/claude-max-turns.json": ("Reached maximum number of turns (1)", 0.0044, True),
    "recorded/claude-ended.json": ("I gave up.", 0.0044, False),
    "recorded/claude-verbose.json": (HELLO, 0.0088, False),
    "recorded/claude-stream.jsonl": (HELLO, 0.0088, False),
    "recorded/claude-stream-401.jsonl": (BAD_KEY, 0.0, True),
    "recorded/claude-stream-blocked.jsonl": ("All tests pass.", 0.022, False),
    "recorded/claude-stream-failed-command.jsonl": ("Nothing to add.", 0.0176, False),
    "recorded/claude-stream-max-turns.jsonl": ("Let me see.", 0.0044, True),
    "recorded/claude-stream-partial.jsonl": (HELLO, 0.0088, False),
    "recorded/claude-stream-subagent.jsonl": ("fourth", 0.022, False),
    "recorded/claude-text.txt": (HELLO, 0.0, False),
    "recorded/claude-text-401.txt": (BAD_KEY, 0.0, False),
    "recorded/claude-text-max-turns.txt": ("Error: Reached max turns (1)", 0.0, False),
    "recorded/codex.jsonl": (HELLO, 0.0, False),
    "recorded/codex-401.jsonl": ("unexpected status 401 Unauthorized", 0.0, True),
    "recorded/codex-blocked.jsonl": ("All tests pass.", 0.0, False),
    "recorded/codex-text.txt": (HELLO, 0.0, False),
    "recorded/gemini.json": (HELLO, 0.0, False),
    "recorded/gemini-blocked.json": ("I looked at it and I am done.Still done.", 0.0, False),
    "recorded/gemini-stream.jsonl": (HELLO, 0.0, False),
    "recorded/gemini-stream-401.jsonl": ("[API Error: ", 0.0, True),
    "recorded/gemini-stream-max-turns.jsonl": ("Let me see.", 0.0, True),
    "recorded/gemini-stream-blocked-untouched.jsonl": ("Still done.", 0.0, False),
    "recorded/gemini-text.txt": (f"Let me see.\n{HELLO}", 0.0, False),
    "recorded/opencode.jsonl": (HELLO, 0.00312, False),
    "recorded/opencode-failed.jsonl": ("Unexpected server error. Check server logs", 0.0, True),
    "recorded/opencode-text.txt": (f"Let me see.\n{HELLO}", 0.0, False),
    "recorded/openhands.txt": (HELLO, 0.0, False),
    "recorded/openhands-short.txt": ("I looked at it. All tests pass now.", 0.0, False),
    "recorded/openhands-401.txt": ("litellm.AuthenticationError: ", 0.0, True),
    "recorded/openhands-blocked.txt": ("I have nothing more to add.", 0.0, False),
    "recorded/aider.txt": ("Analytics have been", 0.0, False),
    "recorded/aider-401.txt": ("Analytics have been", 0.0, False),
    "recorded/cline.jsonl": ("The tests fail.", 0.0, False),
    "recorded/cline-401.jsonl": ("bad key", 0.0, True),
    "recorded/cline-text.txt": ("Let me see.\n[run_commands] echo hello\n", 0.0, False),
}
JSON_OUTPUTS = [name for name in EXPECTED if ".json" in name]
STREAMS = [name for name in JSON_OUTPUTS if name.endswith("l")]


@pytest.mark.parametrize("name", EXPECTED)
def test_corpus(name):
    text, cost, is_error = EXPECTED[name]
    said = read_output(read(name))
    assert said.text.startswith(text)
    assert said.text.strip() == text or text not in (ANSWER, HELLO, "Still done.", BAD_KEY)
    assert said.cost == pytest.approx(cost)
    assert said.is_error is is_error


def test_corpus_is_documented_and_expected():
    for folder in (CORPUS, CORPUS / "recorded"):
        described = (folder / "README.md").read_text(encoding="utf-8")
        names = [path.name for path in folder.iterdir() if path.is_file() and path.suffix != ".md"]
        assert all(f"| {name} |" in described for name in names)
        assert {(folder / name).relative_to(CORPUS).as_posix() for name in names} <= EXPECTED.keys()


@pytest.mark.parametrize("name", JSON_OUTPUTS)
def test_windows_lines_and_terminal_modes_change_nothing(name):
    output = read(name)
    framed = "\x1b[?25l" + output.replace("\n", "\r\n") + "\x1b[?25h\n"
    assert read_output(framed) == read_output(output)


@pytest.mark.parametrize("name", STREAMS)
def test_noise_between_the_events_changes_nothing(name):
    lines = read(name).splitlines()
    noisy = ["Now using node v22", *lines[:2], "(node:1) Warning: old", *lines[2:], "npm notice"]
    if len(lines) > 3:
        assert read_output("\n".join(noisy)) == read_output(read(name))


@pytest.mark.parametrize(
    "before", ["Now using node v22\n", "a\n\nb\nc\nd\ne\n", '{"level":"info"\n', "direnv: loading\n[1]\n"]
)
@pytest.mark.parametrize("name", ["claude.json", "cursor.json"])
def test_noise_of_the_shell_before_one_closing_event(before, name):
    assert read_output(before + read(name)) == read_output(read(name))


def test_code_block_in_the_answer_is_no_quotation():
    answer = "Fixed:\n```python\nreturn a + b\n```"
    output = "Now using node v22\n" + json.dumps(json.loads(RESULT) | {"result": answer})
    assert read_output(output).text == answer


@pytest.mark.parametrize(
    "output",
    [
        "",
        "   \n",
        "All tests pass.",
        f"The log says:\n{RESULT}Anything else?",
        f"```json\n{RESULT}```",
        f"Its last words:\n```\n{RESULT}```\nand that was it.",
        f"First.\nSecond.\n```\n{{}}\n```\n{RESULT}",
        'It writes\n{"type": "turn.completed"}\nand then\nends.',
        '{"level": "info", "msg": "x"}\n{"level": "info", "msg": "y"}\nDone.',
        '{"type": "user"}\n{"type": "assistant"}\n{"type": "system"}',
        *("{}", "[]", "[{}]", '{"answer": 1}', '{"result": 1}', '["result"]', "null"),
        "Cost: $1.00 message, $2.00 session.",
        "Aider says\nTokens: 1k sent, 2 received. Cost: $1.00 message, $2.00 session.",
    ],
)
def test_plain_text_stays_what_it_is(output):
    assert read_output(output) == AgentOutput(text=output)


def test_text_is_safe_to_show():
    hostile = "\x1b]0;title\x07\x1b[31mDone\u202e.\x00"
    assert read_output(json.dumps(json.loads(RESULT) | {"result": hostile})).text == r"Done\u202e."
    assert read_output(hostile).text == r"Done\u202e."


def test_unusual_line_breaks_within_texts():
    event = json.loads(RESULT) | {"result": "one\u2028two\x85three"}
    assert read_output(json.dumps(event, ensure_ascii=False)).text == "one\ntwo\nthree"


def test_stream_that_was_cut_off_has_the_last_message():
    lines = STREAM.splitlines(keepends=True)
    assert read_output("".join(lines[:5])).text == "I'll run the tests."
    assert read_output("".join(lines[:9])).text == "I'll run the tests.", (
        "words of a subagent are not its own"
    )
    assert read_output("".join(lines[:-1])).text == ANSWER
    assert read_output(STREAM[100:]).text == ANSWER


def test_costs_of_several_sessions_add_up_and_of_one_do_not():
    other = json.dumps(json.loads(RESULT) | {"session_id": "other", "total_cost_usd": 1})
    assert read_output(RESULT + RESULT + other).cost == pytest.approx(1.1834)


@pytest.mark.parametrize("amount", [-1, "one", None, True, 10**400, float("nan"), float("inf")])
def test_what_is_no_amount_costs_nothing(amount):
    assert read_output(json.dumps(json.loads(RESULT) | {"total_cost_usd": amount})).cost == 0


@pytest.mark.parametrize("name", STREAMS)
def test_output_cut_anywhere_is_read(name):
    output = read(name)
    for end in range(0, len(output), 997):
        assert isinstance(read_output(output[:end]), AgentOutput)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "content", "session_id", "item", "part", "kind", "event", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=4), st.text())
def test_any_json_and_any_text_are_read(values, text):
    lines = [json.dumps(value) for value in values]
    assert isinstance(read_output("\n".join([*lines, text])), AgentOutput)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["{\n", "[\n", '{"a":', "```\n", "─CONVERSATION SUMMARY─\n", "Tokens: 1 ", "\x1b["]
)
def test_a_megabyte_takes_linear_time(piece):
    assert read_output(piece * (1_000_000 // len(piece))).cost == 0
