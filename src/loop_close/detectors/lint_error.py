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


def advise(evidence: Evidence) -> str:
    """Of a name or file that does not work, that it is no matter of style; else what Ruff can mend."""
    failure = evidence.failure
    if failure is None:
        return ""
    if failure.code.startswith(_FAULTS):
        return "This rule finds faults of the program, not of its style."
    return _RUFF if failure.tool == "ruff" else ""


# Undefined names, syntax errors, comparisons and formats that cannot work (pyflakes' and pycodestyle's codes).
_FAULTS = ("F821", "F822", "F823", "F63", "F7", "E9", "invalid-syntax")
_RUFF = "`ruff check --fix` and `ruff format` mend what they can."
DETECTOR = Detector(
    id="lint-error",
    label="lint error",
    priority=110,
    description="a rule that Ruff or flake8 finds broken",
    hint="The code is the rule's name. An undefined name or a syntax error is a fault of the program; most other "
    "rules are about style.",
    detect=detect,
    advise=advise,
)
