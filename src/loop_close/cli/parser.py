"""The command line: its parser, and the split between our options and the command to run."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from loop_close.cli import Streams, UsageError

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
    parser.add_argument(
        "--html", metavar="PATH", help="run it again after each of ten edits and write the page of these runs"
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


# --- parser and lazy loading shared by all subcommands

__all__ = ["Command", "Commands", "LateCommand", "Parser", "UsageError"]

Command = Callable[[argparse.Namespace, Streams], int]
Commands = argparse._SubParsersAction


class Parser(argparse.ArgumentParser):
    """A parser that raises :class:`UsageError` and leaves it to the caller to print it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self.color = False  # of Python 3.14; escapes have no place in our messages
        self.set_defaults(parser=self)

    def error(self, message: str) -> NoReturn:
        """Report what is wrong, the usage line, and how to get help."""
        raise UsageError(f"{message}\n{self.format_usage().strip()}\ntry: {self.prog} --help")


#: The module of :mod:`loop_close.cli` that has the command, where it is not the one of the same name.
_MODULES = {
    **dict.fromkeys(("demo", "detectors", "drive", "mcp"), "commands"),
    "accept": "status",
    "explain": "ask",
    "merge": "analyze",
    "emit": "analyze",
    "replay": "history",
    "report": "recorded",
    "reset": "history",
    "install": "commands",
    "uninstall": "commands",
}


class LateCommand:
    """A command whose module is loaded when it is called: the others do not wait for what it needs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, options: argparse.Namespace, streams: Streams) -> int:
        """Run it."""
        return self.load()(options, streams)

    def load(self) -> Command:
        """The function that runs it."""
        module = import_module(f"loop_close.cli.{_MODULES.get(self.name, self.name)}")
        command: Command = getattr(module, self.name)
        return command


# --- the options of ``drive``

_DESCRIPTION = """\
Runs the tests, gives the next prompt to an agent, and repeats until the tests pass, the loop is stuck, or a limit is
reached. The agent is any command that reads a prompt and edits files. It gets the prompt on standard input; if its
command contains {prompt_file} or {prompt}, the file's path or the text is put there instead."""
_DRIVE_CODES = (
    "exit codes: 0 done, 3 stuck, 4 limit reached, 130 interrupted, 64 wrong usage, 70 internal error"
)


def add_drive(commands: Commands[Parser]) -> None:
    """Add ``drive``."""
    parser = commands.add_parser(
        "drive",
        help="run tests and an agent in turn until the tests pass",
        description=_DESCRIPTION,
        epilog=_DRIVE_CODES,
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


# --- the options of the commands that add our hook to an agent's configuration

_HOOK_CODES = (
    "exit codes: 0 done or nothing to do, 64 wrong usage or a configuration that must be fixed first,"
    " 70 internal error of loop-close"
)


def add_host_commands(commands: Commands[Parser]) -> None:
    """Add ``hook``, ``install`` and ``uninstall``."""
    _add_hook(commands)
    _add(
        commands,
        "install",
        "add the hook to a coding agent, or a section to AGENTS.md",
        "Adds the hook to the configuration of a coding agent, or a section to AGENTS.md, keeps everything else, and"
        " shows the diff.",
    )
    _add(
        commands,
        "uninstall",
        "remove the hook from a coding agent, or the section from AGENTS.md",
        "Removes the hook from the configuration of a coding agent, or the section from AGENTS.md, keeps everything"
        " else, and shows the diff.",
    )


def _add_hook(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "hook",
        help="called by a coding agent: may it stop now?",
        description="Reads a hook event as JSON on standard input and writes the answer to standard output. The coding"
        " agent calls it; loop-close install sets that up.",
        epilog="exit code: 0, also on errors, because agents treat other codes as an answer; 64 wrong usage",
    )
    _add_host(parser, required=True)
    parser.set_defaults(command=LateCommand("hook"))


def _add_host(parser: argparse._ActionsContainer, *, required: bool = False) -> None:
    from loop_close.hosts import NAMES

    parser.add_argument("--host", required=required, metavar="NAME", help=f"one of {', '.join(NAMES)}")


def _add(commands: Commands[Parser], name: str, summary: str, description: str) -> None:
    parser = commands.add_parser(name, help=summary, description=description, epilog=_HOOK_CODES)
    what = parser.add_mutually_exclusive_group()
    _add_host(what)
    what.add_argument(
        "--agents-md",
        action="store_true",
        help="the section in AGENTS.md on how to run the tests, and what to read",
    )
    parser.add_argument(
        "--user",
        action="store_true",
        help="for every project, in the home folder (default: only this project)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff, write nothing")
    parser.set_defaults(command=LateCommand(name))


# --- the options of the commands that show or change the history of runs

_STATUS_CODES = "exit codes: 0 done, 64 wrong usage or no history, 70 internal error of loop-close"


def add_memory_commands(commands: Commands[Parser]) -> None:
    """Add ``status``, ``ask``, ``history``, ``report``, ``explain``, ``replay``, ``accept`` and ``reset``."""
    shown = (_add_status, _add_ask, _add_history, _add_report, _add_explain)
    for add in (*shown, _add_replay, _add_accept, _add_reset):
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
        epilog=_STATUS_CODES,
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="show the last N runs (default: 20; with --json: all)"
    )
    _finish(parser, "history")


def _add_report(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "report",
        help="write the recorded runs as an HTML page or an SVG picture",
        description="Writes tests over runs, root causes with their suspects, edits and signals as one HTML file that"
        " loads nothing, or the trend and the heat map as an SVG picture.",
        epilog="exit codes: 0 written, also without a run, 64 wrong usage, 70 internal error of loop-close",
    )
    parser.add_argument("--html", metavar="PATH", help="write the page to this file")
    parser.add_argument("--svg", metavar="PATH", help="write the picture to this file")
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="show the last N runs, at most 2000 (default: 500)"
    )
    parser.add_argument(
        "--history", metavar="PATH", help="path to the history database (default: from the settings)"
    )
    parser.add_argument("--source", metavar="NAME", help="use only runs of this source")
    parser.set_defaults(command=LateCommand("report"))


def _add_explain(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="show which signals fired in the last run, and why",
        description="Shows for each signal whether it fired in the last run and why, or what was missing. A signal is a"
        " reason to believe that the loop makes no progress.",
        epilog=_STATUS_CODES,
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
        epilog=_STATUS_CODES,
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
        epilog=_STATUS_CODES,
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
