"""What is made of outputs that agents' commands really wrote."""

from pathlib import Path

import pytest

from loop_close.agent.output import AgentOutput, read_output

CORPUS = Path(__file__).parent / "corpus" / "said" / "recorded"
HELLO = "It said hello.\n\nAll done."
BAD_KEY = "Invalid API key · Fix external API key"
SHELL, FAILED = ("run_shell_command", False), ("command_execution", True)


def read(name: str) -> str:
    return (CORPUS / name).read_text(encoding="utf-8")


# By file: the format, the start of the text, the cost, whether the agent reports that it failed, its tools' results.
EXPECTED = {
    "claude.json": ("claude", HELLO, 0.0088, False, []),
    "claude-401.json": ("claude", BAD_KEY, 0.0, True, []),
    "claude-max-turns.json": ("claude", "Reached maximum number of turns (1)", 0.0044, True, []),
    "claude-ended.json": ("claude", "I gave up.", 0.0044, False, []),
    "claude-verbose.json": ("claude", HELLO, 0.0088, False, [("Bash", False)]),
    "claude-stream.jsonl": ("claude", HELLO, 0.0088, False, [("Bash", False)]),
    "claude-stream-401.jsonl": ("claude", BAD_KEY, 0.0, True, []),
    "claude-stream-blocked.jsonl": (
        *("claude", "All tests pass.", 0.022, False),
        [("Read", False), ("Edit", False), ("Bash", False)],
    ),
    "claude-stream-failed-command.jsonl": (
        *("claude", "Nothing to add.", 0.0176, False),
        [("Bash", True), ("Bash", False)],
    ),
    "claude-stream-max-turns.jsonl": ("claude", "Let me see.", 0.0044, True, [("Bash", False)]),
    "claude-stream-partial.jsonl": ("claude", HELLO, 0.0088, False, [("Bash", False)]),
    "claude-stream-subagent.jsonl": ("claude", "fourth", 0.022, False, [("Task", False)]),
    "claude-text.txt": ("", HELLO, 0.0, False, []),
    "claude-text-401.txt": ("", BAD_KEY, 0.0, False, []),
    "claude-text-max-turns.txt": ("", "Error: Reached max turns (1)", 0.0, False, []),
    "codex.jsonl": ("codex", HELLO, 0.0, False, [("command_execution", False), FAILED]),
    "codex-401.jsonl": ("codex", "unexpected status 401 Unauthorized", 0.0, True, []),
    "codex-blocked.jsonl": ("codex", "All tests pass.", 0.0, False, [("command_execution", False)]),
    "codex-text.txt": ("", HELLO, 0.0, False, []),
    "gemini.json": ("gemini", HELLO, 0.0, False, []),
    "gemini-blocked.json": ("gemini", "I looked at it and I am done.Still done.", 0.0, False, []),
    "gemini-stream.jsonl": ("gemini", HELLO, 0.0, False, [SHELL, SHELL, ("read_file", True)]),
    "gemini-stream-401.jsonl": ("gemini", "[API Error: ", 0.0, True, []),
    "gemini-stream-max-turns.jsonl": ("gemini", "Let me see.", 0.0, True, [SHELL]),
    "gemini-stream-blocked-untouched.jsonl": ("gemini", "Still done.", 0.0, False, []),
    "gemini-text.txt": ("", f"Let me see.\n{HELLO}", 0.0, False, []),
    "opencode.jsonl": (
        *("opencode", HELLO, 0.00312, False),
        [("bash", False), ("read", True), ("bash", True)],
    ),
    "opencode-failed.jsonl": ("opencode", "Unexpected server error. Check server logs", 0.0, True, []),
    "opencode-text.txt": ("", f"Let me see.\n{HELLO}", 0.0, False, []),
    "openhands.txt": ("openhands", HELLO, 0.0, False, [("terminal", False), ("terminal", True)]),
    "openhands-short.txt": ("openhands", "I looked at it. All tests pass now.", 0.0, False, []),
    "openhands-401.txt": ("openhands", "litellm.AuthenticationError: ", 0.0, True, []),
    "openhands-blocked.txt": (
        *("openhands", "I have nothing more to add.", 0.0, False),
        [("terminal", False)],
    ),
    "aider.txt": ("aider", "Analytics have been", 0.0054, False, []),
    "aider-401.txt": ("aider", "Analytics have been", 0.0, True, []),
    "cline.jsonl": ("cline", "The tests fail.", 0.0, False, [("run_commands", True)]),
    "cline-401.jsonl": ("cline", "bad key", 0.0, True, []),
    "cline-text.txt": ("", "Let me see.\n[run_commands] echo hello\n", 0.0, False, []),
}
EVENTS = [name for name, expected in EXPECTED.items() if name.endswith("l") and expected[0]]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded(name):
    format, text, cost, is_error, results = EXPECTED[name]
    said = read_output(read(name))
    assert (said.format, said.is_error) == (format, is_error)
    assert said.text.startswith(text)
    assert said.text.strip() == text or text not in (HELLO, "Still done.", BAD_KEY)
    assert said.cost == pytest.approx(cost)
    assert [(result.tool, result.is_error) for result in said.results] == results


def test_each_recording_is_documented_and_expected():
    told_of = read("README.md")
    names = {path.name for path in CORPUS.iterdir() if path.suffix != ".md"}
    assert names == EXPECTED.keys()
    assert all(f"| {name} |" in told_of for name in names)


@pytest.mark.parametrize("name", EVENTS)
def test_recording_cut_anywhere_is_read(name):
    output = read(name)
    for end in range(0, len(output), 997):
        assert isinstance(read_output(output[:end]), AgentOutput)


@pytest.mark.parametrize("name", EVENTS)
def test_quoted_log_is_plain_and_no_line_is_of_another_format(name):
    lines = [line for line in read(name).splitlines() if line.startswith("{")]
    quoted = (
        "This is the log, line for line:\n" + "".join(f"and then\n{line}\n" for line in lines) + "as it was."
    )
    assert read_output(quoted).format == ""
    assert {read_output(line).format for line in lines} <= {EXPECTED[name][0], "", "json"}


@pytest.mark.parametrize("name", ["openhands-short.txt", "openhands-401.txt"])
def test_openhands_killed_or_with_noise(name):
    output = read(name)
    noisy = output.replace(
        "Agent is working\n", "Agent is working\nProvider List: none\nwarning: old\nnotice\n"
    )
    assert read_output(noisy) == read_output(output)
    at = output.index("Agent is working")
    assert read_output(output[:at]).format == "openhands"
    assert read_output(output.replace("\n", "\r\n")) == read_output(output)


@pytest.mark.parametrize("name", ["openhands.txt", "openhands-short.txt", "openhands-401.txt"])
def test_openhands_quoted_is_plain(name):
    output = read(name)
    prose = "It hangs.\nSo I looked.\n" * output.count("\n{")
    killed = (
        output[: output.index("Agent finished")] if "Agent finished" in output else output.split("\n\n")[0]
    )
    for quoted in (
        f"Its log:\n```\n{output}\n```\n{prose}",
        f"{prose}Its log:\n```\n{output}\n```\n",
        f"{prose}Its log:\n{killed}",
        f'{prose}The others write\n{{"level": "info"}}\nbut it writes\n{output}',
    ):
        assert read_output(quoted).format == ""
