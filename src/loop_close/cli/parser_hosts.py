"""The words of the commands that put our hook into the configuration of a host of agents."""

from __future__ import annotations

from loop_close.cli.parser_parts import Commands, LateCommand, Parser

_CODES = (
    "exit codes: 0 done, or nothing to do, 64 wrong usage, or a configuration to mend first,"
    " 70 a fault of loop-close"
)


def add_host_commands(commands: Commands[Parser]) -> None:
    """Add ``hook``, ``install`` and ``uninstall``."""
    _add_hook(commands)
    _add(
        commands,
        "install",
        "let a host of agents call the hook",
        "Puts the hook into the configuration of a host, keeps all that is there, and shows the difference.",
    )
    _add(
        commands,
        "uninstall",
        "let a host of agents call the hook no more",
        "Takes the hook out of the configuration of a host, keeps all else, and shows the difference.",
    )


def _add_hook(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "hook",
        help="answer a host of agents: may its agent stop?",
        description="Reads what a host of agents sends to its hooks, and answers on the standard output.",
        epilog="exit code: always 0, as hosts take others for an answer; 64 for wrong usage",
    )
    _add_host(parser)
    parser.set_defaults(command=LateCommand("hook"))


def _add_host(parser: Parser) -> None:
    parser.add_argument(
        "--host", required=True, metavar="NAME", help="claude, codex, gemini, openhands, cursor or cline"
    )


def _add(commands: Commands[Parser], name: str, summary: str, description: str) -> None:
    parser = commands.add_parser(name, help=summary, description=description, epilog=_CODES)
    _add_host(parser)
    parser.add_argument(
        "--user", action="store_true", help="for every project: in the home folder (default: in the project)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")
    parser.set_defaults(command=LateCommand(name))
