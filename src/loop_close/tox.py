"""The plugin for tox: every environment takes part in one next prompt, with no edit of its commands. Off unless asked.

tox loads it always, so it imports little. Environments of ``tox -p`` are threads of one process. tox passes no
variables of others, so that pytest in an environment gets its folder by ``set_env``; what an environment without
pytest's plugin printed is read. There is no hook at the end of a session, so the prompt is rewritten after each
environment.
"""

from __future__ import annotations

import logging
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tox.plugin import impl
from tox.tox_env.runner import RunToxEnv

from loop_close.parts_of_runner import SKIPPED, VARIABLE, Command, Environments, Errors, say

if TYPE_CHECKING:
    from tox.config.cli.parser import ToxParser
    from tox.config.sets import ConfigSet
    from tox.execute import Outcome
    from tox.session.state import State
    from tox.tox_env.api import ToxEnv

_HELP = "collect the results of all environments in one nextprompt.md (loop-close)"
_LOGGER = "tox.session.cmd.run.single"
_LONGEST = 300


_ENVIRONMENTS, _ERRORS = Environments("tox"), Errors()
#: The state of this call of tox.
_STATES: list[State] = []


@impl
def tox_add_option(parser: ToxParser) -> None:
    """``tox --loop-close``, or ``TOX_LOOP_CLOSE=1``."""
    parser.add_argument("--loop-close", dest="loop_close", action="store_true", default=False, help=_HELP)


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """``loop_close = true`` below ``[tox]``."""
    core_conf.add_config("loop_close", of_type=bool, default=False, desc=_HELP)
    _STATES[:] = [state]
    logger = logging.getLogger(_LOGGER)
    if _ERRORS not in logger.handlers:
        logger.addHandler(_ERRORS)


@impl
def tox_before_run_commands(tox_env: ToxEnv) -> None:
    """Have pytest write its part, where the environment has our plugin for it."""
    _safely(tox_env, lambda: _before(tox_env))


@impl
def tox_after_run_commands(tox_env: ToxEnv, exit_code: int, outcomes: list[Outcome]) -> None:
    """Take up the parts of its tests, and what its other commands printed."""
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
    is_meant = getattr(tox_env.options, "loop_close", False) or tox_env.core["loop_close"]
    is_run = tox_env.options.command not in ("exec", "e") and not tox_env.conf["ignore_outcome"]
    return bool(is_meant or _ENVIRONMENTS.given) and is_run


def _name(tox_env: ToxEnv) -> str:
    return str(tox_env.conf["env_name"])


def _root(tox_env: ToxEnv) -> Path:
    return Path(tox_env.core["tox_root"])


def _before(tox_env: ToxEnv) -> None:
    tox_env.conf["set_env"].update({VARIABLE: str(_ENVIRONMENTS.begin(_name(tox_env)))})


def _after(tox_env: ToxEnv, exit_code: int, outcomes: list[Outcome]) -> None:
    if error := sys.exc_info()[1]:  # such as that a command is not in allowlist_externals
        _end(tox_env, exit_code or 1, why=f"exit {exit_code}: {str(error)[:_LONGEST]}")
        return
    # In one that passed, what failed may fail (prefix -), has to fail (!), or ran again and passed.
    kept = [each for each in outcomes if exit_code or not each.exit_code]
    _end(tox_env, exit_code, [Command(each.cmd, each.exit_code or 0, (each.out, each.err)) for each in kept])


def _torn_down(tox_env: ToxEnv, error: BaseException | None) -> None:
    """An environment whose commands did not run because something failed before them, or that tox skips."""
    logged = "".join(_ERRORS.taken()[-1:])
    is_failed = bool(logged) or isinstance(error, SystemExit)
    code = getattr(error, "code", 1)
    if logged.startswith(SKIPPED):
        _end(tox_env, 0, skipped=logged.removeprefix(SKIPPED))
    elif is_failed and code != -signal.SIGINT and _name(tox_env) not in _ENVIRONMENTS.reported:
        _end(tox_env, 1, why=logged or f"it could not be made (exit {code})")


def _end(tox_env: ToxEnv, exit_code: int, commands: Sequence[Command] = (), **known: Any) -> None:
    name = _name(tox_env)
    words = ("tox", "-e", name, *([] if tox_env.core["loop_close"] else ["--loop-close"]))
    waiting, rerun = _running(), shlex.join(words)
    _ENVIRONMENTS.end(_root(tox_env), name, exit_code, commands, rerun=rerun, waiting=waiting, **known)


def _running() -> Iterator[str]:
    """The environments of this call whose results count."""
    for state in _STATES:
        names = state.envs.iter()
        yield from (name for name in names if not state.envs[name].conf["ignore_outcome"])
