"""Before the first test: the run gets its place in the history."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from loop_close import files
from loop_close.provenance import interpreter, source_of
from loop_close.pytest_plugin.command import selection
from loop_close.remember import Memory, begin
from loop_close.targets import Targets

_MAX_BESIDE = 3


def begin_memory(config: pytest.Config, targets: Targets) -> Memory:
    """The memory of this run; without a history where none is wanted."""
    source = config.getoption("loop_close_source", None) or source_of("pytest", os.environ)
    if targets.history is None:
        return begin(targets.root, source, None, ())
    try:
        files.check_inside(targets.root, targets.history)
    except files.UnusablePathError as error:
        memory = begin(targets.root, source, None, ())
        memory.notes.append(f"{error}; this run is not recorded")
        return memory
    beside = list(islice(_beside(targets.root), _MAX_BESIDE))
    written = _written(config, targets)
    chosen = selection(config)
    return begin(
        targets.root, source, targets.history, written, beside, f"{interpreter()}-{sys.platform}", chosen
    )


def _beside(root: Path) -> Iterator[Path]:
    """Folders outside of the root, in one repository with it, that tests import from: ``pythonpath = ..``."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    if top == root:
        return
    for entry in dict.fromkeys(sys.path):
        folder = Path(os.path.abspath(entry or "."))
        is_installed = "site-packages" in folder.parts or folder.is_relative_to(sys.prefix)
        if (
            folder.is_relative_to(top)
            and not folder.is_relative_to(root)
            and not is_installed
            and folder.is_dir()
        ):
            yield folder


def _written(config: pytest.Config, targets: Targets) -> Iterator[Path | None]:
    """What the run writes, which is no part of the program."""
    yield from (targets.prompt, targets.json, targets.history)
    for name in ("xmlpath", "log_file", "htmlpath", "report_log"):
        given = config.getoption(name, None)
        yield config.invocation_params.dir / given if given else None
