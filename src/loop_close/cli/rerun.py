"""The words that run a command under ``loop-close run`` again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from loop_close.prompt.show import safe
from loop_close.provenance import RUNS_AGAIN, runner_of

_SECRET = re.compile(r"-.{0,200}(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]{0,9}(?:\.exe)?\Z")
PYTEST = ("pytest", "py.test")
#: Programs that run the program they are given, with all words behind its name.
_LAUNCHERS = ("uv", "poetry", "pdm", "pipenv", "rye", "hatch", "coverage", "env", "timeout", "xvfb-run")
# Not the flags of pytest that are given most, nor an option with its value.
_MAY_TAKE_VALUE = re.compile(r"(?!-[qvsxl]+\Z)-[^=]*\Z")
# Options of pytest itself that choose tests or stop before all have run, with how many values they take.
_LIMITS = {
    **dict.fromkeys(("-k", "-m", "--maxfail"), 1),
    **dict.fromkeys(("-x", "--exitfirst", "--lf", "--last-failed", "--sw", "--stepwise", "--sw-skip"), 0),
}


def rerun_words(source: str, words: Sequence[str], *, by_test: bool) -> tuple[str, ...]:
    """``loop-close run -- CMD``, in an environment of tox or nox the runner's own command.

    Nothing where that cannot be told, or would not run what it says.

    :param source: the name given by ``--source``, empty for none.
    :param by_test: node ids of failing tests are going to be put behind: few commands take them.
    """
    runner, environment = runner_of(os.environ)
    if runner in RUNS_AGAIN and safe(environment) == environment:
        return runner, RUNS_AGAIN[runner], environment
    again = list(_without_paths(words)) if by_test else list(words)
    told = ("loop-close", "run", *(["--source", source] if source else []), "--", *again)
    is_secret = any(_SECRET.match(word) for word in words) or any(safe(w) != w or "\n" in w for w in told)
    return () if is_secret or (by_test and name_of(words) not in PYTEST) else told


def name_of(words: Sequence[str]) -> str:
    """What runs: the program, or the module that Python runs as one."""
    return os.path.basename(words[start_of(words)])


def start_of(words: Sequence[str]) -> int:
    """Where its name stands."""
    first = os.path.basename(words[0])
    if _PYTHON.match(first) and "-m" in words[:-1]:
        return words.index("-m") + 1
    if first in _LAUNCHERS:
        named = (n for n, word in enumerate(words) if os.path.basename(word) in PYTEST)
        return next((n for n in named if not words[n - 1].startswith("--")), 0)
    return 0


def _without_paths(words: Sequence[str]) -> Iterator[str]:
    """The words but for what selects tests or stops early; behind an option, a path may be its value."""
    start = start_of(words) + 1
    yield from words[:start]
    values = 0
    for number, word in enumerate(words[start:], start):
        if values:
            values -= 1
            continue
        name, equals, _ = word.partition("=")
        if name in _LIMITS:
            values = 0 if equals else _LIMITS[name]
            continue
        if re.match("-[km].", word):
            continue
        if re.fullmatch("-[qvsl]*x[qvsxl]*", word):  # flags in one word
            word = word.replace("x", "").rstrip("-")
        is_value = number > start and _MAY_TAKE_VALUE.match(words[number - 1]) is not None
        if word.startswith("-") or is_value or not os.path.exists(word.partition("::")[0]):
            yield word
