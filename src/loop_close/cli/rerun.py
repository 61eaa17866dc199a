"""The words that run a command under ``loop-close run`` again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from loop_close.prompt.show import safe

_SECRET = re.compile(r"-.{0,200}(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]{0,9}(?:\.exe)?\Z")
# Not the flags of pytest that are given most, nor an option with its value.
_MAY_TAKE_VALUE = re.compile(r"(?!-[qvsxl]+\Z)-[^=]*\Z")


def rerun_words(source: str, words: Sequence[str], *, by_test: bool) -> tuple[str, ...]:
    """``loop-close run -- CMD``; nothing where that cannot be told, or would not run what it says.

    :param source: the name given by ``--source``, empty for none.
    :param by_test: node ids of failing tests are going to be put behind: few commands take them.
    """
    again = list(_without_paths(words)) if by_test else list(words)
    told = ("loop-close", "run", *(["--source", source] if source else []), "--", *again)
    is_secret = any(_SECRET.match(word) for word in words) or any(safe(w) != w or "\n" in w for w in told)
    return () if is_secret or (by_test and name_of(words) not in ("pytest", "py.test")) else told


def name_of(words: Sequence[str]) -> str:
    """What runs: the program, or the module that Python runs as one."""
    name = os.path.basename(words[0])
    if _PYTHON.match(name) and "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    return name


def _without_paths(words: Sequence[str]) -> Iterator[str]:
    """The words but for what selects tests; behind an option, a path may be its value."""
    start = words.index("-m") + 2 if "-m" in words[:-1] and _PYTHON.match(os.path.basename(words[0])) else 1
    yield from words[:start]
    for number, word in enumerate(words[start:], start):
        is_value = number > start and _MAY_TAKE_VALUE.match(words[number - 1]) is not None
        if word.startswith("-") or is_value or not os.path.exists(word.partition("::")[0]):
            yield word
