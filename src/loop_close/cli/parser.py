"""The command line: its parser, and the split between our options and the command to run."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from loop_close.cli import Streams, UsageError

__all__ = ["Command", "Commands", "LateCommand", "Parser", "UsageError", "parse", "split_command"]

#: The options of ``run`` that take the next word.
_TAKE_VALUE = ("--source", "--budget")
_MOST_JOBS = 1_000

Command = Callable[[argparse.Namespace, Streams], int]
Commands = argparse._SubParsersAction


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
    for add in (_add_readers, _add_reports, _add_others, _add_shown, _add_judged, _add_hosts, add_drive):
        add(commands)
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


class Parser(argparse.ArgumentParser):
    """A parser that raises :class:`UsageError` and leaves it to the caller to print it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self.color = False  # of Python 3.14; escapes have no place in our messages
        self.set_defaults(parser=self)

    def error(self, message: str) -> NoReturn:
        """Report what is wrong, the usage line, and how to get help."""
        raise UsageError(message, *self.format_usage().strip().split("\n"), f"try: {self.prog} --help")


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


def _command(commands: Commands[Parser], name: str, summary: str, description: str, **more: Any) -> Parser:
    """Add a command; its summary is shown among the others, its description with its options."""
    parser = commands.add_parser(name, help=summary, description=description, **more)
    parser.set_defaults(command=LateCommand(name))
    return parser


# --- kinds of values


_LONGEST_NUMBER = 20  # beyond it, to convert a text takes its time


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"

    def number(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
        if not is_number or not least <= int(text) <= (math.inf if most is None else most):
            raise argparse.ArgumentTypeError(f"must be a whole number {bounds}, not {text!r}")
        return int(text)

    return number


def _tokens(text: str) -> int:
    from loop_close.settings import MIN_BUDGET

    return _whole(MIN_BUDGET)(text)


def _exit_code(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return int(text)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


# --- options of several commands


def _add_budget(parser: Parser) -> None:
    parser.add_argument(
        "--budget", type=_tokens, metavar="TOKENS", help="maximum length of the prompt (default: 2000)"
    )


def _add_output(parser: Parser, about: str = "write to this file instead of standard output") -> None:
    parser.add_argument("-o", "--output", metavar="PATH", help=about)


def _add_json(parser: Parser, about: str = "print JSON") -> None:
    parser.add_argument("--json", action="store_true", help=about)


def _add_history(parser: Parser, source: str = "use only runs of this source") -> None:
    parser.add_argument(
        "--history", metavar="PATH", help="path to the history database (default: from the settings)"
    )
    if source:
        parser.add_argument("--source", metavar="NAME", help=source)


# --- the commands that read output, and those that read reports


def _add_readers(commands: Commands[Parser]) -> None:
    analyze = _command(
        commands,
        "analyze",
        "read logs or JUnit XML and print the next prompt, or a summary of a directory",
        "Reads logs of tests, checkers and Python programs, and prints the next prompt: the logs count as"
        " one run. Of a directory, or with --by cause, each log counts as a run, and a summary is printed: the root"
        " causes of all logs, the most frequent first. Records nothing.",
        epilog="exit codes: 0 no problem found, 1 problem found, 64 wrong usage, 70 internal error of loop-close",
    )
    analyze.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a log file, or a directory of logs and JUnit XML; - for standard input (the default)",
    )
    analyze.add_argument("--by", choices=["cause"], help="summarize the root causes of all logs")
    analyze.add_argument(
        "--jobs",
        type=_whole(1, _MOST_JOBS),
        metavar="N",
        help="processes for a summary (default: the CPUs that can be used)",
    )
    analyze.add_argument(
        "--junit", action="append", default=[], metavar="XML", help="a JUnit XML file; can be repeated"
    )
    analyze.add_argument(
        "--exit-code", type=_exit_code, metavar="N", help="exit code of the command that printed the log"
    )
    _add_json(analyze, "print the report or the summary as JSON")
    _add_output(analyze)
    _add_budget(analyze)
    run = _command(
        commands,
        "run",
        "run a command and write the next prompt from its output",
        "Runs a command, passes its output through, and writes nextprompt.md. Exits with its exit code.",
        usage="loop-close run [-h] [--source NAME] [--budget TOKENS] -- CMD [ARG ...]",
    )
    run.add_argument(
        "--source", metavar="NAME", help="name of this source of runs (default: the command's name)"
    )
    _add_budget(run)


def _add_reports(commands: Commands[Parser]) -> None:
    from loop_close.emit import FORMATS

    merge = _command(
        commands,
        "merge",
        "put reports of shards, environments and CI jobs together into one next prompt",
        "Reads JSON reports (pytest --loop-close-json), JUnit XML and folders of both, in any order.",
        epilog="exit codes: 0 green and no shard missing, 1 not, 64 wrong usage, 70 internal error of loop-close",
    )
    merge.add_argument(
        "paths", nargs="+", metavar="PATH", help="a report, a JUnit XML file, or a folder of them"
    )
    merge.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="SOURCE",
        help="without a source of this name the run is incomplete; * stands for any text; may be repeated",
    )
    _add_output(merge, "write the prompt to this file (default: nextprompt.md)")
    merge.add_argument("--json", metavar="PATH", help="also write the merged report as JSON to this path")
    emit = _command(
        commands,
        "emit",
        "write a JSON report in a format of CI systems",
        "Reads a JSON report (pytest --loop-close-json, loop-close merge --json) and prints it as the step"
        " summary or annotations of GitHub Actions, as GitLab's code quality report, SARIF 2.1.0, CTRF or JUnit XML.",
        epilog="exit codes: 0 written, whatever the report says, 64 wrong usage, 70 internal error of loop-close",
    )
    emit.add_argument("format", choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))
    emit.add_argument("report", metavar="REPORT", help="a JSON report; - for standard input")
    _add_output(emit)
    emit.add_argument(
        "--prefix", metavar="FOLDER", default="", help="path of the project's root in its repository"
    )


