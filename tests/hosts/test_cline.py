"""Cline: what it sends, and the exact answers."""

import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import ConfigError, Payload
from loop_close.hosts.cline import HOST


def test_tool_is_read_as_the_extension_sends_it():
    assert HOST.read(recorded("cline-PostToolUse")) == Payload(
        session="1787414000000",
        cwd="/home/me/shop",
        event="PostToolUse",
        is_stop=False,
    )


def test_tool_is_read_as_the_command_line_sends_it():
    assert HOST.read(recorded("cline-tool_result")) == Payload(
        session="conv-123", event="tool_result", is_stop=False
    )


@pytest.mark.parametrize(
    ("fields", "cwd"),
    [
        ({"workspaceRoots": ["/a"], "workspaceInfo": {"rootPath": "/b"}}, "/a"),
        ({"workspaceInfo": {"rootPath": "/b"}}, "/b"),
        ({"workspaceInfo": {}}, ""),
    ],
)
def test_folder_is_the_first_root_or_that_of_the_workspace(fields, cwd):
    assert HOST.read(recorded("cline-tool_result", **fields)).cwd == cwd


@pytest.mark.parametrize("answer", [HOST.go_on, HOST.inform])
def test_agent_reads_the_text(answer):
    shown = answer(HOST.read(recorded("cline-PostToolUse")), "1 failed\nAll of it: nextprompt.md")
    assert shown == r'{"cancel":false,"contextModification":"1 failed\nAll of it: nextprompt.md"}'


def test_no_task_is_ended():
    assert HOST.end(HOST.read(recorded("cline-PostToolUse")), REASON) == ""


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(text):
    payload = HOST.read(recorded("cline-PostToolUse"))
    assert (HOST.go_on(payload, text), HOST.inform(payload, text)) == ("", "")


def test_our_program_is_ours():
    assert HOST.config.added(HOST.config.fresh) == HOST.config.fresh
    assert HOST.config.removed(HOST.config.fresh) is None


def test_program_that_calls_us_is_left_to_its_maker():
    text = '#!/bin/bash\ninput=$(cat)\nprintf %s "$input" | .venv/bin/loop-close hook --host cline\n'
    assert HOST.config.added(text) == text
    with pytest.raises(ConfigError, match="by hand"):
        HOST.config.removed(text)


@pytest.mark.parametrize("text", ["", "#!/bin/sh\necho '{}'\n", "# loop-close hook --host cline\n"])
def test_program_of_others_is_refused(text):
    with pytest.raises(ConfigError, match="pass its standard input to `loop-close hook --host cline`"):
        HOST.config.added(text)
    assert HOST.config.removed(text) == text
