"""Which installed packages and conftests add to loop-close; loads none of our own modules."""

from __future__ import annotations

import os
from importlib.metadata import entry_points

import pytest

GROUP = "loop_close"


def load_packages(config: pytest.Config) -> list[str]:
    """Register the entry points of the group ``loop_close``, as pytest does for its own; each for itself.

    :returns: what could not be loaded, in a line each.
    """
    faults: list[str] = []
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return faults
    manager = config.pluginmanager
    for entry in sorted(entry_points(group=GROUP)):
        if manager.has_plugin(entry.name) or manager.is_blocked(entry.name):
            continue
        try:
            manager.register(entry.load(), entry.name)
        except (Exception, SystemExit) as fault:
            faults.append(f"{GROUP} entry point {entry.name!r}: {type(fault).__name__}: {fault}")
    return faults


def is_extended(config: pytest.Config) -> bool:
    """Whether any plugin has detectors or sections to give."""
    hook = config.hook
    hooks = (hook.pytest_loop_close_detectors, hook.pytest_loop_close_sections)
    return any(caller.get_hookimpls() for caller in hooks)
