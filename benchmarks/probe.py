"""A pytest plugin that the benchmark loads into the runs it measures from inside.

``BENCH_PROBE`` names the file for what was found: CPU seconds and calls by plugin and hook, the modules that were
loaded, and what one more test costs in the hooks of loop-close. It is copied out of the package: it imports nothing.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

import pluggy
import pytest

_OWNERS = {"loop_close": "loop-close", "_pytest.junitxml": "junitxml"}
_SAMPLES = 300
_TURNS = 15
_PER_TEST = ("pytest_runtest_makereport", "pytest_runtest_logreport")

spent: dict[str, dict[str, list[float]]] = {}
hooks: dict[str, list[str]] = {}
plugins: dict[str, Any] = {}
seen: list[tuple[str, dict[str, Any]]] = []


def _owner(plugin: Any) -> str | None:
    module = plugin.__name__ if hasattr(plugin, "__name__") else type(plugin).__module__
    return next((o for m, o in _OWNERS.items() if module == m or module.startswith(m + ".")), None)


def pytest_plugin_registered(plugin: Any, manager: Any) -> None:
    """Put a clock around each hook of the plugins in question."""
    owner = _owner(plugin)
    if owner is None:
        return
    plugins[f"{owner}:{type(plugin).__name__}"] = plugin
    for caller in manager.get_hookcallers(plugin) or ():
        hooks.setdefault(owner, []).append(caller.name)
        for implementation in caller.get_hookimpls():
            if implementation.plugin is plugin:
                total = spent.setdefault(owner, {}).setdefault(caller.name, [0, 0.0])
                is_wrapper = implementation.wrapper or implementation.hookwrapper
                clock = _clocked_wrapper if is_wrapper else _clocked
                implementation.function = clock(implementation.function, total)


def _clocked(function: Any, total: list[float]) -> Any:
    def timed(*arguments: Any) -> Any:
        total[0] += 1
        return _count(total, function, *arguments)

    return timed


def _clocked_wrapper(function: Any, total: list[float]) -> Any:
    """The same for a hook that is a generator: what goes on while it waits is not its own."""

    def timed(*arguments: Any) -> Any:
        total[0] += 1
        generator = function(*arguments)
        _count(total, next, generator)
        try:
            result = yield
        except BaseException as error:
            step, given = generator.throw, error
        else:
            step, given = generator.send, result
        try:
            _count(total, step, given)
        except StopIteration as end:
            return end.value

    return timed


def _count(total: list[float], function: Any, *arguments: Any) -> Any:
    start = time.process_time()
    try:
        return function(*arguments)
    finally:
        total[1] += time.process_time() - start


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Keep the arguments of real calls for what passes: replayed, there is no report of pytest's to look at."""
    report = yield
    if report.passed and len(seen) < 2 * _SAMPLES:
        seen.append((_PER_TEST[0], {"item": item, "call": call}))
        seen.append((_PER_TEST[1], {"report": report}))
    return report


def _per_test() -> float | None:
    """CPU seconds that our hooks add to pluggy's calls for one test, by replaying real calls with and without."""
    ours = [
        plugins[name] for name in ("loop-close:Recorder", "loop-close:ExceptionRecorder") if name in plugins
    ]
    if not ours or not seen:
        return None
    phases = sum(name == _PER_TEST[0] for name, _ in seen)
    with_us, without = _manager(_Another(), *ours), _manager(_Another())
    turns = [(_replay(with_us) - _replay(without)) / phases * 3 for _ in range(_TURNS)]
    return statistics.median(turns)


class _Another:
    """A plugin that stands for the others that are always there."""

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Nothing."""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Nothing."""


class _Manager(pluggy.PluginManager):
    """Takes the methods of these two names for hooks, as pytest does, with no specification to check against."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if name not in _PER_TEST:
            return None
        return super().parse_hookimpl_opts(plugin, name) or {
            **dict.fromkeys(("hookwrapper", "wrapper", "optionalhook", "tryfirst", "trylast"), False),
            "specname": None,
        }


def _manager(*registered: Any) -> pluggy.PluginManager:
    manager = _Manager("pytest")
    for plugin in registered:
        manager.register(plugin)
    return manager


def _replay(manager: pluggy.PluginManager) -> float:
    calls = [(getattr(manager.hook, name), arguments) for name, arguments in seen]
    start = time.process_time()
    for _ in range(10):
        for call, arguments in calls:
            call(**arguments)
    return (time.process_time() - start) / 10


def pytest_unconfigure() -> None:
    """Write down what was found."""
    modules = sorted(sys.modules)
    found = {"spent": spent, "hooks": hooks, "modules": modules, "per_test": _per_test()}
    with open(os.environ["BENCH_PROBE"], "w", encoding="utf-8") as file:
        json.dump(found, file)
