"""The command that was run, and the words of it that a re-run needs."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator

import pytest

#: Options that choose tests or change only what is shown: a re-run selects by itself. True: takes a value.
_DROPPED = {
    "-k": True, "-m": True, "--deselect": True, "--lf": False, "--last-failed": False, "--ff": False,
    "--failed-first": False, "--nf": False, "--new-first": False, "--sw": False, "--stepwise": False,
    "--sw-skip": False, "--stepwise-skip": False, "--sw-reset": False, "--stepwise-reset": False,
    "--co": False, "--collect-only": False, "--collectonly": False, "-x": False, "--exitfirst": False,
    "--maxfail": True, "-n": True, "--numprocesses": True, "--dist": True, "--tx": True, "--maxprocesses": True,
    "-v": False, "-vv": False, "-vvv": False, "-q": False, "-qq": False, "--verbose": False, "--quiet": False,
    "--verbosity": True, "-l": False, "--showlocals": False, "--tb": True, "-r": True, "--color": True,
    "-s": False, "--capture": True, "--show-capture": True, "--full-trace": False, "--no-header": False,
    "--no-summary": False, "--durations": True, "--durations-min": True, "--junitxml": True, "--junit-xml": True,
    "--junit-prefix": True, "--junitprefix": True, "--pdb": False, "--trace": False, "--basetemp": True,
    "--cache-clear": False, "--cache-show": True, "--debug": False, "--setup-show": False, "--reruns": True,
    "--reruns-delay": True, "--loop-close": False, "--loop-close-json": True, "--html": True, "--cov": True,
    "--cov-report": True, "--no-cov": False, "--rootdir": True, "--code-highlight": True, "--verbose-errors": False,
    "--setup-only": False, "--setup-plan": False,
}  # fmt: skip
#: Options that leave tests out, each with a value.
_LIMITING = (
    "--deselect",
    "--ignore",
    "--ignore-glob",
    "-o",
    "--override-ini",
    "-c",
    "--config-file",
    "--rootdir",
)
#: Options that take one part of all tests: of pytest-split, pytest-shard and pytest-test-groups.
_SHARDS = (("splits", "group"), ("num_shards", "shard_id"), ("test_group_count", "test_group"))
_JOINED = ("-k", "-m", "-n", "-r")
_SECRET = re.compile(r"^-.*(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_MAX_LENGTH = 400


def rerun_words(config: pytest.Config) -> tuple[str, ...]:
    """The words before the selection: how pytest was started and the options that change what tests do."""
    by_module = os.path.basename(sys.argv[0] if sys.argv else "") == "__main__.py"
    start = ("python", "-m", "pytest") if by_module else ("pytest",)
    kept = tuple(_kept(config))
    return (*start, "--loop-close", *(kept if sum(map(len, kept)) <= _MAX_LENGTH else ()))


def _kept(config: pytest.Config) -> Iterator[str]:
    root = str(config.rootpath) + os.sep
    positional = set(config.args) | set(config.getoption("file_or_dir", None) or ())
    words = iter([str(word) for word in config.invocation_params.args])
    for word in words:
        name = word.split("=", 1)[0]
        if name in _DROPPED or (name.startswith(_JOINED) and not name.startswith("--")):
            if _DROPPED.get(name) and "=" not in word:
                next(words, None)
        elif _SECRET.search(name):
            if "=" not in word:
                next(words, None)  # the value, which no shape gives away
        elif word not in positional:
            yield _shown(word.replace(root, ""))


def _shown(word: str) -> str:
    """The word without credentials and controls: it stands in the prompt outside of any quotation but the shell's."""
    from loop_close.text.clean import clean  # late: a plain green run has no such word

    return clean(word).replace("\n", " ")


def selection(config: pytest.Config) -> str:
    """How tests were chosen on the command line, empty when all were meant."""
    parts = []
    for option, flag in (("keyword", "-k"), ("markexpr", "-m")):
        if config.getoption(option, ""):
            parts.append(f"{flag} {config.getoption(option)!r}")
    parts += [
        flag for option, flag in (("lf", "--lf"), ("stepwise", "--sw")) if config.getoption(option, False)
    ]
    for names in _SHARDS:
        values = [config.getoption(name, None) for name in names]
        if all(value is not None for value in values):
            parts += [f"--{n.replace('_', '-')} {value}" for n, value in zip(names, values, strict=True)]
    given = [str(a) for a in config.getoption("file_or_dir", None) or ()]
    return " ".join(
        [*parts, *_limits(config), *(a.replace(str(config.rootpath) + os.sep, "") for a in given)]
    )


def _limits(config: pytest.Config) -> Iterator[str]:
    """What else of the command line, of ``PYTEST_ADDOPTS`` or of the place leaves tests out."""
    try:
        more = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    except ValueError:  # pytest has refused it by now
        more = []
    words = iter([*more, *map(str, config.invocation_params.args)])
    for word in words:
        name, is_joined, _ = word.partition("=")
        if name in _LIMITING:
            yield _shown(word if is_joined else f"{word} {next(words, '')}")
    source = getattr(config, "args_source", None)
    here = config.invocation_params.dir
    if getattr(source, "name", "") == "INVOCATION_DIR" and here != config.rootpath:
        yield f"in {os.path.relpath(here, config.rootpath)}"
