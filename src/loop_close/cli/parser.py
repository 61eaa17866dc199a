"""The command line: its parser, and the split between our options and the command to run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from loop_close.cli.parser_drive import add_drive
from loop_close.cli.parser_hosts import add_host_commands
from loop_close.cli.parser_memory import add_memory_commands
from loop_close.cli.parser_parts import Commands, LateCommand, Parser, UsageError

__all__ = ["UsageError", "parse", "split_command"]

#: The options of ``run`` that take the next word.
_TAKE_VALUE = ("--source", "--budget")
_MOST_JOBS = 1_000


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with the function to call as ``command``.

    :raises UsageError: for words that make no command.
    """
    parser = Parser(
        prog="loop-close",
        description="Reads the output of tests and checkers and writes the next prompt for a coding agent.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="name", parser_class=Parser)
    for add in (_add_analyze, _add_run, _add_merge, _add_emit, _add_detectors, _add_demo, _add_mcp):
        add(commands)
    add_memory_commands(commands)
    add_host_commands(commands)
    add_drive(commands)
    ours, theirs = split_command(list(arguments))
    options, unknown = parser.parse_known_args(ours)
    if hasattr(options, "files"):  # argparse takes no more files after an option
        options.files = [*options.files, *filter(_is_file, unknown)]
        unknown = [word for word in unknown if not _is_file(word)]
    if unknown:
        options.parser.error(f"unknown option or argument: {' '.join(unknown)}")
    options.words = theirs
    return options


def _is_file(word: str) -> bool:
    return word == "-" or not word.startswith("-")


def split_command(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The words that are ours, and those of the command to ``run``.

    By hand, as versions of Python differ in what they make of ``--`` before words that are not theirs.
    """
    if arguments[:1] != ["run"]:
        return arguments, []
    at = 1
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] == "--":
            return arguments[:at], arguments[at + 1 :]
        at += 2 if arguments[at] in _TAKE_VALUE else 1
    return arguments[:at], arguments[at:]


class _Version(argparse.Action):
    """The version, looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from loop_close import __version__

        sys.stdout.write(f"loop-close {__version__}\n")
        parser.exit()


def _tokens(text: str) -> int:
    from loop_close.settings import MIN_BUDGET

    if not text.isdecimal() or int(text) < MIN_BUDGET:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {MIN_BUDGET}, not {text!r}")
    return int(text)


def _jobs(text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    if not is_number or not 1 <= int(text) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {_MOST_JOBS}, not {text!r}")
    return int(text)


def _exit_code(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return int(text)


def _add_budget(parser: Parser) -> None:
    parser.add_argument(
        "--budget", type=_tokens, metavar="TOKENS", help="maximum length of the prompt (default: 2000)"
    )


def _add_analyze(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "analyze",
        help="read logs or JUnit XML and print the next prompt, or a summary of a directory",
        description="Reads logs of tests, checkers and Python programs, and prints the next prompt: the logs count as"
        " one run. Of a directory, or with --by cause, each log counts as a run, and a summary is printed: the root"
        " causes of all logs, the most frequent first. Records nothing.",
        epilog="exit codes: 0 no problem found, 1 problem found, 64 wrong usage, 70 internal error of loop-close",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a log file, or a directory of logs and JUnit XML; - for standard input (the default)",
    )
    parser.add_argument("--by", choices=["cause"], help="summarize the root causes of all logs")
    parser.add_argument(
        "--jobs", type=_jobs, metavar="N", help="processes for a summary (default: the CPUs that can be used)"
    )
    parser.add_argument(
        "--junit", action="append", default=[], metavar="XML", help="a JUnit XML file; can be repeated"
    )
    parser.add_argument(
        "--exit-code", type=_exit_code, metavar="N", help="exit code of the command that printed the log"
    )
    parser.add_argument("--json", action="store_true", help="print the report or the summary as JSON")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="write to this file instead of standard output"
    )
    _add_budget(parser)
    parser.set_defaults(command=LateCommand("analyze"))


def _add_merge(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "merge",
        help="put reports of shards, environments and CI jobs together into one next prompt",
        description="Reads JSON reports (pytest --loop-close-json), JUnit XML and folders of both, in any order.",
        epilog="exit codes: 0 green and no shard missing, 1 not, 64 wrong usage, 70 internal error of loop-close",
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a report, a JUnit XML file, or a folder of them"
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="write the prompt to this file (default: nextprompt.md)"
    )
    parser.add_argument("--json", metavar="PATH", help="also write the merged report as JSON to this path")
    parser.set_defaults(command=LateCommand("merge"))


def _add_emit(commands: Commands[Parser]) -> None:
    from loop_close.emit import FORMATS

    parser = commands.add_parser(
        "emit",
        help="write a JSON report in a format of CI systems",
        description="Reads a JSON report (pytest --loop-close-json, loop-close merge --json) and prints it as the step"
        " summary or annotations of GitHub Actions, as GitLab's code quality report, SARIF 2.1.0, CTRF or JUnit XML.",
        epilog="exit codes: 0 written, whatever the report says, 64 wrong usage, 70 internal error of loop-close",
    )
    parser.add_argument("format", choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("report", metavar="REPORT", help="a JSON report; - for standard input")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="write to this file instead of standard output"
    )
    parser.add_argument(
        "--prefix", metavar="FOLDER", default="", help="path of the project's root in its repository"
    )
    parser.set_defaults(command=LateCommand("emit"))


def _add_run(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "run",
        help="run a command and write the next prompt from its output",
        usage="loop-close run [-h] [--source NAME] [--budget TOKENS] -- CMD [ARG ...]",
        description="Runs a command, passes its output through, and writes nextprompt.md. Exits with its exit code.",
    )
    parser.add_argument(
        "--source", metavar="NAME", help="name of this source of runs (default: the command's name)"
    )
    _add_budget(parser)
    parser.set_defaults(command=LateCommand("run"))


def _add_detectors(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "detectors",
        help="list the detectors, most blocking first",
        description="Lists the detectors, which find what is wrong in a run, most blocking first.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=LateCommand("detectors"))


def _add_demo(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="run an example project with nine faults and show its prompt",
        description="Runs pytest on an example project with nine faults and prints its next prompt.",
    )
    parser.set_defaults(command=LateCommand("demo"))


def _add_mcp(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "mcp",
        help="start the MCP server for coding agents",
        description="Serves four tools over the Model Context Protocol, on standard input and output: loop_close,"
        " loop_status, loop_history and loop_run. Requires: pip install 'pytest-loop-close[mcp]'.",
        epilog="exit codes: 0 end of input, 64 wrong usage or mcp not installed, 70 internal error of loop-close",
    )
    parser.set_defaults(command=LateCommand("mcp"))
