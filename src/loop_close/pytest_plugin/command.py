"""The command line of the run: its settings and files, the words that repeat it, and ``--loop-close-failed``."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from loop_close import files, lazy
from loop_close.files import Targets
from loop_close.provenance import RUNS_AGAIN, interpreter, runner_of, source_of
from loop_close.pytest_plugin import PARSER
from loop_close.settings import (
    DECLARED,
    Settings,
    SettingsError,
    check_setting,
    is_url,
    option_of,
    parse_settings,
)

#: Options that choose tests, or change only what is shown: a re-run selects by itself. How many values each takes is
#: pytest's parser to say.
_DROPPED = {
    "-k", "-m", "--deselect", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw",
    "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset", "--lfnf",
    "--last-failed-no-failures", "-x", "--exitfirst", "--maxfail", "-v", "--verbose", "-q", "--quiet",
    "--verbosity", "-l", "--showlocals", "--no-showlocals", "--tb", "-r", "--color", "--code-highlight", "-s",
    "--capture", "--show-capture", "--full-trace", "--no-header", "--no-summary", "--no-fold-skipped",
    "--force-short-summary", "--xfail-tb", "--durations", "--durations-min", "--junitxml", "--junit-xml",
    "--junit-prefix", "--junitprefix", "--report-log", "--pdb", "--pdbcls", "--trace", "--basetemp",
    "--cache-clear", "--debug", "--setup-show", "--reruns", "--reruns-delay", "--only-rerun", "--rerun-except",
    "--html", "--css", "--self-contained-html", "--cov", "--cov-report", "--cov-config", "--cov-fail-under",
    "--cov-append", "--cov-branch", "--cov-context", "--cov-reset", "--no-cov", "--no-cov-on-fail", "--pastebin",
    "--show-progress", "--old-summary", "--force-sugar", "--loop-close", "--loop-close-failed",
    "--loop-close-json", "--loop-close-ci",
}  # fmt: skip
#: Options that a missed limit of coverage depends on: those of pytest-cov, and these, which choose tests.
_MEASURED = ("--cov", "--no-cov", "-k", "-m", "--deselect")
#: Options of pytest-xdist: they matter to a test that ended the process of its worker.
_WORKERS = frozenset(("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx", "--px", "--maxschedchunk"))
#: Options of pytest that a re-run keeps. An option of a plugin may select tests: then node ids behind it mean less.
_PYTEST = {
    "-p", "-c", "--config-file", "--rootdir", "-o", "--override-ini", "-W", "--pythonwarnings", "--import-mode",
    "--strict", "--strict-config", "--strict-markers", "--confcutdir", "--noconftest", "--keep-duplicates",
    "--collect-in-virtualenv", "--ignore", "--ignore-glob", "--pyargs", "--assert", "--runxfail",
    "--continue-on-collection-errors", "--doctest-modules", "--doctest-report", "--doctest-glob",
    "--doctest-ignore-import-errors", "--doctest-continue-on-failure", "--log-level", "--log-format",
    "--log-date-format", "--log-cli-level", "--log-cli-format", "--log-cli-date-format", "--log-file",
    "--log-file-mode", "--log-file-level", "--log-file-format", "--log-file-date-format", "--log-auto-indent",
    "--log-disable", "--disable-warnings", "--disable-pytest-warnings", "--disable-plugin-autoload",
    "--max-warnings", "--loop-close-file", "--loop-close-budget", "--loop-close-history",
    "--loop-close-source", "--loop-close-suspects",
}  # fmt: skip
#: Options of pytest that leave tests out, beside those that have a word of their own in :func:`selection`.
_LIMITING = frozenset(
    ("--deselect", "--ignore", "--ignore-glob", "-o", "--override-ini", "-c", "--config-file", "--rootdir")
)
#: Options that take one part of all tests: of pytest-split, pytest-shard and pytest-test-groups.
_SHARDS = (("splits", "group"), ("num_shards", "shard_id"), ("test_group_count", "test_group"))
_NUMBER = lazy.pattern(r"-\d+|-\d*\.\d+")
_SECRET = lazy.pattern(r"^-.*(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_PYTHON = lazy.pattern(r"python(\d+\.\d+)")
_MAX_LENGTH = 400


def rerun_words(
    config: pytest.Config, *, is_worker_dead: bool, is_uncovered: bool = False
) -> tuple[tuple[str, ...], bool]:
    """The words before the selection: how pytest was started and the options that change what tests do.

    :param is_worker_dead: a test ended the process of its xdist worker: without workers it would end the re-run.
    :param is_uncovered: only the limit of coverage was missed. Then the same tests have to be measured again.
    :returns: the words, and whether node ids behind them run just these tests.
    """
    # What addopts chooses by -m or -k leaves out tests that are named; few of them reach a limit of coverage.
    of_project = {name for name, _ in options_of(config.stash[PARSER], config.getini("addopts"))}
    is_measured = any(name.startswith(_MEASURED) for name in of_project) and has_coverage_limit(config)
    takes_ids = of_project.isdisjoint(("-m", "-k")) and not is_measured
    runner, environment = runner_of(os.environ)
    if runner in RUNS_AGAIN:  # which passes on the words behind --, and gives the others itself
        takes_ids = takes_ids and not reaches_outside(config)
        return (runner, RUNS_AGAIN[runner], _shown(environment), "--", "--loop-close"), takes_ids
    kept, is_outside = [], reaches_outside(config)
    options: list[str] = []  # what is left of too many words
    for name, words in options_of(
        config.stash[PARSER], [str(word) for word in config.invocation_params.args]
    ):
        is_dropped = name in _DROPPED if name else not is_outside
        is_dropped = is_dropped and not (is_uncovered and (not name or name.startswith(_MEASURED)))
        if is_dropped or (name in _WORKERS and not is_worker_dead) or _SECRET.search(name):
            continue
        if name == "--loop-close-history" and any("://" in word for word in words):
            continue  # it may hold a password
        takes_ids = takes_ids and (name in _PYTEST or name in _WORKERS)
        shown = [_shown(_from_root(config, word)) for word in words]
        kept += shown
        options += shown if name and is_uncovered else []
    if is_outside and _is_invocation_dir(config):
        kept.append(_from_root(config, "."))
    is_short = sum(map(len, kept)) <= _MAX_LENGTH
    return (*_program(config), "--loop-close", *(kept if is_short else options)), not is_outside and (
        takes_ids or not is_short
    )


def has_coverage_limit(config: pytest.Config) -> bool:
    """Whether pytest-cov fails a run in which too little code runs, as in one of some tests."""
    narrowed = config.pluginmanager.get_plugin("loop-close-failed")
    is_off = isinstance(narrowed, FailedTests) and narrowed.is_limit_off
    limit = getattr(_coverage_options(config), "cov_fail_under", None)
    return is_off or (isinstance(limit, int | float) and limit > 0)


def _coverage_options(config: pytest.Config) -> Any:
    return getattr(config.pluginmanager.get_plugin("_cov"), "options", None)


def _program(config: pytest.Config) -> tuple[str, ...]:
    """How to start pytest: as it was, or by the environment in the project that ran it and is not active."""
    by_module = os.path.basename(sys.argv[0] if sys.argv else "") == "__main__.py"
    python = Path(sys.executable)
    found = shutil.which("python" if by_module else "pytest")
    is_active = found is not None and Path(os.path.abspath(found)).parent == python.parent
    if not is_active and python.is_relative_to(config.rootpath):
        return python.relative_to(config.rootpath).as_posix(), "-m", "pytest"
    if found is not None and version_of(found) not in ("", "{}.{}".format(*sys.version_info)):
        return _shown(str(python)), "-m", "pytest"
    return ("python", "-m", "pytest") if by_module else ("pytest",)


def version_of(program: str) -> str:
    """The version of the Python that the program is, or is started by, as its name tells; empty if it does not."""
    folder = (
        Path(os.path.realpath(program)).parent if Path(program).stem == "pytest" else Path(program).parent
    )
    found = _PYTHON.fullmatch(Path(os.path.realpath(folder / "python")).name)
    return found[1] if found else ""


def reaches_outside(config: pytest.Config) -> bool:
    """Whether tests from outside of the root are collected: their node ids depend on the arguments of the command."""
    is_module = config.getoption("pyargs", False)
    for given in getattr(config, "args", None) or config.getoption("file_or_dir", None) or ():
        path = Path(os.path.abspath(config.invocation_params.dir / str(given).partition("::")[0]))
        if not path.is_relative_to(config.rootpath) or (is_module and not path.exists()):
            return True
    return False


def root_name(config: pytest.Config) -> str:
    """The root as it is called where pytest was started; empty if it was started there."""
    try:
        found = Path(os.path.relpath(config.rootpath, config.invocation_params.dir)).as_posix()
    except ValueError:  # on another drive
        return config.rootpath.as_posix()
    return "" if found == "." else found


def _is_invocation_dir(config: pytest.Config) -> bool:
    """Whether what is collected is the folder in which pytest was started, as nothing was named."""
    return getattr(getattr(config, "args_source", None), "name", "") == "INVOCATION_DIR"


def is_selectable(node: pytest.Item | pytest.Collector) -> bool:
    """Whether pytest selects just this by the node id, from the root: it may have ``::`` or brackets of its own."""
    base, bracket, case = node.nodeid.partition("[")
    path, *names = base.split("::")
    if names:
        names[-1] += bracket + case
    files = (pytest.Session, pytest.Directory, pytest.File)
    is_path = node.config.rootpath / path == node.path and (bool(names) or not bracket)
    return is_path and names == [each.name for each in node.listchain() if not isinstance(each, files)]


def options_of(parser: pytest.Parser, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """A command line, taken apart as pytest's parser does: each option by its name with the words that it takes.

    Joined flags (``-vx``) come one by one. Words that select tests come with an empty name. No value is
    parsed: types and actions may open files, and pytest has called them.
    """
    actions = actions_of(parser)
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (("", [each]) for each in rest)
            return
        name, value = _option(actions, word)
        nargs = actions[name].nargs if name in actions else 0
        if value and nargs == 0 and not word.startswith("--"):
            rest.insert(0, f"-{value}")
            word = name
        taken = 0 if value is not None else _taken(nargs, rest, actions)
        yield name, [word, *rest[:taken]]
        del rest[:taken]


def own_options(config: pytest.Config, words: Sequence[str]) -> dict[str, str | bool]:
    """The options of this plugin among the words, by their names in pytest's namespace."""
    return {
        name[2:].replace("-", "_"): taken[-1].removeprefix(f"{name}=") if taken != [name] else True
        for name, taken in options_of(config.stash[PARSER], words)
        if name.startswith("--loop-close")
    }


