"""From the name that users type to a strategy: one, or several joined by ``+``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from loop_close.agent.decision import Action, Decision, Standing
from loop_close.agent.strategies import auto, circuit_breaker, done_signals, fix_plan
from loop_close.agent.strategies.claim import borne_out
from loop_close.agent.strategies.contract import ExitStrategy
from loop_close.text import fault_text
from loop_close.text.sanitize import one_line

BUILT_IN: tuple[ExitStrategy, ...] = (
    auto.STRATEGY,
    fix_plan.STRATEGY,
    done_signals.STRATEGY,
    circuit_breaker.STRATEGY,
)
_JOIN = "+"


def parse_strategy(text: str, available: Iterable[ExitStrategy] = BUILT_IN) -> ExitStrategy:
    """The strategy of a name; of ``auto+circuit_breaker`` the first that fires decides, in this order.

    Whatever the parts answer, a ``done`` that the tests do not bear out becomes ``continue``, and a part that raises
    or answers something else than a decision is passed over with a warning.

    :param available: those that can be named.
    :raises ValueError: for a part that is unknown, empty or there twice; for two strategies of one name, and for a name
        that nobody could type.
    """
    known = _by_name(available)
    names = [part.strip() for part in text.split(_JOIN)]
    for at, name in enumerate(names):
        _check(name, text, known, is_again=name in names[:at])
    parts = [known[name] for name in names]
    if len(parts) == 1:
        return replace(parts[0], decide=lambda standing: _asked(parts[0], standing))
    return _composite(parts)


def _composite(parts: Sequence[ExitStrategy]) -> ExitStrategy:
    return ExitStrategy(
        name=_JOIN.join(part.name for part in parts),
        decide=lambda standing: _first_fired([_asked(part, standing) for part in parts]),
        description="the first of these that fires",
    )


def _first_fired(decisions: Sequence[Decision]) -> Decision:
    """The first that ends the loop, else one that goes on for all their reasons; with the warnings of all."""
    warnings = tuple(dict.fromkeys(line for decision in decisions for line in decision.warnings))
    fired = next((decision for decision in decisions if decision.action != "continue"), None)
    if fired is not None:
        return replace(fired, warnings=warnings)
    return Decision(
        action="continue",
        reason="; ".join(dict.fromkeys(decision.reason for decision in decisions)),
        strategy=_JOIN.join(dict.fromkeys(decision.strategy for decision in decisions)),
        warnings=warnings,
    )


def _asked(strategy: ExitStrategy, standing: Standing) -> Decision:
    """What the strategy answers, held to the tests; other people's faults do not end a loop."""
    try:
        decision = strategy.decide(standing)
    except Exception as fault:
        return _faulty(strategy, fault_text(fault))
    if not isinstance(decision, Decision):
        return _faulty(strategy, f"it returned {type(decision).__name__}, not loop_close.Decision")
    if decision.action not in get_args(Action):
        return _faulty(strategy, f"its action is {decision.action!r}")
    texts = (decision.reason, decision.strategy, *_warnings(decision))
    if not all(isinstance(text, str) for text in texts):
        return _faulty(strategy, "its reason, strategy and warnings must be strings")
    if not decision.strategy:
        decision = replace(decision, strategy=strategy.name)
    return borne_out(decision, standing)


def _warnings(decision: Decision) -> tuple[object, ...]:
    given: object = decision.warnings
    return given if isinstance(given, tuple) else (None,)


def _faulty(strategy: ExitStrategy, fault: str) -> Decision:
    reason = one_line(f"the exit strategy {strategy.name} failed: {fault}")
    return Decision(action="continue", reason=reason, strategy=strategy.name, warnings=(reason,))


def _by_name(available: Iterable[ExitStrategy]) -> dict[str, ExitStrategy]:
    known: dict[str, ExitStrategy] = {}
    for strategy in available:
        if _JOIN in strategy.name or strategy.name.split() != [strategy.name]:
            raise ValueError(
                f"invalid exit strategy name {strategy.name!r}: names must not contain spaces or {_JOIN!r}"
            )
        if strategy.name in known:
            raise ValueError(f"two exit strategies have the name {strategy.name!r}")
        known[strategy.name] = strategy
    return known


def _check(name: str, text: str, known: dict[str, ExitStrategy], *, is_again: bool) -> None:
    names = ", ".join(sorted(known))
    if not name:
        raise ValueError(f"exit strategy {one_line(text)!r} has an empty part; known strategies: {names}")
    if name not in known:
        raise ValueError(f"unknown exit strategy {one_line(name)!r}; known strategies: {names}")
    if is_again:
        raise ValueError(f"exit strategy {one_line(text)!r} names {name!r} twice")
