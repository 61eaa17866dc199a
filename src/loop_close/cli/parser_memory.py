"""The options of the commands that show or change the history of runs."""

from __future__ import annotations

import argparse

from loop_close.cli.parser_parts import Commands, LateCommand, Parser

_CODES = "exit codes: 0 done, 64 wrong usage or no history, 70 internal error of loop-close"


def add_memory_commands(commands: Commands[Parser]) -> None:
    """Add ``status``, ``ask``, ``history``, ``explain``, ``replay``, ``accept`` and ``reset``."""
    for add in (_add_status, _add_ask, _add_history, _add_explain, _add_replay, _add_accept, _add_reset):
        add(commands)


def _add_status(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "status",
        help="show whether the loop is green, failing or stuck",
        description="Shows for each source whether its last run left it green, failing or stuck; worst first. A source"
        " is what made the runs: pytest, pytest:py312 under tox, mypy, ...",
        epilog="exit codes: 0 green, 1 failing, 3 stuck, 64 wrong usage or no history,"
        " 70 internal error of loop-close",
    )
    _finish(parser, "status")


def _add_ask(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "ask",
        help="answer by exit code whether a test fails, and since when",
        description="Says in one line what the recorded runs know of a test. Runs nothing.",
        epilog="exit codes: 0 it passes, 1 broken (it passed before), 3 new (it is not known to have passed), 4 flaky"
        " (it passed and failed on the same code), 5 known (an entry of the setting known matches), 6 failing elsewhere"
        " (in the runs of another source), 7 unknown test, 64 wrong usage or no history, 70 internal error of"
        " loop-close",
    )
    parser.add_argument(
        "test", metavar="NODEID", help="a node id, from the root or from the working directory"
    )
    _finish(parser, "ask", source="ask the runs of this source (default: the source that ran last)")


def _add_history(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "history",
        help="list the recorded runs",
        description="Lists the recorded runs, newest last, and the number of failing tests after each.",
        epilog=_CODES,
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="show the last N runs (default: 20; with --json: all)"
    )
    _finish(parser, "history")


def _add_explain(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="show which signals fired in the last run, and why",
        description="Shows for each signal whether it fired in the last run and why, or what was missing. A signal is a"
        " reason to believe that the loop makes no progress.",
        epilog=_CODES,
    )
    parser.add_argument(
        "signal", nargs="?", metavar="SIGNAL", help="show only this signal, with its failures"
    )
    _finish(parser, "explain", source="use the last run of this source (default: the source that ran last)")


def _add_replay(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "replay",
        help="judge the recorded runs again, for example with other thresholds",
        description="Judges the recorded runs again, in order. Changes nothing.",
        epilog=_CODES,
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a history.sqlite3, or the output of history --json; - for standard input"
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
        help="override a threshold of the settings; can be repeated",
    )


def _add_accept(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "accept",
        help="accept what was done to tests",
        description="Accepts what was done to tests since the loop began, so that a green run counts as done. Without a"
        " test, shows the changes. Refused inside a hook, inside drive, and in the shell of an agent.",
        epilog="exit codes: 0 done, 1 there are changes that were not accepted, 64 wrong usage or refused, 70 internal"
        " error of loop-close",
    )
    parser.add_argument("tests", nargs="*", metavar="TEST", help="a node id, or a file, as status names it")
    parser.add_argument("--all", action="store_true", help="accept all changes")
    _finish(parser, "accept", source="")


def _add_reset(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "reset",
        help="delete the recorded runs",
        description="Deletes the recorded runs without asking and prints how many there were.",
        epilog=_CODES,
    )
    _finish(parser, "reset")


def _finish(parser: Parser, name: str, source: str = "use only runs of this source") -> None:
    parser.add_argument(
        "--history", metavar="PATH", help="path to the history database (default: from the settings)"
    )
    if source:
        parser.add_argument("--source", metavar="NAME", help=source)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=LateCommand(name))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)
