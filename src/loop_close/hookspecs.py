"""The hook by which plugins of pytest and conftests extend loop-close."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loop_close.detectors import Detector


@pytest.hookspec
def pytest_loop_close_detectors() -> Sequence[Detector]:
    """Detectors to run beside the built-in ones.

    Called at the end of each run. They run in order of priority, then of id; the order of
    registration does not matter.
    """
    raise NotImplementedError