def _taken(nargs: int | str | None, rest: list[str], actions: Mapping[str, argparse.Action]) -> int:
    """How many of the words that follow an option are its values."""
    if nargs == argparse.REMAINDER:
        return len(rest)
    free = sum(1 for _ in takewhile(lambda word: word != "--" and not _option(actions, word)[0], rest))
    most = 1 if nargs in (None, argparse.OPTIONAL) else nargs
    return min(most, free) if isinstance(most, int) else free


def actions_of(parser: pytest.Parser) -> Mapping[str, argparse.Action]:
    """The options of pytest and of its plugins, by each of their names."""
    made: Any = parser  # before 9.0, pytest has one for the whole command line only when it has parsed it
    found: argparse.ArgumentParser = getattr(made, "optparser", None) or made._getparser()
    return found._option_string_actions


def _option(actions: Mapping[str, argparse.Action], word: str) -> tuple[str, str | None]:
    """The option that a word begins with and the value in the same word; for any other word, an empty name."""
    if word in actions:
        return word, None
    if not word.startswith("-") or word == "-":
        return "", None
    name, equals, value = word.partition("=")
    if equals and name in actions:
        return name, value
    if not word.startswith("--") and word[:2] in actions:
        return word[:2], word[2:]
    return ("", None) if " " in word or _NUMBER.fullmatch(word) else (name, value if equals else None)


