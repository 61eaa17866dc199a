"""Whether a command in a host's configuration is our hook, however it is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_WORDS = re.compile(r"""[\s"'=/\\]+""")
_NAMES = ("loop-close", "loop-close.exe", "loop_close")
# What ends a command of a shell, where it is not quoted; redirections such as ``2>&1`` do not.
_PIECE = re.compile(
    r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[0-9]?[<>]&[0-9-]?|&>|(?P<ends>\|\||&&|[;|&\n])|[^'"\\<>|&;\n0-9]+|.""",
    re.DOTALL,
)
_ENDS = re.compile(r"[;|&\n]")
_REDIRECTED = re.compile(r"[<>]&|&>")
#: Commands that only prepare the one that they stand beside, or say how it ends.
_BESIDE = ("cd", "pushd", "export", "unset", "set", "source", ".", "true", ":", "exit", "exec")
_ASSIGNED = re.compile(r"\w+=")


def runs_hook(host: str, command: object) -> bool:
    """Whether a command, or one of several on a line, runs our hook for the host."""
    return isinstance(command, str) and any(_is_hook(host, each) for each in _commands(command))


def is_ours(host: str, command: object) -> bool:
    """Whether it runs our hook for the host and nothing else, wherever it is installed.

    To change the folder or the environment first is nothing else, nor is ``|| true`` after it.
    """
    if not isinstance(command, str):
        return False
    others = [each for each in _commands(command) if not _is_hook(host, each)]
    return runs_hook(host, command) and all(map(_is_beside, others)) and not _is_nested(host, command)


def _commands(line: str) -> Iterator[str]:
    """The commands of a line of shell."""
    begun = 0
    for piece in _PIECE.finditer(line):
        if piece["ends"]:
            yield line[begun : piece.start()]
            begun = piece.end()
    yield line[begun:]


def _is_hook(host: str, command: str) -> bool:
    words = _WORDS.split(command)
    after = words[next((at for at, word in enumerate(words) if word in _NAMES), len(words)) :]
    return "hook" in after and ("--host", host) in pairwise(after)


def _is_beside(command: str) -> bool:
    words = command.split()
    is_set = all(map(_ASSIGNED.match, words))
    return is_set or words[0] in _BESIDE or words[:2] == ["command", "-v"]


def _is_nested(host: str, line: str) -> bool:
    """Whether it stands in a line within the line, as after ``sh -c``, which may hold more."""
    hooks = (each for each in _commands(line) if _is_hook(host, each))
    return any(_ENDS.search(_REDIRECTED.sub("", each)) for each in hooks)
