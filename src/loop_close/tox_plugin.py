"""The plugin for tox: every environment takes part in one next prompt, with no edit of its commands. Off unless asked.

tox loads it always, so it imports little. Environments of ``tox -p`` are threads of one process.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from tox.plugin import impl
from tox.tox_env.runner import RunToxEnv

from loop_close.environments import SKIPPED, Errors, conclude, failure, last_line, say
from loop_close.lazy import NamedTuple

if TYPE_CHECKING:
    from tox.config.cli.parser import ToxParser
    from tox.config.sets import ConfigSet
    from tox.execute import Outcome
    from tox.session.state import State
    from tox.tox_env.api import ToxEnv
    from tox.tox_env.installer import InstallArguments

    from loop_close.files import Targets
    from loop_close.model import Observation
    from loop_close.remember import Memory

_HELP = "collect the results of all environments in one nextprompt.md (loop-close)"
_PLUGIN = "pytest_loop_close-*.dist-info"
_PYTEST = ("pytest", "py.test")
_LOGGER = "tox.session.cmd.run.single"
_FAILED = "--loop-close-failed"
_LONGEST = 300


class _Begun(NamedTuple):
    """An environment whose commands run.

    :ivar reports: the reports of its tests that are there already, as (name, time of the last change in ns).
    """

    targets: Targets
    memory: Memory
    reports: frozenset[tuple[str, int]]


class _Environments:
    """What is known of the environments of this call of tox, by name.

    :ivar words: the arguments after ``--``.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begun: dict[str, _Begun] = {}
        self.is_reported: set[str] = set()
        self.installing: dict[str, str] = {}
        self.errors = Errors()
        self.words: tuple[str, ...] = ()


_STATE = _Environments()


@impl
def tox_add_option(parser: ToxParser) -> None:
    """``tox --loop-close``, or ``TOX_LOOP_CLOSE=1``."""
    parser.add_argument("--loop-close", dest="loop_close", action="store_true", default=False, help=_HELP)


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """``loop_close = true`` below ``[tox]``."""
    core_conf.add_config("loop_close", of_type=bool, default=False, desc=_HELP)
    _STATE.words = state.conf.pos_args(None) or ()
    logger = logging.getLogger(_LOGGER)
    if _STATE.errors not in logger.handlers:
        logger.addHandler(_STATE.errors)


@impl
def tox_on_install(tox_env: ToxEnv, arguments: InstallArguments, section: str, of_type: str) -> None:
    """Note what is about to be installed, to name it if that fails."""
    _safely(tox_env, lambda: _STATE.installing.update({_name(tox_env): _in_words(arguments, of_type)}))


@impl
def tox_before_run_commands(tox_env: ToxEnv) -> None:
    """Have pytest write its report, where the environment has our plugin for it."""
    _safely(tox_env, lambda: _before(tox_env))


@impl
def tox_after_run_commands(tox_env: ToxEnv, exit_code: int, outcomes: list[Outcome]) -> None:
    """Read what the commands printed, except tests whose plugin wrote a report."""
    _safely(tox_env, lambda: _after(tox_env, exit_code, outcomes))


@impl
def tox_env_teardown(tox_env: ToxEnv) -> None:
    """Take up an environment that could not be made: its commands never ran."""
    error = sys.exc_info()[1]
    _safely(tox_env, lambda: _torn_down(tox_env, error))


def _safely(tox_env: ToxEnv, work: Callable[[], object]) -> None:
    """Do it if it was asked for; an internal error costs a line, not the environment."""
    try:
        if isinstance(tox_env, RunToxEnv) and _is_asked(tox_env):
            work()
    except Exception as fault:
        say([f"internal error in {_name(tox_env)}: {type(fault).__name__}: {str(fault)[:_LONGEST]}"])


def _is_asked(tox_env: ToxEnv) -> bool:
    """Whether the environment takes part: not with the command of ``tox exec``, nor where its result does not count."""
    is_meant = (
        getattr(tox_env.options, "loop_close", False) or tox_env.core["loop_close"] or _FAILED in _STATE.words
    )
    return (
        bool(is_meant) and tox_env.options.command not in ("exec", "e") and not tox_env.conf["ignore_outcome"]
    )


