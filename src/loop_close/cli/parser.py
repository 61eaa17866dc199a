"""The command line: its parser, and the split between our options and the command to run."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from loop_close.cli import Streams, UsageError
from loop_close.hosts import NAMES
from loop_close.settings import MIN_BUDGET


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
    for each in COMMANDS:
        epilog = f"exit codes: {each.codes}, 64 wrong usage, 70 internal error of loop-close"
        short = each.about.partition(". ")[0].removesuffix(".")
        added = commands.add_parser(
            each.name, help=short, description=each.about, epilog=epilog, usage=each.usage
        )
        for names, details in each.options:
            added.add_argument(*names, **details)
    words = list(arguments)
    # By hand, as versions of Python differ in what they make of ``--`` before words that are not ours.
    at = words.index("--") if words[:1] == ["run"] and "--" in words else len(words)
    options, unknown = parser.parse_known_args(words[:at])
    if unknown:
        options.parser.error(f"unknown option or argument: {' '.join(unknown)}")
    options.words = words[at + 1 :]
    return options


def command_of(name: str) -> Callable[[argparse.Namespace, Streams], int]:
    """The function that runs a command; its module is loaded now: the others do not wait for what it needs."""
    module = next(each.module or f"cli.{name}" for each in COMMANDS if each.name == name)
    command: Callable[[argparse.Namespace, Streams], int] = getattr(
        import_module(f"loop_close.{module}"), name
    )
    return command


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


# --- the options

Option = tuple[tuple[str, ...], dict[str, Any]]


def _option(*names: str, **details: Any) -> Option:
    """As :meth:`argparse.ArgumentParser.add_argument` takes it."""
    return names, details


def _flag(name: str, about: str) -> Option:
    return _option(name, action="store_true", help=about)


def _value(name: str, metavar: str, about: str) -> Option:
    return _option(name, metavar=metavar, help=about)


def _number(
    name: str, metavar: str, about: str, least: int = 1, kind: type[int] | type[float] = int, **more: Any
) -> Option:
    """One whose value is a number above 0."""

    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf or value < least:
            raise argparse.ArgumentTypeError(
                f"must be {f'at least {least}' if least else 'above 0'}, not {text!r}"
            )
        return value

    return _option(name, type=number, metavar=metavar, help=about, **more)


_JSON = _flag("--json", "print JSON")
_DRY_RUN = _flag("--dry-run", "show the diff, write nothing")
_FORMATS = ("github-summary", "github-annotations", "gitlab", "sarif")
_HOST = f"one of {', '.join(NAMES)}"
_INSTALL = (
    _value("--host", "NAME", _HOST),
    _flag("--agents-md", "the section in AGENTS.md on how to run the checks, and what to read"),
    _flag("--user", "for every project, in the home folder (default: only this project)"),
    _DRY_RUN,
)

# --- the commands


class Command(NamedTuple):
    """A command.

    :ivar about: its first sentence is shown among the other commands.
    :ivar options: that it takes.
    :ivar codes: its exit codes beside those that all commands have.
    :ivar module: that has its function; empty for the one of its name.
    """

    name: str
    about: str
    options: tuple[Option, ...] = ()
    codes: str = "0 done"
    module: str = ""
    usage: str | None = None


_STATES = "0 done, 1 failing, 2 unknown, 3 stuck, 4 green but a person must accept changed tests"
COMMANDS = (
    Command(
        "init",
        "Prepares a project: shows what it needs, asks, and writes it. That is the next prompt in .gitignore, the"
        " checks that are configured in [tool.loop-close.checks] of pyproject.toml, and the hook of each agent that is"
        " seen here.",
        (_flag("--yes", "write without asking"), _DRY_RUN),
        codes="0 written or nothing to write, 2 not written",
    ),
    Command(
        "check",
        "Runs the checks and says whether the work is done. Runs each check that has no green result on the present"
        " files, and writes the next prompt over all of them. The checks are those of [tool.loop-close.checks], or"
        " pytest.",
        (
            _option("names", nargs="*", metavar="NAME", help="run only these checks (default: all)"),
            _flag(
                "--undo",
                "once they are green, also run the present tests without the edits of product code, in copies of the"
                " project, and say which fail; at most a minute, and no other exit code",
            ),
            _option("--worker", metavar="ID", help=argparse.SUPPRESS),
        ),
        codes=_STATES,
    ),
    Command(
        "status",
        "Shows whether the work is done. That is, whether every check is green on the present files, and where the"
        " loop stands. Runs nothing.",
        (_JSON,),
        codes=_STATES,
        module="cli.check",
    ),
    Command(
        "accept",
        "Makes the present test files the baseline. Without a file, shows which files differ. Refused inside a hook,"
        " inside drive, and in the shell of an agent.",
        (
            _option("files", nargs="*", metavar="FILE", help="a file that differs"),
            _flag("--all", "accept all of them"),
        ),
        codes="0 done, 1 there are files that differ",
        module="cli.check",
    ),
    Command(
        "prompt",
        "Prints the last next prompt again. Runs nothing.",
        module="cli.check",
    ),
    Command(
        "run",
        "Runs a command, passes its output through, and writes nextprompt.md.",
        codes="that of the command",
        usage="loop-close run [-h] -- CMD [ARG ...]",
    ),
    Command(
        "analyze",
        "Reads logs of tests, checkers and Python programs, and prints the next prompt. The logs count as one run. Of"
        " a directory each log counts as a run, and a summary is printed: the root causes of all logs, the most"
        " frequent first. Records nothing.",
        (
            _option(
                "files",
                nargs="*",
                metavar="FILE",
                help="a log file, or a directory of logs and JUnit XML; - for standard input (the default)",
            ),
            _option(
                "--junit",
                action="append",
                default=[],
                metavar="XML",
                help="a JUnit XML file; can be repeated",
            ),
            _option(
                "--exit-code", type=int, metavar="N", help="exit code of the command that printed the log"
            ),
            _flag("--json", "print the report or the summary as JSON"),
            _number("--budget", "TOKENS", "maximum length of the prompt (default: 2000)", least=MIN_BUDGET),
        ),
        codes="0 no problem found, 1 problem found",
        module="cli.results",
    ),
    Command(
        "history",
        "Lists the recorded runs, the newest last.",
        (_number("--limit", "N", "show the last N runs (default: 20; with --json: all)"), _JSON),
    ),
    Command(
        "explain",
        "Shows the facts that explain why the loop does not advance, with the runs and tests that show them.",
        (_JSON,),
        module="cli.history",
    ),
    Command(
        "report",
        "Writes the recorded runs as one HTML page. It shows tests over runs, root causes, edits and signals, and loads"
        " nothing.",
        (_option("--html", metavar="PATH", required=True, help="write the page to this file"),),
        module="cli.history",
    ),
    Command(
        "reset",
        "Deletes the recorded runs without asking and prints how many there were.",
        module="cli.history",
    ),
    Command(
        "merge",
        "Puts reports of shards, environments and CI jobs together into one next prompt. Reads JSON reports (pytest"
        " --loop-close-json), JUnit XML and folders of both, in any order.",
        (
            _option(
                "paths", nargs="+", metavar="PATH", help="a report, a JUnit XML file, or a folder of them"
            ),
            _option(
                "--expect",
                action="append",
                default=[],
                metavar="SOURCE",
                help="without a source of this name the run is incomplete; * stands for any text; may be repeated",
            ),
            _option(
                "-o",
                "--output",
                metavar="PATH",
                help="write the prompt to this file (default: nextprompt.md)",
            ),
            _value("--json", "PATH", "also write the merged report as JSON to this path"),
        ),
        codes="0 green and no shard missing, 1 not",
        module="cli.results",
    ),
    Command(
        "emit",
        "Prints a JSON report in a format of CI systems. Reads what pytest --loop-close-json or loop-close merge --json"
        " wrote. The formats are the step summary and annotations of GitHub Actions, GitLab's code quality report, and"
        " SARIF 2.1.0.",
        (
            _option("format", choices=_FORMATS, metavar="FORMAT", help=", ".join(_FORMATS)),
            _option("report", metavar="REPORT", help="a JSON report; - for standard input"),
            _option(
                "--prefix",
                metavar="FOLDER",
                default="",
                help="path of the project's root in its repository",
            ),
        ),
        codes="0 written, whatever the report says",
        module="cli.results",
    ),
    Command(
        "hook",
        "Answers a coding agent that asks whether it may stop. Reads a hook event as JSON on standard input and writes"
        " the answer to standard output. loop-close install sets that up.",
        (_option("--host", required=True, metavar="NAME", help=_HOST),),
        codes="0, also on errors, because agents treat other codes as an answer",
        module="hook",
    ),
    Command(
        "install",
        "Adds the hook to the configuration of a coding agent, or a section to AGENTS.md, and shows the diff.",
        _INSTALL,
    ),
    Command(
        "uninstall",
        "Removes what loop-close install has added, and shows the diff.",
        _INSTALL,
        module="cli.install",
    ),
    Command(
        "drive",
        "Runs the checks and an agent in turn until the work is done, the loop is stuck, or a limit is reached. The"
        " agent is any command that reads a prompt and edits files. It gets the prompt on"
        " standard input; if its command contains {prompt_file} or {prompt}, the file's path or the text is put there"
        " instead.",
        (
            _value("--agent", "CMD", "command of the agent, for example 'claude -p'"),
            _value("--task", "FILE", "file with a task for the agent; its text is put before each prompt"),
            _value(
                "--plan",
                "FILE",
                "file with the steps to take, a list item with a check box each; the strategy is then fix_plan by"
                " default",
            ),
            _value(
                "--strategy",
                "NAME",
                "when to end the loop: auto, fix_plan, done_signals, circuit_breaker, or several joined by + (default:"
                " the setting strategy)",
            ),
            _number("--max-iterations", "N", "maximum number of agent turns (default: 100)"),
            _number("--max-runtime", "SECONDS", "maximum time of the whole loop (default: 14400)", 0, float),
            _number("--max-cost", "N", "maximum cost, if the agent reports its cost (default: 10)", 0, float),
            _number(
                "--max-failures",
                "N",
                "maximum number of failed turns in a row (default: 5)",
                dest="max_consecutive_failures",
            ),
            _number("--agent-timeout", "SECONDS", "maximum time of one agent turn (default: none)", 0, float),
            _number("--test-timeout", "SECONDS", "maximum time of one check (default: none)", 0, float),
            _flag("--resume", "continue the last loop; options given now replace its own"),
        ),
        codes="as loop-close check on the last files: 0 done, 1 failing, 2 unknown, 3 stuck, 4 a person must accept"
        " changed tests; 5 the agent is unavailable, 130 interrupted",
        module="drive",
    ),
    Command(
        "mcp",
        "Serves tools to coding agents over the Model Context Protocol. On standard input and output. Requires: pip"
        " install 'pytest-loop-close[mcp]'.",
        codes="0 end of input",
        module="cli.commands",
    ),
    Command(
        "detectors",
        "Lists the detectors, which find what is wrong in a run, most blocking first.",
        module="cli.commands",
    ),
    Command(
        "demo",
        "Runs pytest on an example project with nine faults and prints its next prompt.",
        module="cli.commands",
    ),
)
