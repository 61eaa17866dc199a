"""The command line: its parser, and the split between our options and the command to run."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from loop_close.cli import Streams, UsageError

Command = Callable[[argparse.Namespace, Streams], int]
Commands = argparse._SubParsersAction


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with the name of the command, and for ``run`` the words of what it runs.

    :raises UsageError: for words that make no command.
    """
    parser = Parser(
        prog="loop-close",
        description="Says whether the work is done, and writes the next prompt for a coding agent.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="name", parser_class=Parser)
    for add in (_add_state, _add_readers, _add_history, _add_reports, _add_hosts, add_drive, _add_others):
        add(commands)
    words = list(arguments)
    # By hand, as versions of Python differ in what they make of ``--`` before words that are not ours.
    at = words.index("--") if words[:1] == ["run"] and "--" in words else len(words)
    options, unknown = parser.parse_known_args(words[:at])
    if hasattr(options, "files"):  # argparse takes no more files after an option
        options.files = [*options.files, *filter(_is_file, unknown)]
        unknown = [word for word in unknown if not _is_file(word)]
    if unknown:
        options.parser.error(f"unknown option or argument: {' '.join(unknown)}")
    options.words = words[at + 1 :]
    return options


def _is_file(word: str) -> bool:
    return word == "-" or not word.startswith("-")


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


#: The module that has a command, where it is not the one of its name in :mod:`loop_close.cli`.
_MODULES = {
    "hook": "loop_close.hook",
    **dict.fromkeys(("demo", "detectors", "drive", "mcp"), "loop_close.cli.commands"),
    **dict.fromkeys(("accept", "prompt"), "loop_close.cli.status"),
    **dict.fromkeys(("explain", "report", "reset"), "loop_close.cli.history"),
    "emit": "loop_close.cli.merge",
    "uninstall": "loop_close.cli.install",
}


def command_of(name: str) -> Command:
    """The function that runs a command; its module is loaded now: the others do not wait for what it needs."""
    module = import_module(_MODULES.get(name, f"loop_close.cli.{name}"))
    command: Command = getattr(module, name)
    return command


def _command(
    commands: Commands[Parser], name: str, summary: str, description: str, codes: str = "0 done", **more: Any
) -> Parser:
    """Add a command.

    :param summary: shown among the other commands; ``description``: with its own options.
    :param codes: its exit codes beside those that all commands have.
    """
    epilog = f"exit codes: {codes}, 64 wrong usage, 70 internal error of loop-close"
    return commands.add_parser(name, help=summary, description=description, epilog=epilog, **more)


# --- kinds of values, and options of several commands


def _at_least(least: int, kind: type[int] | type[float] = int) -> Callable[[str], float]:
    """A kind of numbers, all of them above 0."""

    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf or value < least:
            raise argparse.ArgumentTypeError(
                f"must be {f'at least {least}' if least else 'above 0'}, not {text!r}"
            )
        return value

    return number


def _budget(parser: Parser) -> None:
    from loop_close.settings import MIN_BUDGET

    about = "maximum length of the prompt (default: 2000)"
    parser.add_argument("--budget", type=_at_least(MIN_BUDGET), metavar="TOKENS", help=about)


def _output(parser: Parser) -> None:
    about = "write to this file instead of standard output"
    parser.add_argument("-o", "--output", metavar="PATH", default="-", help=about)


def _json(parser: Parser, about: str = "print JSON") -> None:
    parser.add_argument("--json", action="store_true", help=about)


def _history(parser: Parser) -> None:
    parser.add_argument(
        "--history", metavar="PATH", help="path to the history database (default: from the settings)"
    )


def _limit(parser: Parser, default: str) -> None:
    parser.add_argument(
        "--limit", type=_at_least(1), metavar="N", help=f"show the last N runs (default: {default})"
    )


# --- is it done?

_STATES = "0 done, 1 failing, 2 unknown, 3 stuck, 4 green but a person must accept changed tests"


def _add_state(commands: Commands[Parser]) -> None:
    check = _command(
        commands,
        "check",
        "run the checks and say whether the work is done",
        "Runs each check that has no green result on the present files, and writes the next prompt over all of them."
        " The checks are those of [tool.loop-close.checks], or pytest.",
        _STATES,
    )
    check.add_argument("names", nargs="*", metavar="NAME", help="run only these checks (default: all)")
    check.add_argument("--worker", metavar="ID", help=argparse.SUPPRESS)
    status = _command(
        commands,
        "status",
        "show whether the work is done, as loop-close check says",
        "Shows whether every check is green on the present files, and where the loop stands. Runs nothing.",
        _STATES,
    )
    _json(status)
    _history(status)
    accept = _command(
        commands,
        "accept",
        "accept changed test files as the new baseline",
        "Makes the present test files the baseline. Without a file, shows which files differ. Refused inside a hook,"
        " inside drive, and in the shell of an agent.",
        "0 done, 1 there are files that differ",
    )
    accept.add_argument("files", nargs="*", metavar="FILE", help="a file that differs")
    accept.add_argument("--all", action="store_true", help="accept all of them")
    _command(
        commands, "prompt", "print the last next prompt again", "Prints the last next prompt. Runs nothing."
    )


# --- any output, any command


def _add_readers(commands: Commands[Parser]) -> None:
    run = _command(
        commands,
        "run",
        "run a command and write the next prompt from its output",
        "Runs a command, passes its output through, and writes nextprompt.md.",
        "that of the command",
        usage="loop-close run [-h] [--budget TOKENS] -- CMD [ARG ...]",
    )
    _budget(run)
    analyze = _command(
        commands,
        "analyze",
        "read logs or JUnit XML and print the next prompt, or a summary of a directory",
        "Reads logs of tests, checkers and Python programs, and prints the next prompt: the logs count as one run. Of"
        " a directory each log counts as a run, and a summary is printed: the root causes of all logs, the most"
        " frequent first. Records nothing.",
        "0 no problem found, 1 problem found",
    )
    analyze.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a log file, or a directory of logs and JUnit XML; - for standard input (the default)",
    )
    about = "processes for a summary (default: the CPUs that can be used)"
    analyze.add_argument("--jobs", type=_at_least(1), metavar="N", help=about)
    analyze.add_argument(
        "--junit", action="append", default=[], metavar="XML", help="a JUnit XML file; can be repeated"
    )
    about = "exit code of the command that printed the log"
    analyze.add_argument("--exit-code", type=int, metavar="N", help=about)
    _json(analyze, "print the report or the summary as JSON")
    _output(analyze)
    _budget(analyze)


