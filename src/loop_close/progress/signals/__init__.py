"""The signals in the order they are shown, and one function that checks them all."""

from __future__ import annotations

from collections.abc import Mapping

from loop_close.memory import Signal
from loop_close.progress.signals.contract import Check, View, silent
from loop_close.progress.signals.flaky import flaky
from loop_close.progress.signals.infrastructure import infrastructure
from loop_close.progress.signals.no_edit import no_edit, no_effective_edit
from loop_close.progress.signals.oscillation import oscillation
from loop_close.progress.signals.regression import regression
from loop_close.progress.signals.repeated import repeated_failure
from loop_close.progress.signals.similar import similar_failure
from loop_close.progress.signals.tampering import test_tampering
from loop_close.progress.signals.whack_a_mole import whack_a_mole

SIGNALS: Mapping[str, Check] = {
    "test-tampering": test_tampering,
    "oscillation": oscillation,
    "repeated-failure": repeated_failure,
    "similar-failure": similar_failure,
    "whack-a-mole": whack_a_mole,
    "regression": regression,
    "no-edit": no_edit,
    "no-effective-edit": no_effective_edit,
    "flaky": flaky,
    "infrastructure": infrastructure,
}
#: These say that the loop is stuck: a run that advances is never told so.
STUCK = frozenset(
    (
        "oscillation",
        "repeated-failure",
        "similar-failure",
        "whack-a-mole",
        "regression",
        "no-edit",
        "no-effective-edit",
    )
)


def check_all(view: View) -> tuple[Signal, ...]:
    """Every signal, fired or not, in the order of the registry."""
    return tuple(_checked(kind, check, view) for kind, check in SIGNALS.items())


def _checked(kind: str, check: Check, view: View) -> Signal:
    if kind in view.limits.off:
        return silent(kind, "turned off in the settings")
    if kind in STUCK and view.step.advanced:
        return silent(kind, f"run {view.run.number} made progress")
    if kind in STUCK and not view.step.unresolved:
        return silent(kind, "no test is known to fail")
    return check(view)
