"""What is made of whole outputs: the corpus, and what is recognized and what is not."""

import json
from pathlib import Path

import pytest

from loop_close.agent.output import READERS, AgentOutput, read_output
from loop_close.agent.output_reader import KEPT
from loop_close.agent.supervisor import Supervisor

CORPUS = Path(__file__).parent / "corpus" / "said"
ANSWER = "Fixed `add`: it subtracted. All 12 tests pass."
RESULT = (CORPUS / "claude.json").read_text(encoding="utf-8")
STREAM = (CORPUS / "claude-stream.jsonl").read_text(encoding="utf-8")
JSON_OUTPUTS = sorted(path.name for path in CORPUS.glob("*.json*"))


def read(name: str) -> str:
    return (CORPUS / name).read_text(encoding="utf-8")


def told(said: AgentOutput) -> list[tuple[str, bool]]:
    return [(result.tool, result.is_error) for result in said.results]


CLAUDE = [("Bash", True), ("Task", False), ("mcp__loop-close__loop_run", False)]
CODEX = [
    ("command_execution", True),
    ("mcp__loop-close__loop_run", False),
    ("mcp__loop-close__loop_status", True),
]
CURSOR = [("shell", True), ("edit", False), ("mcp__loop-close__loop_run", False), ("shell", True)]
OPENHANDS = [("terminal", True), ("file_editor", True), ("terminal", True)]


@pytest.mark.parametrize(
    ("name", "format", "text", "cost", "is_error", "results"),
    [
        ("claude.json", "claude", ANSWER, 0.1834, False, []),
        ("claude-verbose.json", "claude", ANSWER, 0.1834, False, CLAUDE),
        ("claude-stream.jsonl", "claude", ANSWER, 0.1834, False, CLAUDE),
        ("claude-max-turns.jsonl", "claude", "I'll try another fixture.", 1.402, True, [("Bash", True)]),
        ("codex.jsonl", "codex", ANSWER, 0.0, False, CODEX),
        ("codex-failed.jsonl", "codex", "You've hit your usage limit.", 0.0, True, []),
        (
            *("codex-old.jsonl", "codex", ANSWER, 0.0, False),
            [("command_execution", True), ("apply_patch", False), ("mcp__loop-close__loop_run", False)],
        ),
        ("cursor.json", "cursor", ANSWER, 0.0, False, []),
        ("cursor-stream.jsonl", "cursor", ANSWER, 0.0, False, CURSOR),
        ("cursor-partial.jsonl", "cursor", ANSWER, 0.0, False, CURSOR),
        ("gemini.json", "gemini", ANSWER, 0.0, False, []),
        (
            "gemini-stream.jsonl",
            "gemini",
            ANSWER,
            0.0,
            False,
            [("run_shell_command", False), ("replace", True)],
        ),
        ("gemini-failed.jsonl", "gemini", "Reached max session turns", 0.0, True, []),
        ("opencode.jsonl", "opencode", ANSWER, 0.02, False, [("bash", True), ("edit", True)]),
        ("openhands.txt", "openhands", ANSWER, 0.0, False, OPENHANDS),
        ("openhands-old.txt", "openhands", ANSWER, 0.0, False, OPENHANDS),
        ("aider.txt", "aider", read("aider.txt"), 0.02, False, []),
    ],
)
def test_corpus(name, format, text, cost, is_error, results):
    said = read_output(read(name))
    assert (said.format, said.text, said.is_error) == (format, text, is_error)
    assert said.cost == pytest.approx(cost)
    assert told(said) == results


def test_corpus_is_documented_and_has_each_format():
    told_of = read("README.md")
    names = [path.name for path in CORPUS.iterdir() if path.is_file() and path.suffix != ".md"]
    assert all(f"| {name} |" in told_of for name in names)
    recorded = [path.name for path in (CORPUS / "recorded").iterdir()]
    tools = {name.split(".")[0].split("-")[0] for name in [*names, *recorded]}
    assert tools >= {reader.name for reader in READERS}


@pytest.mark.parametrize("name", JSON_OUTPUTS)
def test_windows_lines_and_terminal_modes_change_nothing(name):
    output = read(name)
    framed = "\x1b[?25l" + output.replace("\n", "\r\n") + "\x1b[?25h\n"
    assert read_output(framed) == read_output(output)