# --- the runs that are remembered


def _add_history(commands: Commands[Parser]) -> None:
    history = _command(
        commands, "history", "list the recorded runs", "Lists the recorded runs, the newest last."
    )
    _limit(history, "20; with --json: all")
    about = (
        "Shows the facts that explain why the loop does not advance, with the runs and tests that show them."
    )
    explain = _command(commands, "explain", "show the signals of the loop", about)
    explain.add_argument("signal", nargs="?", metavar="SIGNAL", help="show only this signal")
    report = _command(
        commands,
        "report",
        "write the recorded runs as an HTML page",
        "Writes tests over runs, root causes, edits and signals as one HTML file that loads nothing.",
    )
    report.add_argument("--html", metavar="PATH", required=True, help="write the page to this file")
    _limit(report, "500")
    about = "Deletes the recorded runs without asking and prints how many there were."
    reset = _command(commands, "reset", "delete the recorded runs", about)
    for parser in (history, explain, report, reset):
        _history(parser)
    for parser in (history, explain, reset):
        _json(parser)


# --- reports


def _add_reports(commands: Commands[Parser]) -> None:
    from loop_close.emit import FORMATS

    merge = _command(
        commands,
        "merge",
        "put reports of shards, environments and CI jobs together into one next prompt",
        "Reads JSON reports (pytest --loop-close-json), JUnit XML and folders of both, in any order.",
        "0 green and no shard missing, 1 not",
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
    about = "write the prompt to this file (default: nextprompt.md)"
    merge.add_argument("-o", "--output", metavar="PATH", help=about)
    merge.add_argument("--json", metavar="PATH", help="also write the merged report as JSON to this path")
    emit = _command(
        commands,
        "emit",
        "write a JSON report in a format of CI systems",
        "Reads a JSON report (pytest --loop-close-json, loop-close merge --json) and prints it as the step summary or"
        " annotations of GitHub Actions, as GitLab's code quality report, SARIF 2.1.0 or JUnit XML.",
        "0 written, whatever the report says",
    )
    emit.add_argument("format", choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))
    emit.add_argument("report", metavar="REPORT", help="a JSON report; - for standard input")
    _output(emit)
    emit.add_argument(
        "--prefix", metavar="FOLDER", default="", help="path of the project's root in its repository"
    )


