"""The options of ``drive``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from loop_close.cli.parser_parts import Commands, LateCommand, Parser

_DESCRIPTION = """\
Runs the tests, gives the next prompt to an agent, and repeats until the tests pass, the loop is stuck, or a limit is
reached. The agent is any command that reads a prompt and edits files. It gets the prompt on standard input; if its
command contains {prompt_file} or {prompt}, the file's path or the text is put there instead."""
_CODES = "exit codes: 0 done, 3 stuck, 4 limit reached, 130 interrupted, 64 wrong usage, 70 internal error"


def add_drive(commands: Commands[Parser]) -> None:
    """Add ``drive``."""
    parser = commands.add_parser(
        "drive",
        help="run tests and an agent in turn until the tests pass",
        description=_DESCRIPTION,
        epilog=_CODES,
    )
    _add_commands(parser)
    _add_limits(parser)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the last loop; options given now replace its own",
    )
    parser.set_defaults(command=LateCommand("drive"))


def _add_commands(parser: Parser) -> None:
    parser.add_argument("--agent", metavar="CMD", help="command of the agent, for example 'claude -p'")
    parser.add_argument(
        "--test", metavar="CMD", help="command that runs the tests (default: the setting test_command)"
    )
    parser.add_argument(
        "--task",
        metavar="FILE",
        help="file with a task for the agent; its text is put before each prompt",
    )
    parser.add_argument(
        "--plan",
        metavar="FILE",
        help="file with the steps to take, a list item with a check box each; the strategy is then fix_plan by default",
    )
    parser.add_argument(
        "--strategy",
        metavar="NAME",
        help="when to end the loop: auto, fix_plan, done_signals, circuit_breaker, or several joined by + (default:"
        " the setting strategy)",
    )


def _add_limits(parser: Parser) -> None:
    _add_limit(parser, "--max-iterations", _whole, "N", "maximum number of agent turns (default: 100)")
    _add_limit(parser, "--max-runtime", _amount, "SECONDS", "maximum time of the whole loop (default: 14400)")
    _add_limit(
        parser, "--max-cost", _amount, "N", "maximum cost, if the agent reports its cost (default: 10)"
    )
    _add_limit(parser, "--max-failures", _whole, "N", "maximum number of failed turns in a row (default: 5)")
    _add_limit(
        parser, "--agent-timeout", _amount, "SECONDS", "maximum time of one agent turn (default: none)"
    )
    _add_limit(parser, "--test-timeout", _amount, "SECONDS", "maximum time of one test run (default: none)")


def _add_limit(
    parser: Parser, option: str, kind: Callable[[str], float], unit: str, description: str
) -> None:
    parser.add_argument(option, type=kind, metavar=unit, help=description)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return int(text)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value
