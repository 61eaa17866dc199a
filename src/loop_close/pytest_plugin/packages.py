"""Which installed packages and conftests add to loop-close, as pytest's plugins."""

from __future__ import annotations

import pytest

from loop_close.packages import GROUP, packages


def load_packages(config: pytest.Config) -> list[str]:
    """Register the entry points of the group ``loop_close``, as pytest does for its own; each for itself.

    :returns: what could not be loaded, in a line each.
    """
    manager = config.pluginmanager
    faults = []
    for package in packages(lambda name: manager.has_plugin(name) or manager.is_blocked(name)):
        try:
            manager.register(package.load(), package.name)
        except (Exception, SystemExit) as fault:
            faults.append(f"{GROUP} entry point {package.name!r}: {type(fault).__name__}: {fault}")
    return faults


def is_extended(config: pytest.Config) -> bool:
    """Whether any plugin has detectors or sections to give."""
    hook = config.hook
    hooks = (hook.pytest_loop_close_detectors, hook.pytest_loop_close_sections)
    return any(caller.get_hookimpls() for caller in hooks)