# --- agents


def _add_hosts(commands: Commands[Parser]) -> None:
    from loop_close.hosts import NAMES

    names = f"one of {', '.join(NAMES)}"
    hook = _command(
        commands,
        "hook",
        "called by a coding agent: may it stop now?",
        "Reads a hook event as JSON on standard input and writes the answer to standard output. The coding agent calls"
        " it; loop-close install sets that up.",
        "0, also on errors, because agents treat other codes as an answer",
    )
    hook.add_argument("--host", required=True, metavar="NAME", help=names)
    about = " the configuration of a coding agent, or a section {} AGENTS.md, and shows the diff."
    install = _command(
        commands,
        "install",
        "add the hook to a coding agent, or a section to AGENTS.md",
        f"Adds the hook to{about.format('to')}",
    )
    uninstall = _command(
        commands,
        "uninstall",
        "remove the hook from a coding agent, or the section from AGENTS.md",
        f"Removes the hook from{about.format('from')}",
    )
    for parser in (install, uninstall):
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--host", metavar="NAME", help=names)
        what.add_argument(
            "--agents-md",
            action="store_true",
            help="the section in AGENTS.md on how to run the checks, and what to read",
        )
        parser.add_argument(
            "--user",
            action="store_true",
            help="for every project, in the home folder (default: only this project)",
        )
        parser.add_argument("--dry-run", action="store_true", help="show the diff, write nothing")


def add_drive(commands: Commands[Parser]) -> None:
    """Add ``drive``."""
    drive = _command(
        commands,
        "drive",
        "run the checks and an agent in turn until the work is done",
        "Runs the checks, gives the next prompt to an agent, and repeats until the work is done, the loop is stuck,"
        " or a limit is reached. The agent is any command that reads a prompt and edits files. It gets the prompt on"
        " standard input; if its command contains {prompt_file} or {prompt}, the file's path or the text is put there"
        " instead.",
        "as loop-close check on the last files: 0 done, 1 failing, 2 unknown, 3 stuck, 4 a person must accept changed"
        " tests; 5 the agent is unavailable, 130 interrupted",
    )
    for option, metavar, about in (
        ("--agent", "CMD", "command of the agent, for example 'claude -p'"),
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
        ("--max-iterations", _at_least(1), "N", "maximum number of agent turns (default: 100)"),
        ("--max-runtime", _at_least(0, float), "SECONDS", "maximum time of the whole loop (default: 14400)"),
        ("--max-cost", _at_least(0, float), "N", "maximum cost, if the agent reports its cost (default: 10)"),
        ("--max-failures", _at_least(1), "N", "maximum number of failed turns in a row (default: 5)"),
        ("--agent-timeout", _at_least(0, float), "SECONDS", "maximum time of one agent turn (default: none)"),
        ("--test-timeout", _at_least(0, float), "SECONDS", "maximum time of one check (default: none)"),
    )
    for option, kind, metavar, about in limits:
        drive.add_argument(option, type=kind, metavar=metavar, help=about)
    drive.add_argument(
        "--resume", action="store_true", help="continue the last loop; options given now replace its own"
    )


def _add_others(commands: Commands[Parser]) -> None:
    _command(
        commands,
        "mcp",
        "start the MCP server for coding agents",
        "Serves its tools over the Model Context Protocol, on standard input and output. Requires: pip install"
        " 'pytest-loop-close[mcp]'.",
        "0 end of input",
    )
    detectors = _command(
        commands,
        "detectors",
        "list the detectors, most blocking first",
        "Lists the detectors, which find what is wrong in a run, most blocking first.",
    )
    _json(detectors)
    _command(
        commands,
        "demo",
        "run an example project with nine faults and show its prompt",
        "Runs pytest on an example project with nine faults and prints its next prompt.",
    )
