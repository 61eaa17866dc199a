"""The options of the commands that add our hook to an agent's configuration."""

from __future__ import annotations

from loop_close.cli.parser_parts import Commands, LateCommand, Parser

_CODES = (
    "exit codes: 0 done or nothing to do, 64 wrong usage or a configuration that must be fixed first,"
    " 70 internal error of loop-close"
)


def add_host_commands(commands: Commands[Parser]) -> None:
    """Add ``hook``, ``install`` and ``uninstall``."""
    _add_hook(commands)
    _add(
        commands,
        "install",
        "add the hook to a coding agent",
        "Adds the hook to the configuration of a coding agent, keeps everything else, and shows the diff.",
    )
    _add(
        commands,
        "uninstall",
        "remove the hook from a coding agent",
        "Removes the hook from the configuration of a coding agent, keeps everything else, and shows the diff.",
    )


def _add_hook(commands: Commands[Parser]) -> None:
    parser = commands.add_parser(
        "hook",
        help="called by a coding agent: may it stop now?",
        description="Reads a hook event as JSON on standard input and writes the answer to standard output. The coding"
        " agent calls it; loop-close install sets that up.",
        epilog="exit code: 0, also on errors, because agents treat other codes as an answer; 64 wrong usage",
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
        "--user",
        action="store_true",
        help="for every project, in the home folder (default: only this project)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff, write nothing")
    parser.set_defaults(command=LateCommand(name))
