"""From the name of an exit strategy to the strategy: a built-in one, or one that a package or conftest.py adds."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loop_close.cli import UsageError
from loop_close.provenance import GROUP, packages
from loop_close.seeds.strategies import BUILT_IN, ExitStrategy, parse_strategy
from loop_close.text import fault_text

_HOOK = "pytest_loop_close_exit_strategies"
_CONFTEST = "conftest.py"


def strategy_named(text: str, root: Path) -> ExitStrategy:
    """The strategy, or the composite, of a name.

    Others are asked for theirs only where the name is none of ours: what they do takes time.

    :param root: of the project, whose ``conftest.py`` is run where it names the hook.
    :raises UsageError: for a name that is unknown, with those that there are, and with what went wrong in asking.
    """
    try:
        return parse_strategy(text)
    except ValueError:
        found, faults = _theirs(root)
    try:
        return parse_strategy(text, (*BUILT_IN, *found))
    except ValueError as error:
        raise UsageError("; ".join([str(error), *faults])) from None


def _theirs(root: Path) -> tuple[list[ExitStrategy], list[str]]:
    """All that others add; what failed, in a line each."""
    found: list[ExitStrategy] = []
    faults: list[str] = []
    for name, load in _plugins(root):
        try:
            found += _given_by(load())
        except (Exception, SystemExit) as fault:
            faults.append(f"{name}: {fault_text(fault)}")
    return found, faults


def _plugins(root: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    for entry in packages():
        yield f"{GROUP} entry point {entry.name!r}", entry.load
    conftest = root / _CONFTEST
    if _names_the_hook(conftest):
        yield _CONFTEST, lambda: _run(conftest)


def _names_the_hook(path: Path) -> bool:
    """Whether it is worth while to run it."""
    try:
        return path.is_file() and _HOOK.encode() in path.read_bytes()
    except OSError:
        return False


def _run(path: Path) -> SimpleNamespace:
    """What a conftest defines; it may import what lies beside it, as under pytest."""
    sys.path.insert(0, str(path.parent))
    return SimpleNamespace(**runpy.run_path(str(path), run_name="conftest"))


def _given_by(plugin: Any) -> list[ExitStrategy]:
    hook = getattr(plugin, _HOOK, None)
    given = list(hook() or ()) if hook is not None else []
    for each in given:
        if not isinstance(each, ExitStrategy):
            raise TypeError(f"{_HOOK} returned {type(each).__name__}, not loop_close.ExitStrategy")
    return given
