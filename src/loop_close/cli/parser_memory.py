"""The words of the commands that tell what is remembered from run to run."""

from __future__ import annotations

import argparse

from loop_close.cli.parser_parts import Commands, LateCommand, Parser

_CODES = "exit codes: 0 done, 64 wrong usage or no history, 70 a fault of loop-close"


def add_memory_commands(commands: Commands[Parser]) -> None:
    """Add ``status``, ``history``, ``explain``, ``replay`` and ``reset``."""
    for add in (_add_status, _add_history, _add_explain, _add_replay, _add_reset):
        add(commands)


def _add_status(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "status",
        help="say where the loop stands after its last run",
        description="Says of every source where it stands after its last run, the worst first.",
        epilog="exit codes: 0 green, 1 failing, 3 stuck, 64 wrong usage or no history, 70 a fault of loop-close",
    )
    _finish(parser, "status")


def _add_history(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "history",
        help="list the runs that are remembered",
        description="Lists the runs that are remembered, the newest last, and how many tests failed from run to run.",
        epilog=_CODES,
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="the last N runs (default: 20; with --json all)"
    )
    _finish(parser, "history")


def _add_explain(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="say why signals fired in the last run, and why others did not",
        description="Says of every signal whether it fired in the last run, and why or what it lacks.",
        epilog=_CODES,
    )
    parser.add_argument(
        "signal", nargs="?", metavar="SIGNAL", help="only this one, with the failures it is about"
    )
    _finish(parser, "explain", source="whose last run (default: the source that ran last)")


def _add_replay(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "replay",
        help="judge remembered runs again, such as with other thresholds",
        description="Judges remembered runs again, one after the other, and changes nothing.",
        epilog=_CODES,
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a history.sqlite3, or what history --json printed, - for the standard input"
        " (default: the project's history)",
    )
    _add_thresholds(parser)
    _finish(parser, "replay")


def _add_thresholds(parser: Parser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="thresholds",
        metavar="NAME=VALUE",
        help="a threshold over that of the settings; may be repeated",
    )


def _add_reset(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "reset",
        help="forget the runs that are remembered",
        description="Forgets the runs that are remembered, without asking, and says how many there were.",
        epilog=_CODES,
    )
    _finish(parser, "reset")


def _finish(parser: Parser, name: str, source: str = "only the runs of this source") -> None:
    parser.add_argument("--history", metavar="PATH", help="of the history (default: that of the settings)")
    parser.add_argument("--source", metavar="NAME", help=source)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(command=LateCommand(name))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"takes a whole number, at least 1, not {text!r}")
    return int(text)