def _name(tox_env: ToxEnv) -> str:
    return str(tox_env.conf["env_name"])


def _in_words(arguments: Any, of_type: str) -> str:
    """What is installed: requirements by name, as far as tox hands them over."""
    lines = getattr(arguments, "lines", None)
    found = lines() if callable(lines) else arguments if isinstance(arguments, list | tuple) else ()
    return f"{of_type}: {', '.join(map(str, found))}" if found else of_type


def _before(tox_env: ToxEnv) -> None:
    name = _name(tox_env)
    with _STATE.lock:
        _STATE.begun[name] = _begin(tox_env)
    site = tox_env.env_site_package_dir() if hasattr(tox_env, "env_site_package_dir") else None
    if site is not None and any(site.glob(_PLUGIN)):
        # Not every command takes the arguments after --.
        options = [tox_env.environment_variables.get("PYTEST_ADDOPTS", ""), "--loop-close"]
        options += [_FAILED] if _FAILED in _STATE.words else []
        tox_env.conf["set_env"].update({"PYTEST_ADDOPTS": " ".join(options).strip()})


def _begin(tox_env: ToxEnv) -> _Begun:
    from loop_close import files
    from loop_close.files import targets_of
    from loop_close.remember import begin
    from loop_close.settings import parse_settings

    root = Path(tox_env.core["tox_root"])
    targets = targets_of(root, parse_settings(files.settings_table(root)), {})
    memory = begin(targets, f"tox:{_name(tox_env)}", (Path(tox_env.core["work_dir"]),))
    return _Begun(targets, memory, _reports(root, _name(tox_env)))


def _reports(root: Path, name: str) -> frozenset[tuple[str, int]]:
    """The reports of the environment's tests; runs of another interpreter have its name at the end."""
    from loop_close import files

    path = files.of_source(root, f"pytest:{name}", "")
    others = (path.name, f"{path.name}@")
    found = set()
    with contextlib.suppress(OSError):
        for each in os.scandir(path.parent):
            if each.name.endswith(".json") and (
                each.name == f"{others[0]}.json" or each.name.startswith(others[1])
            ):
                found.add((each.name, each.stat().st_mtime_ns))
    return frozenset(found)


def _after(tox_env: ToxEnv, exit_code: int, outcomes: Sequence[Outcome]) -> None:
    name = _name(tox_env)
    begun = _STATE.begun.get(name)
    if begun is None:
        return
    _STATE.is_reported.add(name)
    reports = _reports(begun.targets.root, name) - begun.reports
    has_reported, covered = bool(reports), _covered(reports, outcomes)
    rest = [
        each for each in outcomes if each not in covered and not (each.exit_code and _is_free(tox_env, each))
    ]
    if not exit_code:  # what failed ran again, and passed
        rest = [each for each in rest if not each.exit_code]
    failed = next((each for each in rest if each.exit_code), None)
    is_mended = not exit_code and begun.memory.watched
    # After Ctrl-C tox ends what it runs; a pytest that is ended so reports what it did.
    is_stopped = failed is not None and -int(failed.exit_code or 0) in (signal.SIGINT, signal.SIGTERM)
    is_reported = not is_mended and (not rest or (exit_code and failed is None))
    if has_reported and (is_stopped or is_reported):
        with _STATE.lock:
            begun.memory.abandon()
        return
    code = exit_code if failed is not None or not has_reported else 0
    _conclude(tox_env, begun, _observed(tox_env, begun, code, rest, failed))


