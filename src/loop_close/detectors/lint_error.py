"""What linters and formatters find."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.model import Evidence, Observation

_TOOLS = frozenset(("ruff", "flake8"))


def detect(observation: Observation) -> Iterator[Evidence]:
    """Findings of a checker that is a linter."""
    for failure in observation.failures:
        if failure.phase == "check" and failure.tool in _TOOLS:
            yield claim("lint-error", failure)


DETECTOR = Detector(
    id="lint-error",
    label="lint error",
    priority=110,
    description="a rule that Ruff or flake8 finds broken",
    hint="The code is the rule's name. An undefined name or a syntax error is a fault of the program; most "
    "others are style, and `ruff check --fix` or `ruff format` clears those it can.",
    detect=detect,
)
