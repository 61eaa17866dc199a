"""Before the first test: the run gets its place in the history."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_close.pytest_plugin.options import Targets
from loop_close.remember import Memory, begin


def begin_memory(config: pytest.Config, targets: Targets) -> Memory:
    """The memory of this run; without a history where none is wanted or no test is going to run."""
    is_look = config.getoption("collectonly", False)
    path = None if is_look else targets.history
    return begin(targets.root, source_name(), path, list(_written(config, targets)))


def source_name() -> str:
    """Who makes the run: ``pytest``, and the environment under tox."""
    environment = os.environ.get("TOX_ENV_NAME", "")
    return f"pytest:{environment}" if environment else "pytest"


def _written(config: pytest.Config, targets: Targets) -> Iterator[str]:
    """What the run writes below the root, which is no part of the program."""
    given = (config.getoption(name, None) for name in ("xmlpath", "log_file", "htmlpath", "report_log"))
    for path in (targets.prompt, targets.json, targets.history, *given):
        if path:
            full = Path(os.path.abspath(config.invocation_params.dir / path))
            if full.is_relative_to(targets.root):
                yield full.relative_to(targets.root).as_posix()
