"""Parser and lazy loading shared by all subcommands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from loop_close.cli.streams import Streams
from loop_close.cli.usage import UsageError

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


class LateCommand:
    """A command, loaded when it is called: what one of them needs, the others do not wait for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, options: argparse.Namespace, streams: Streams) -> int:
        """Run it."""
        module = import_module(f"loop_close.cli.{self.name}")
        command: Command = getattr(module, self.name)
        return command(options, streams)