def _add_others(commands: Commands[Parser]) -> None:
    detectors = _command(
        commands,
        "detectors",
        "list the detectors, most blocking first",
        "Lists the detectors, which find what is wrong in a run, most blocking first.",
    )
    _add_json(detectors)
    demo = _command(
        commands,
        "demo",
        "run an example project with nine faults and show its prompt",
        "Runs pytest on an example project with nine faults and prints its next prompt.",
    )
    demo.add_argument(
        "--html", metavar="PATH", help="run it again after each of ten edits and write the page of these runs"
    )
    _command(
        commands,
        "mcp",
        "start the MCP server for coding agents",
        "Serves four tools over the Model Context Protocol, on standard input and output: loop_close,"
        " loop_status, loop_history and loop_run. Requires: pip install 'pytest-loop-close[mcp]'.",
        epilog="exit codes: 0 end of input, 64 wrong usage or mcp not installed, 70 internal error of loop-close",
    )


# --- the commands that show, judge or change the history of runs

_STATUS_CODES = "exit codes: 0 done, 64 wrong usage or no history, 70 internal error of loop-close"


def _add_shown(commands: Commands[Parser]) -> None:
    status = _command(
        commands,
        "status",
        "show whether the loop is green, failing or stuck",
        "Shows for each source whether its last run left it green, failing or stuck; worst first. A source"
        " is what made the runs: pytest, pytest:py312 under tox, mypy, ...",
        epilog="exit codes: 0 green, 1 failing, 3 stuck, 64 wrong usage or no history,"
        " 70 internal error of loop-close",
    )
    _add_history(status)
    ask = _command(
        commands,
        "ask",
        "answer by exit code whether a test fails, and since when",
        "Says in one line what the recorded runs know of a test. Runs nothing.",
        epilog="exit codes: 0 it passes, 1 broken (it passed before), 3 new (it is not known to have passed), 4 flaky"
        " (it passed and failed on the same code), 5 known (an entry of the setting known matches), 6 failing elsewhere"
        " (in the runs of another source), 7 unknown test, 64 wrong usage or no history, 70 internal error of"
        " loop-close",
    )
    ask.add_argument("test", metavar="NODEID", help="a node id, from the root or from the working directory")
    _add_history(ask, "ask the runs of this source (default: the source that ran last)")
    history = _command(
        commands,
        "history",
        "list the recorded runs",
        "Lists the recorded runs, newest last, and the number of failing tests after each.",
        epilog=_STATUS_CODES,
    )
    history.add_argument(
        "--limit", type=_whole(1), metavar="N", help="show the last N runs (default: 20; with --json: all)"
    )
    _add_history(history)
    for parser in (status, ask, history):
        _add_json(parser)
    report = _command(
        commands,
        "report",
        "write the recorded runs as an HTML page or an SVG picture",
        "Writes tests over runs, root causes with their suspects, edits and signals as one HTML file that"
        " loads nothing, or the trend and the heat map as an SVG picture.",
        epilog="exit codes: 0 written, also without a run, 64 wrong usage, 70 internal error of loop-close",
    )
    report.add_argument("--html", metavar="PATH", help="write the page to this file")
    report.add_argument("--svg", metavar="PATH", help="write the picture to this file")
    report.add_argument(
        "--limit", type=_whole(1), metavar="N", help="show the last N runs, at most 2000 (default: 500)"
    )
    _add_history(report)


