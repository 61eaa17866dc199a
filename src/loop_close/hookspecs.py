"""The hooks by which other packages and conftests extend loop-close."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loop_close.detectors import Detector
    from loop_close.prompt.compose import Section
    from loop_close.seeds.strategies import ExitStrategy


@pytest.hookspec
def pytest_loop_close_detectors() -> Sequence[Detector]:
    """Detectors to run beside the built-in ones.

    Called once, after a run that is not clearly green. They run in order of priority, then of id; the order of
    registration does not matter.
    """
    raise NotImplementedError


@pytest.hookspec
def pytest_loop_close_sections() -> Sequence[Section]:
    """Sections to put into the next prompt, at the positions they name."""
    raise NotImplementedError


@pytest.hookspec
def pytest_loop_close_exit_strategies() -> Sequence[ExitStrategy]:
    """Exit strategies that ``loop-close drive`` can use, selected by name.

    This command calls it, not pytest: only in packages, and in the ``conftest.py`` of the root.
    """
    raise NotImplementedError
