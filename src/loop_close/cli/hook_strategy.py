"""The exit strategy in the hook: decides whether to send an agent back to a red run."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from loop_close.agent.strategies import Decision, Standing, parse_strategy
from loop_close.cli.place import Place
from loop_close.cli.seen import Seen
from loop_close.cli.usage import UsageError
from loop_close.text import fault_text

if TYPE_CHECKING:
    from loop_close.agent.analysis import AnalysisResult
    from loop_close.agent.strategies import ExitStrategy
    from loop_close.model import Verdict

_NO_VERDICT = ("running", "killed", "unknown")


def decision_of(place: Place, seen: Seen, said: AnalysisResult, turn: int) -> Decision:
    """What the project's exit strategy answers.

    :param turn: the number of the agent's turn, from 1.
    :returns: ``continue`` where the strategy cannot be asked, with the reason as a warning.
    """
    standing = _standing(seen, said, turn)
    try:
        with _quiet():
            return _strategy(place).decide(standing)
    except UsageError as error:
        why = str(error)
    except (Exception, SystemExit) as fault:
        why = f"the exit strategy failed: {fault_text(fault)}"
    return Decision(action="continue", reason=why, warnings=(f"{why}; using only the circuit breaker",))


def _strategy(place: Place) -> ExitStrategy:
    """The strategy that the settings name.

    :raises UsageError: for one that is not there.
    """
    with contextlib.suppress(ValueError):
        return parse_strategy(place.settings.strategy)
    from loop_close.cli.strategies import strategy_named  # late: other people's take time

    return strategy_named(place.settings.strategy, place.root)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Let nothing that others print come to standard output, which is the answer."""
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as after:
        with contextlib.suppress(OSError):  # what they start has the number, not the name
            kept = os.dup(1)
            after.callback(os.close, kept)
            os.dup2(2, 1)
            after.callback(os.dup2, kept, 1)
        yield


def _standing(seen: Seen, said: AnalysisResult, turn: int) -> Standing:
    summary = seen.standing.summary
    tampered = (signal.explanation for signal in summary.fired if signal.kind == "test-tampering")
    is_known = summary.verdict not in _NO_VERDICT
    return Standing(
        analysis=said,
        verdict=cast("Verdict", summary.verdict) if is_known else None,
        failing=summary.failing or 0,
        is_fresh=seen.edited.paths == (),
        is_complete=seen.is_complete,
        tampered=next(tampered, ""),
        breaker=summary.breaker,
        iteration=turn,
    )
