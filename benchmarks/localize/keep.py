"""A pytest plugin that keeps what loop-close saw of a run, so that rules can be tried without running the tests.

``LOCALIZE_KEEP`` names the file to write.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from pathlib import Path

from loop_close import Detector, Evidence, Observation


def pytest_loop_close_detectors() -> list[Detector]:
    """One that finds nothing."""
    return [
        Detector(
            id="localize-keep",
            label="kept observation",
            priority=999,
            description="keeps what was observed; finds nothing",
            hint="",
            detect=_keep,
        )
    ]


def _keep(observation: Observation) -> Iterable[Evidence]:
    Path(os.environ["LOCALIZE_KEEP"]).write_bytes(pickle.dumps(observation))
    return ()