@pytest.mark.parametrize("name", [name for name in JSON_OUTPUTS if name.endswith("l")])
def test_noise_between_the_events_changes_nothing(name):
    lines = read(name).splitlines()
    noisy = ["Now using node v22", *lines[:2], "(node:1) Warning: old", *lines[2:], "npm notice"]
    if len(lines) > 3:
        assert read_output("\n".join(noisy)) == read_output(read(name))


@pytest.mark.parametrize(
    "before", ["Now using node v22\n", "a\n\nb\nc\nd\ne\n", '{"level":"info"\n', "direnv: loading\n[1]\n"]
)
@pytest.mark.parametrize("name", ["claude.json", "cursor.json"])
def test_shells_noise_before_one_closing_event(before, name):
    assert read_output(before + read(name)) == read_output(read(name))


def test_code_block_in_the_answer_is_no_quotation():
    answer = "Fixed:\n```python\nreturn a + b\n```"
    output = "Now using node v22\n" + json.dumps(json.loads(RESULT) | {"result": answer})
    assert (read_output(output).format, read_output(output).text) == ("claude", answer)


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
        'Done:\n{"type":"result","subtype":"success","is_error":false,"result":"ok"}',
        '{"level": "info", "msg": "x"}\n{"level": "info", "msg": "y"}\nDone.',
        '{"type": "user"}\n{"type": "assistant"}\n{"type": "system"}',
        "{}",
        "[]",
        "[{}]",
        '{"answer": 1}',
        '{"result": 1}',
        '{"result": " "}',
        '["result"]',
        "null",
        "Cost: $1.00 message, $2.00 session.",
        "Aider says\nTokens: 1k sent, 2 received. Cost: $1.00 message, $2.00 session.",
    ],
)
def test_plain_text_stays_what_it_is(output):
    assert read_output(output) == AgentOutput(text=output)


@pytest.mark.parametrize("name", ["result", "response", "output", "message", "text", "content"])
def test_one_unknown_object(name):
    output = json.dumps({"id": 3, name: "Done.", "is_error": True}, indent=1)
    assert read_output(f"\n{output}\n") == AgentOutput(text="Done.", is_error=True, format="json")


def test_text_is_safe_to_show():
    hostile = "\x1b]0;title\x07\x1b[31mDone\u202e.\x00"
    event = json.loads(RESULT) | {"result": hostile}
    assert read_output(json.dumps(event)).text == r"Done\u202e."
    assert read_output(json.dumps({"text": hostile})).text == r"Done\u202e."
    assert read_output(hostile).text == r"Done\u202e."


@pytest.mark.large
@pytest.mark.parametrize(
    "name", ["claude-stream.jsonl", "codex.jsonl", "cursor-stream.jsonl", "gemini-stream.jsonl"]
)
def test_cut_beginning_costs_no_more_than_its_line(name):
    output = read(name)
    for cut in range(1, len(output.splitlines()[0]) + 1):
        said = read_output(output[cut:])
        assert (said.format, said.text) == (read_output(output).format, ANSWER)


def test_cut_list_keeps_its_last_event():
    output = read("claude-verbose.json")
    said = read_output(output[300:])
    assert (said.text, said.cost, said.format) == (ANSWER, 0.1834, "claude")


@pytest.mark.parametrize("name", [name for name in JSON_OUTPUTS if name.endswith("l")])
def test_output_cut_anywhere_is_read(name):
    output = read(name)
    for end in range(0, len(output), 37):
        assert isinstance(read_output(output[:end]), AgentOutput)


def test_killed_stream_tells_its_last_message():
    lines = STREAM.splitlines(keepends=True)
    assert read_output("".join(lines[:5])).text == "I'll run the tests."
    assert read_output("".join(lines[:9])).text == "I'll run the tests.", (
        "the subagent's words are not its own"
    )
    assert read_output("".join(lines[:-1])).text == ANSWER


def test_last_results_are_kept():
    turn = STREAM.splitlines(keepends=True)[4:6]
    many = [line.replace("toolu_1", f"toolu_x{at}") for at in range(KEPT + 50) for line in turn]
    assert len(read_output("".join(many)).results) == KEPT


def test_results_are_for_the_supervisor():
    turn = STREAM.splitlines(keepends=True)[4:6]
    said = read_output("".join(turn * 3))
    supervisor = Supervisor()
    assert [bool(supervisor.observe(result)) for result in said.results] == [False, False, True]


def test_unusual_line_breaks_within_texts():
    event = json.loads(RESULT) | {"result": "one\u2028two\x85three"}
    assert read_output(json.dumps(event, ensure_ascii=False)).text == "one\ntwo\nthree"