def _add_judged(commands: Commands[Parser]) -> None:
    explain = _command(
        commands,
        "explain",
        "show which signals fired in the last run, and why",
        "Shows for each signal whether it fired in the last run and why, or what was missing. A signal is a"
        " reason to believe that the loop makes no progress.",
        epilog=_STATUS_CODES,
    )
    explain.add_argument(
        "signal", nargs="?", metavar="SIGNAL", help="show only this signal, with its failures"
    )
    _add_history(explain, "use the last run of this source (default: the source that ran last)")
    replay = _command(
        commands,
        "replay",
        "judge the recorded runs again, for example with other thresholds",
        "Judges the recorded runs again, in order. Changes nothing.",
        epilog=_STATUS_CODES,
    )
    replay.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a history.sqlite3, or the output of history --json; - for standard input"
        " (default: the project's history)",
    )
    replay.add_argument(
        "--set",
        action="append",
        default=[],
        dest="thresholds",
        metavar="NAME=VALUE",
        help="override a threshold of the settings; can be repeated",
    )
    _add_history(replay)
    accept = _command(
        commands,
        "accept",
        "accept what was done to tests",
        "Accepts what was done to tests since the loop began, so that a green run counts as done. Without a"
        " test, shows the changes. Refused inside a hook, inside drive, and in the shell of an agent.",
        epilog="exit codes: 0 done, 1 there are changes that were not accepted, 64 wrong usage or refused, 70 internal"
        " error of loop-close",
    )
    accept.add_argument("tests", nargs="*", metavar="TEST", help="a node id, or a file, as status names it")
    accept.add_argument("--all", action="store_true", help="accept all changes")
    _add_history(accept, "")
    about = "Deletes the recorded runs without asking and prints how many there were."
    reset = _command(commands, "reset", "delete the recorded runs", about, epilog=_STATUS_CODES)
    _add_history(reset)
    for parser in (explain, replay, accept, reset):
        _add_json(parser)


# --- the commands that add our hook to an agent's configuration

_HOOK_CODES = (
    "exit codes: 0 done or nothing to do, 64 wrong usage or a configuration that must be fixed first,"
    " 70 internal error of loop-close"
)


def _add_hosts(commands: Commands[Parser]) -> None:
    from loop_close.hosts import NAMES

    names = f"one of {', '.join(NAMES)}"
    hook = _command(
        commands,
        "hook",
        "called by a coding agent: may it stop now?",
        "Reads a hook event as JSON on standard input and writes the answer to standard output. The coding"
        " agent calls it; loop-close install sets that up.",
        epilog="exit code: 0, also on errors, because agents treat other codes as an answer; 64 wrong usage",
    )
    hook.add_argument("--host", required=True, metavar="NAME", help=names)
    install = _command(
        commands,
        "install",
        "add the hook to a coding agent, or a section to AGENTS.md",
        "Adds the hook to the configuration of a coding agent, or a section to AGENTS.md, keeps everything else, and"
        " shows the diff.",
        epilog=_HOOK_CODES,
    )
    uninstall = _command(
        commands,
        "uninstall",
        "remove the hook from a coding agent, or the section from AGENTS.md",
        "Removes the hook from the configuration of a coding agent, or the section from AGENTS.md, keeps everything"
        " else, and shows the diff.",
        epilog=_HOOK_CODES,
    )
    for parser in (install, uninstall):
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--host", metavar="NAME", help=names)
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


# --- the command that runs tests and an agent in turn

_DESCRIPTION = """\
Runs the tests, gives the next prompt to an agent, and repeats until the tests pass, the loop is stuck, or a limit is
reached. The agent is any command that reads a prompt and edits files. It gets the prompt on standard input; if its
command contains {prompt_file} or {prompt}, the file's path or the text is put there instead."""


def add_drive(commands: Commands[Parser]) -> None:
    """Add ``drive``."""
    drive = _command(
        commands,
        "drive",
        "run tests and an agent in turn until the tests pass",
        _DESCRIPTION,
        epilog="exit codes: 0 done, 3 stuck, 4 limit reached, 130 interrupted, 64 wrong usage, 70 internal error",
    )
    for option, metavar, about in (
        ("--agent", "CMD", "command of the agent, for example 'claude -p'"),
        ("--test", "CMD", "command that runs the tests (default: the setting test_command)"),
        ("--task", "FILE", "file with a task for the agent; its text is put before each prompt"),
        (
            "--plan",
            "FILE",
            "file with the steps to take, a list item with a check box each; the strategy is then fix_plan by default",
        ),
        (
            "--strategy",
            "NAME",
            "when to end the loop: auto, fix_plan, done_signals, circuit_breaker, or several joined by + (default:"
            " the setting strategy)",
        ),
    ):
        drive.add_argument(option, metavar=metavar, help=about)
    limits: tuple[tuple[str, Callable[[str], float], str, str], ...] = (
        ("--max-iterations", _whole(1), "N", "maximum number of agent turns (default: 100)"),
        ("--max-runtime", _amount, "SECONDS", "maximum time of the whole loop (default: 14400)"),
        ("--max-cost", _amount, "N", "maximum cost, if the agent reports its cost (default: 10)"),
        ("--max-failures", _whole(1), "N", "maximum number of failed turns in a row (default: 5)"),
        ("--agent-timeout", _amount, "SECONDS", "maximum time of one agent turn (default: none)"),
        ("--test-timeout", _amount, "SECONDS", "maximum time of one test run (default: none)"),
    )
    for option, kind, metavar, about in limits:
        drive.add_argument(option, type=kind, metavar=metavar, help=about)
    drive.add_argument(
        "--resume", action="store_true", help="continue the last loop; options given now replace its own"
    )