def _from_root(config: pytest.Config, word: str) -> str:
    """The word with paths as they are from the root, where the command is run again."""
    root, here = config.rootpath, config.invocation_params.dir
    start = re.match(r"--[^=]*=|-[^-]|", word)
    option = start[0] if start else ""
    path, *names = word[len(option) :].split("::")
    if path and (here != root or os.path.isabs(path)) and (here / path).exists():
        path = os.path.relpath(here / path, root)
    return option + "::".join([path, *names])


def shard_of(config: pytest.Config) -> tuple[int, int]:
    """Which part of all tests runs, from 1, and of how many; zeros for all of them."""
    for names in _SHARDS:
        of, number = (config.getoption(name, None) for name in names)
        if isinstance(of, int) and isinstance(number, int) and of > 1:
            return (number + 1 if names[1] == "shard_id" else number), of
    return 0, 0


def _shown(word: str) -> str:
    """The word without credentials and controls: in the prompt only the shell's quotes protect it."""
    from loop_close.text.redact import clean  # late: a plain green run has no such word

    return clean(word).replace("\n", " ")


def selection(config: pytest.Config) -> str:
    """How tests were chosen on the command line, empty when all were meant.

    What ``addopts`` of the project chooses is all that is meant: no other command line would run the rest. So are
    folders that are given in an environment of tox or nox: its own command names them in most projects.
    """
    given = [*options_of(config.stash[PARSER], _words(config))]
    names = {name for name, _ in given}
    parts = []
    for option, flag in (("keyword", "-k"), ("markexpr", "-m")):
        if flag in names and config.getoption(option, ""):
            parts.append(f"{flag} {config.getoption(option)!r}")
    chosen = (("lf", "--lf"), ("stepwise", "--sw"), ("loop_close_failed", "--loop-close-failed"))
    parts += [flag for option, flag in chosen if config.getoption(option, False)]
    for options in _SHARDS:
        values = [config.getoption(name, None) for name in options]
        is_whole = isinstance(values[0], int) and values[0] <= 1  # the default of pytest-shard is one of one
        if all(value is not None for value in values) and not is_whole:
            parts += [f"--{n.replace('_', '-')} {value}" for n, value in zip(options, values, strict=True)]
    paths = [str(a) for a in config.getoption("file_or_dir", None) or ()] if "" in names else []
    if runner_of(os.environ)[0] in RUNS_AGAIN and all(map(os.path.isdir, paths)):
        paths = []
    limits = [_shown(" ".join(taken)) for name, taken in given if name in _LIMITING]
    here = config.invocation_params.dir
    if _is_invocation_dir(config) and here != config.rootpath:
        limits.append(f"in {os.path.relpath(here, config.rootpath)}")
    return " ".join([*parts, *limits, *(a.replace(str(config.rootpath) + os.sep, "") for a in paths)])