def _covered(reports: Iterable[tuple[str, int]], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The commands that the new reports are of: a pytest that failed may have ended before it wrote one."""
    last = max((written for _, written in reports), default=0) / 1e9
    tests = [each for each in outcomes if _is_pytest(each.cmd)] if last else []
    zero = time() - monotonic()  # outcomes have the other clock
    return [each for each in tests if len(tests) == 1 or not each.exit_code or zero + each.start <= last]


def _is_free(tox_env: ToxEnv, outcome: Outcome) -> bool:
    """Whether the command may fail (prefix ``-``) or has to fail (prefix ``!``)."""
    commands = (each for key in ("commands_pre", "commands", "commands_post") for each in tox_env.conf[key])
    return any(
        [*each.args] == [*outcome.request.cmd] and (each.ignore_exit_code or each.invert_exit_code)
        for each in commands
    )


def _is_pytest(words: Sequence[str]) -> bool:
    names = [os.path.basename(word).removesuffix(".exe") for word in words]
    return any(
        name in _PYTEST for name in (*names[:1], *(b for a, b in itertools.pairwise(names) if a == "-m"))
    )


def _observed(
    tox_env: ToxEnv, begun: _Begun, code: int, outcomes: Sequence[Outcome], failed: Outcome | None
) -> Observation:
    """What the commands printed; the command that failed where no reader knows it, or pytest was called wrongly."""
    from dataclasses import replace

    from loop_close.facts import is_a
    from loop_close.readers.streams import observe_texts

    texts = [text for each in outcomes for text in (each.out, each.err)]
    seen = observe_texts(texts, code, root=str(begun.targets.root), source=begun.memory.source)
    if code and all(is_a(each.raised, "UsageError") for each in seen.failures):  # which is no test that fails
        error = sys.exc_info()[1]  # such as that a command is not in allowlist_externals
        command = shlex.join(map(str, failed.cmd)) if failed is not None else str(error or "a command")
        said = last_line(failed.out, failed.err) if failed is not None else ""
        made = failure("tox", _name(tox_env), f"exit {code}: {command}{said}")
        seen = replace(seen, failures=(made,), counts=replace(seen.counts, errors=0), incomplete="")
    return seen


def _torn_down(tox_env: ToxEnv, error: BaseException | None) -> None:
    """An environment whose commands did not run because something failed before them; not a skipped one."""
    name = _name(tox_env)
    logged = "".join(_STATE.errors.taken()[-1:])
    if name in _STATE.is_reported or not (logged or isinstance(error, SystemExit)):
        return
    _STATE.is_reported.add(name)
    from loop_close.model import Observation

    code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
    if code == -signal.SIGINT:  # someone pressed Ctrl-C
        return
    what = _STATE.installing.get(name, "")
    kind, _, names = what.partition(": ")  # the names may be many: the reason comes first
    why = f"could not install {kind}{_said(error)} (exit {code}{names and f'; {names}'})"
    why = why if what and not logged else logged or "it could not be made"
    with _STATE.lock:
        begun = _STATE.begun.get(name) or _begin(tox_env)
    if logged.startswith(SKIPPED):
        skipped = logged.removeprefix(SKIPPED)
        seen = Observation(exit_code=0, source=begun.memory.source, skipped=skipped, expects_tests=False)
        _conclude(tox_env, begun, seen)
        return
    failures = (failure("tox", name, why),)
    seen = Observation(exit_code=code, source=begun.memory.source, failures=failures, expects_tests=False)
    _conclude(tox_env, begun, seen)


def _said(error: BaseException | None) -> str:
    """What the installer printed last: the outcome that raised the error has it."""
    trace = error.__traceback__ if error is not None else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    outcome = trace.tb_frame.f_locals.get("self") if trace is not None else None
    texts = [getattr(outcome, name, "") for name in ("out", "err")]
    return last_line(*(text for text in texts if isinstance(text, str)))


def _conclude(tox_env: ToxEnv, begun: _Begun, seen: Observation) -> None:
    name, option = _name(tox_env), [] if tox_env.core["loop_close"] else ["--loop-close"]
    # Without our plugin for pytest the tests are named, for the one command that the words behind -- are meant for.
    are_tests = seen.failures and all(each.nodeid for each in seen.failures)
    option += ["--"] if are_tests and len(tox_env.conf["commands"]) == 1 else []
    with _STATE.lock:
        conclude(
            seen,
            begun.targets,
            begun.memory,
            "tox",
            name,
            rerun=("tox", "-e", name, *option),
            interpreter=_interpreter(tox_env),
            words=_STATE.words,
        )


def _interpreter(tox_env: ToxEnv) -> str:
    """Such as ``cpython-3.11``; empty for an environment without Python, or whose Python was not found."""
    with contextlib.suppress(Exception):
        python: Any = getattr(tox_env, "base_python", None)
        return f"{python.implementation.lower()}-{python.version_info.major}.{python.version_info.minor}"
    return ""
