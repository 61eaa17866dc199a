"""The page about the driver: its commands are some, and its figures are those of the code."""

import re
import shlex
from pathlib import Path

import pytest

from loop_close.agent.guard import Limits
from loop_close.cli.parser import parse
from loop_close.cli.project import words_of

PAGE = (Path(__file__).parents[2] / "docs" / "drive.md").read_text(encoding="utf-8")
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE + README, re.DOTALL) for line in block.splitlines()
]
DRIVES = [line for line in COMMANDS if line.startswith("loop-close drive")]


def test_there_are_commands_to_copy():
    assert len(DRIVES) == 8


@pytest.mark.parametrize("line", DRIVES)
def test_command_can_be_copied(line):
    options = parse(shlex.split(line)[1:])
    assert options.resume or words_of(options.agent, "--agent")


def test_limits_are_those_of_the_code():
    limits = Limits()
    for option, value in [
        ("--max-iterations N", limits.max_iterations),
        ("--max-runtime SECONDS", limits.max_runtime),
        ("--max-cost N", limits.max_cost),
        ("--max-failures N", limits.max_consecutive_failures),
    ]:
        assert f"| `{option}` | {value:g} |" in PAGE
        assert f"(default: {value:g})" in help_of_drive()


def test_every_option_is_documented():
    for option in re.findall(r"--[a-z-]+", help_of_drive()):
        assert option in PAGE or option in ("--help", "--strategy")


def help_of_drive():
    from loop_close.cli.parser import Parser, add_drive

    parser = Parser(prog="loop-close")
    commands = parser.add_subparsers(parser_class=Parser)
    add_drive(commands)
    return " ".join(commands.choices["drive"].format_help().split())