def _words(config: pytest.Config) -> list[str]:
    """The words of ``PYTEST_ADDOPTS`` and of the command line."""
    try:
        more = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    except ValueError:  # pytest has refused it by now
        more = []
    return [*more, *map(str, config.invocation_params.args)]


# --- command line and pyproject.toml to settings and paths

_TABLE = pytest.StashKey[Mapping[str, Any]]()


def settings_table(config: pytest.Config) -> Mapping[str, Any]:
    """``[tool.loop-close]`` of the file, which is read once.

    :raises files.UnusablePathError: when the file is not TOML.
    """
    if _TABLE not in config.stash:
        config.stash[_TABLE] = files.settings_table(config.rootpath)
    return config.stash[_TABLE]


def read_settings(config: pytest.Config) -> Settings:
    """The project's settings with the command line's over them.

    :raises pytest.UsageError: naming the setting that is wrong and what it takes.
    """
    try:
        settings = parse_settings(settings_table(config))
        return replace(settings, **_given(config))
    except (SettingsError, files.UnusablePathError) as error:
        raise pytest.UsageError(f"loop-close: {error}") from None


def _given(config: pytest.Config) -> dict[str, Any]:
    """The settings given on the command line, checked."""
    given: dict[str, Any] = {}
    for key in (key for key, declared in DECLARED.items() if declared.metavar):
        value = config.getoption(f"loop_close_{key}", None)
        if value is not None:
            given[key] = int(value) if key == "budget" and value.isdecimal() else value
            check_setting(option_of(key), key, given[key])
    if is_url(given.get("history")):
        del given["history"]  # the file stays the one that the settings name
    return given


def targets_of(config: pytest.Config) -> Targets:
    """The files to write; whether they can be written shows when they are.

    Paths on the command line count from where pytest was started, as with ``--junitxml``; those in the settings
    from the root.

    :raises pytest.UsageError: for a setting or an option that is wrong.
    """
    settings = read_settings(config)
    try:
        url = config.getoption("loop_close_history", None)
        paths = dict(_given_paths(config))
        return files.targets_of(config.rootpath, settings, paths, url if is_url(url) else "")
    except files.UnusablePathError as error:
        raise pytest.UsageError(f"loop-close: {error}") from None


def _given_paths(config: pytest.Config) -> Iterator[tuple[str, Path]]:
    """The paths of the command line, by the name of their setting.

    :raises files.UnusablePathError: when one begins with the home folder of an unknown user.
    """
    for key in ("file", "json", "history"):
        value = config.getoption(f"loop_close_{key}", None)
        if value is not None and not is_url(value):
            try:
                yield key, config.invocation_params.dir / Path(value).expanduser()
            except RuntimeError as error:
                raise files.UnusablePathError(f"{value}: {error}") from None


# --- ``--loop-close-failed``: run exactly the tests that failed in the last run

#: The name of the node ids in the ``workerinput`` of xdist, and of the notes in ``workeroutput``.
_INPUT = "loop_close_failed"


