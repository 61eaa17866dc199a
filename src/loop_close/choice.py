"""What the words of a command of pytest choose: all that is known of a run of which only the output is read.

Only options that are known to change nothing but what is shown are left out of account. What an unknown option does is
unknown: a run with it covers only runs with the same one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from loop_close import lazy
from loop_close.conventions import is_test_file
from loop_close.lazy import NamedTuple

PYTEST = ("pytest", "py.test")
#: In the description of a choice: what follows may have an effect on which tests run.
BESIDE = "|"
_PYTHON = re.compile(r"(?:python|pypy)[\d.]{0,9}(?:\.exe)?\Z")
#: Programs that run the program they are given, with all words behind its name.
_LAUNCHERS = ("uv", "poetry", "pdm", "pipenv", "rye", "hatch", "coverage", "env", "timeout", "xvfb-run")
# Options of pytest and well-known plugins, with how many values follow. What they do:
# they choose tests, or run none;
_CHOOSING = {
    **dict.fromkeys(("-k", "-m", "--deselect", "--splits", "--group", "--num-shards", "--shard-id"), 1),
    **dict.fromkeys(("--test-group-count", "--test-group"), 1),
    **dict.fromkeys(("--lf", "--last-failed", "--loop-close-failed"), 0),
    **dict.fromkeys(("--sw", "--stepwise", "--sw-skip", "--stepwise-skip"), 0),
    **dict.fromkeys(("--co", "--collect-only", "--collectonly", "--setup-only", "--setup-plan", "--cache-show"), 0),
    **dict.fromkeys(("--version", "-V", "--help", "-h", "--markers", "--fixtures", "--funcargs"), 0),
    "--fixtures-per-test": 0,
}  # fmt: skip
# they end the run early;
_STOPPING = {"-x": 0, "--exitfirst": 0, "--maxfail": 1}
#: they decide where tests are, most often for the project as a whole;
LOCATING = {
    **dict.fromkeys(("--ignore", "--ignore-glob", "--rootdir", "--confcutdir", "--import-mode"), 1),
    **dict.fromkeys(("-o", "--override-ini", "-c", "--config-file"), 1),
    "--pyargs": 0,
    "--noconftest": 0,
}
# they change what is shown, or how tests are run.
_SHOWING = {
    **dict.fromkeys(("-v", "--verbose", "-q", "--quiet", "-s", "-l", "--showlocals", "--no-showlocals"), 0),
    **dict.fromkeys(("--full-trace", "--no-header", "--no-summary", "--no-fold-skipped", "--setup-show"), 0),
    **dict.fromkeys(("--disable-warnings", "--disable-pytest-warnings", "--trace-config", "--debug"), 0),
    **dict.fromkeys(("--strict", "--strict-markers", "--strict-config", "--cache-clear", "--instafail"), 0),
    **dict.fromkeys(("--ff", "--failed-first", "--nf", "--new-first", "--no-cov", "--cov-append", "--cov-branch"), 0),
    **dict.fromkeys(("--no-cov-on-fail", "--self-contained-html", "--json-report", "--hypothesis-show-statistics"), 0),
    **dict.fromkeys(("--tb", "--color", "--code-highlight", "--capture", "--show-capture", "--verbosity", "-r"), 1),
    **dict.fromkeys(("--durations", "--durations-min", "--junitxml", "--junit-xml", "--junit-prefix"), 1),
    **dict.fromkeys(("-W", "--pythonwarnings", "--basetemp", "--cov", "--cov-report", "--cov-config"), 1),
    **dict.fromkeys(("--cov-fail-under", "--cov-context", "-n", "--numprocesses", "--dist", "--maxprocesses"), 1),
    **dict.fromkeys(("--max-worker-restart", "--timeout", "--timeout-method", "--session-timeout"), 1),
    **dict.fromkeys(("--reruns", "--reruns-delay", "--html", "--json-report-file", "--asyncio-mode"), 1),
    **dict.fromkeys(("--hypothesis-seed", "--hypothesis-profile", "--log-level", "--log-file", "--log-cli-level"), 1),
}  # fmt: skip
_KNOWN = _CHOOSING | _STOPPING | LOCATING | _SHOWING | {"-p": 1}
#: Options whose value is a credential.
SECRET = lazy.pattern(r"-.{0,200}(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_ID = lazy.pattern(r"::|\.py\Z")


class Choice(NamedTuple):
    """The words of a command of pytest in groups.

    :ivar kept: the program, and what any run of its tests needs.
    :ivar chosen: what chooses tests.
    :ivar beside: folders, and options that may leave tests out.
    """

    kept: tuple[str, ...]
    chosen: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def described(self) -> str:
        """``pytest -k name | --ds=settings``: two runs of the same description ran the same tests."""
        return shlex.join(["pytest", *self.chosen]) + (
            f" {BESIDE} {shlex.join(self.beside)}" if self.beside else ""
        )

    @property
    def named(self) -> tuple[str, ...]:
        """The node ids, where nothing else chooses."""
        is_plain = not any(word.startswith("-") for word in self.chosen)
        return tuple(word for word in self.chosen if "::" in word) if is_plain else ()


def choice_of(words: Sequence[str], start: int = 0, addopts: str = "") -> Choice:
    """The words of a command.

    :param start: the index of pytest's first own word.
    :param addopts: ``PYTEST_ADDOPTS``, which pytest reads first.
    """
    own = [*_grouped([*words[start:]])]
    try:
        found = [*own, *_grouped(shlex.split(addopts))]
    except ValueError:  # pytest refuses it
        found = [*own, ["beside", "PYTEST_ADDOPTS"]]
    return Choice(
        kept=(*words[:start], *_of(own, "showing", "beside")),
        chosen=tuple(_of(found, "choosing")),
        beside=tuple(map(_told, _of(found, "beside", "folder"))),
    )


def _of(found: Sequence[Sequence[str]], *groups: str) -> Iterator[str]:
    """The words of these groups, in order."""
    return (word for group, *taken in found if group in groups for word in taken)


def _grouped(rest: list[str]) -> Iterator[list[str]]:
    """The words with the group that each is of: ``choosing``, ``stopping``, ``beside``, ``folder`` or ``showing``."""
    is_value, last = False, ""
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        may_be_value, is_value = is_value, False
        before, last = last, word
        if not word.startswith("-") or word == "-":
            is_test = _ID.search(word.partition("[")[0]) or word.startswith("@")
            is_other = may_be_value and "::" not in word and not is_test_file(word)
            group = "beside" if is_other else "choosing" if is_test else "folder"
            yield ["showing" if is_other and SECRET.match(before) else group, word]
        elif name in _KNOWN:
            has_value = _KNOWN[name] and not equals and rest and not rest[0].startswith("-")
            yield [_group_of(name), word, *([rest.pop(0)] if has_value else [])]
        elif not word.startswith("--"):
            yield from _flags(word, rest)
        elif word == "--":
            yield ["showing", word]
        else:
            is_value = not equals
            yield ["beside", word]


def _told(word: str) -> str:
    """A word as it is remembered: without a credential."""
    return word.partition("=")[0] if SECRET.match(word) else word.rstrip("/")


def _group_of(name: str) -> str:
    groups = (("choosing", _CHOOSING), ("stopping", _STOPPING), ("beside", (*LOCATING, "-p")))
    return next((group for group, options in groups if name in options), "showing")


def _flags(word: str, rest: list[str]) -> Iterator[list[str]]:
    """Flags that stand together in one word, such as ``-qx`` or ``-vk name``; the last may have its value behind it."""
    shown = ""
    for at, letter in enumerate(word[1:], 1):
        name = f"-{letter}"
        if name not in _KNOWN:
            yield ["beside", word]
            return
        if _KNOWN[name]:
            if shown:
                yield ["showing", f"-{shown}"]
            value, group = word[at + 1 :], _group_of(name)
            if not value:
                yield [group, name, *rest[:1]]
                del rest[:1]
            else:  # -kname is -k name
                yield [group, name, value] if group == "choosing" else [group, name + value]
            return
        if _group_of(name) == "choosing":
            yield ["choosing", name]
        elif name not in _STOPPING:
            shown += letter
    if shown:
        yield ["showing", f"-{shown}"]


def name_of(words: Sequence[str]) -> str:
    """What runs: the program, or the module that Python runs as one."""
    return _base(words[start_of(words)])


def start_of(words: Sequence[str]) -> int:
    """The index of its name."""
    first = _base(words[0])
    if _PYTHON.match(first) and "-m" in words[:-1]:
        at = words.index("-m") + 1
        inner = (n for n in range(at + 1, len(words)) if words[n - 1] == "-m" and words[n] in PYTEST)
        return next(inner, at) if words[at] in _LAUNCHERS else at
    if first in _LAUNCHERS:
        named = (n for n, word in enumerate(words) if _base(word) in PYTEST)
        return next((n for n in named if not words[n - 1].startswith("--")), 0)
    return 0


def _base(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]
