"""The words of ``drive``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from loop_close.cli.parser_parts import Commands, LateCommand, Parser

_DESCRIPTION = """\
Runs the tests, gives the next prompt to an agent, runs the tests again, and so on, until the tests are green, the
loop is stuck, or a limit is reached. The agent is any command that reads a prompt and edits files; it gets the
prompt on its standard input, or where {prompt} or {prompt_file} stands in its words."""
_CODES = "exit codes: 0 done, 3 stuck, 4 a limit is reached, 130 interrupted, 64 wrong usage, 70 a fault of loop-close"


def add_drive(commands: Commands[Parser]) -> None:
    """Add ``drive``."""
    parser = commands.add_parser(
        "drive", help="let tests and an agent take turns", description=_DESCRIPTION, epilog=_CODES
    )
    _add_commands(parser)
    _add_limits(parser)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the last loop, with its commands unless others are given",
    )
    parser.set_defaults(command=LateCommand("drive"))


def _add_commands(parser: Parser) -> None:
    parser.add_argument("--agent", metavar="CMD", help="the agent's command, such as 'claude -p'")
    parser.add_argument(
        "--test", metavar="CMD", help="the tests' command (default: the setting test_command)"
    )
    parser.add_argument(
        "--task",
        metavar="FILE",
        help="what the agent is to do beside making the tests pass: put before each prompt",
    )
    parser.add_argument(
        "--strategy",
        metavar="NAME",
        help="when the loop ends: auto, fix_plan, done_signals, circuit_breaker, or several joined by + (default: the"
        " setting strategy)",
    )


def _add_limits(parser: Parser) -> None:
    _add_limit(parser, "--max-iterations", _whole, "N", "turns of the agent (default: 100)")
    _add_limit(parser, "--max-runtime", _amount, "SECONDS", "of the whole loop (default: 14400)")
    _add_limit(parser, "--max-cost", _amount, "N", "as far as the agent tells it (default: 10)")
    _add_limit(parser, "--max-failures", _whole, "N", "failed turns in a row (default: 5)")
    _add_limit(parser, "--agent-timeout", _amount, "SECONDS", "of one turn (default: none)")
    _add_limit(parser, "--test-timeout", _amount, "SECONDS", "of one run of the tests (default: none)")


def _add_limit(
    parser: Parser, option: str, kind: Callable[[str], float], unit: str, description: str
) -> None:
    parser.add_argument(option, type=kind, metavar=unit, help=description)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"takes a whole number above 0, not {text!r}")
    return int(text)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"takes a number above 0, not {text!r}")
    return value