class FailedTests:
    """Selects the tests, whatever other options and plugins leave out or choose.

    :param nodeids: of the tests that failed, or of what could not be collected; empty for all tests.
    """

    def __init__(self, config: pytest.Config, nodeids: list[str]) -> None:
        self._nodeids = frozenset(nodeids)
        self._config = config
        self._paths: frozenset[Path] = frozenset()
        self._collected: set[str] = set()
        self._closed: set[str] = set()
        self.notes: list[str] = []
        self.is_limit_off = False

    def narrow(self) -> None:
        """Have pytest collect only the files in question, instead of what the command line names.

        Outside of the root the node ids do not name the files: what the command line names is collected. A limit of
        coverage is for all tests.
        """
        if self._nodeids and has_coverage_limit(self._config):
            _coverage_options(self._config).cov_fail_under = 0
            self.is_limit_off = True
        if not self._nodeids:
            self.notes.append(f"no failing test is recorded: {self._all()} ran")
        elif not reaches_outside(self._config):
            paths = {self._config.rootpath / nodeid.partition("::")[0] for nodeid in self._nodeids}
            self._paths = frozenset(path for path in paths if path.exists())
            if self._paths:
                self._config.args[:] = sorted({*map(self._argument, self._paths)})

    def _all(self) -> str:
        number, of = shard_of(self._config)
        return f"all tests of shard {number} of {of}" if of else "all tests"

    def _argument(self, path: Path) -> str:
        """The path, or the nearest folder that can be named: brackets in an argument are those of a test."""
        if "[" not in str(path):
            return str(path)
        parts = Path(os.path.relpath(path, self._config.invocation_params.dir)).parts
        return str(Path(*takewhile(lambda part: "[" not in part, parts)))

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out the other files of a folder that is collected for one of its files."""
        is_other = self._paths and self._paths.isdisjoint((collection_path, *collection_path.parents))
        return True if is_other and not collection_path.is_dir() else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        (self._collected if report.passed else self._closed).add(report.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Any:
        wanted = [item for item in items if not self._nodeids.isdisjoint(_chain(item))]
        missing = self._missing(wanted)
        if not self._paths and len(missing) == len(self._nodeids):
            if missing:
                self.notes.append(f"none of the tests that failed was found: {self._all()} ran")
            yield
            return
        chosen = {*wanted}
        others = [item for item in items if item not in chosen]
        items[:] = wanted
        yield
        # Another plugin may have put them into another order, or left some out, as pytest-split does.
        order = {item: number for number, item in enumerate(items)}
        items[:] = sorted(wanted, key=lambda item: order.get(item, len(order)))
        if others:
            self._config.hook.pytest_deselected(items=others)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self.notes.append(f"failed before and not found: {missing[0]}{more}")

    def _missing(self, wanted: list[pytest.Item]) -> list[str]:
        """The tests that are not collected any more, but for those in a file or class that could not be collected."""
        found = self._collected.union(*map(_chain, wanted))
        closed = tuple(f"{nodeid}{separator}" for nodeid in self._closed for separator in ("::", "/"))
        left = sorted(self._nodeids - found - self._closed)
        return [nodeid for nodeid in left if not nodeid.startswith(closed)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_INPUT] = sorted(self._nodeids)

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_INPUT] = self.notes

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.notes += getattr(node, "workeroutput", {}).get(_INPUT, ())


def _chain(item: pytest.Item) -> set[str]:
    """The ids of the test, of its function and of all collectors above it."""
    from loop_close.facts import test_function  # late: no other run needs it here

    return {test_function(item.nodeid), *(node.nodeid for node in item.listchain())}


def select_failed(config: pytest.Config) -> None:
    """Take part in the collection where the option is given.

    :raises pytest.UsageError: when the list of failing tests cannot be read.
    """
    try:
        if hasattr(config, "workerinput"):
            nodeids = config.workerinput.get(_INPUT, [])
        else:
            nodeids = files.read_failed(config.rootpath, _own_list(config))
    except (OSError, ValueError) as error:
        raise pytest.UsageError(
            f"loop-close: cannot read {files.FAILED}: {error}; run all tests instead"
        ) from None
    plugin = FailedTests(config, nodeids)
    plugin.narrow()
    config.pluginmanager.register(plugin, "loop-close-failed")


def _own_list(config: pytest.Config) -> str:
    """The source, where it is an environment of a runner: it has a list of its own; else empty."""
    if not runner_of(os.environ)[1]:
        return ""
    plain = str(config.getoption("loop_close_source", None) or source_of("pytest", os.environ))
    own = f"{plain}:{interpreter()}-{sys.platform}"  # so it is called where another interpreter has the plain name
    return own if files.of_source(config.rootpath, own, files.LIST).is_file() else plain


def notes_of(config: pytest.Config) -> Iterator[str]:
    """What a user has to know of the selection, in a line each."""
    plugin = config.pluginmanager.get_plugin("loop-close-failed")
    yield from dict.fromkeys(plugin.notes) if isinstance(plugin, FailedTests) else ()
