"""The command that runs the tests, as words; and the process that runs it and remembers the run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence


class CommandError(ValueError):
    """A command that makes no words; the text says why."""


def words_of(command: str) -> list[str]:
    """The words of a command, as a shell splits them; nothing in them is expanded.

    :raises CommandError: for a command with a quote that is not closed, or without a word.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CommandError(f"is not a valid command line: {error}") from None
    if not words:
        raise CommandError("is empty")
    return words


def remembered(words: Sequence[str]) -> list[str]:
    """The words that run the command under ``loop-close run``, which remembers it and writes the prompt."""
    # -P: a module of the project must not take the place of one of ours.
    return [sys.executable, "-P", "-m", "loop_close", "run", "--", *words]


def environment() -> dict[str, str]:
    """Ours, with the folder of this Python on the path: the pytest there has the plugin.

    It comes first unless an environment was activated: then that one was meant.
    """
    path, ours = os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)
    is_activated = any(name in os.environ for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return {**os.environ, "PATH": os.pathsep.join((path, ours) if is_activated else (ours, path))}
