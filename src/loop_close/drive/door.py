"""``loop-close drive`` from its options to its exit code."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from loop_close.agent.loop import AgentLoop
from loop_close.cli.parser_parts import UsageError
from loop_close.cli.place import root_of
from loop_close.cli.streams import Streams
from loop_close.cli.summary import shown
from loop_close.drive.driver import Driver
from loop_close.drive.group import end_leftover
from loop_close.drive.plan import Plan, plan_of
from loop_close.drive.saved import STATE, State, alone, kept
from loop_close.drive.screen import Screen
from loop_close.drive.stopping import InterruptionError, Stop
from loop_close.drive.watch import Watch

_CODES = {"done": 0, "stuck": 3, "limit": 4, "interrupted": 130}


def drive(options: argparse.Namespace, streams: Streams) -> int:
    """Drive the agent of the options.

    :returns: 0 done, 3 stuck, 4 a limit is reached, 130 interrupted.
    :raises UsageError: for what cannot be done.
    """
    root = root_of(Path.cwd())
    try:
        with alone(root), Stop() as stop:
            return _CODES[_driver(root, options, streams, stop).drive()]
    except InterruptionError:  # before there is a loop, or again and again: there is no time for a summary
        return _CODES["interrupted"]


def _driver(root: Path, options: argparse.Namespace, streams: Streams, stop: Stop) -> Driver:
    state = _last(root, options)
    plan = plan_of(options, state.given if options.resume and state is not None else {})
    if state is not None and end_leftover(*state.child):
        streams.complain("stopped a process that the last loop left running")
    if state is not None and state.watch.tampered and not options.resume:
        streams.complain(_taken_over(state.watch))
    loop, watch = _loop(plan, state if options.resume else None)
    stop.check()
    return Driver(plan, loop, watch, Screen(streams), stop)


def _taken_over(watch: Watch) -> str:
    named = shown(", ".join(sorted(watch.tampered)[:5]))
    return f"the last loop ended with changed or removed tests; this loop accepts them as they are: {named}"


def _last(root: Path, options: argparse.Namespace) -> State | None:
    """The loop before; one that cannot be read is in the way only of who wants to go on with it."""
    try:
        state = kept(root)
    except UsageError:
        if options.resume:
            raise
        return None
    if options.resume and state is None:
        raise UsageError(f"no loop to resume: {STATE} does not exist")
    if options.resume and state is not None and state.ended == "done":
        raise UsageError("the last loop ended as done; start a new one without --resume")
    return state


def _loop(plan: Plan, state: State | None) -> tuple[AgentLoop, Watch]:
    about: dict[str, Any] = {"task": plan.task, "patience": plan.patience}
    if state is None:
        return AgentLoop(plan.strategy, plan.limits, **about), Watch()
    try:
        loop = AgentLoop.from_state(state.loop, plan.strategy, plan.limits, **about)
    except ValueError as error:
        raise UsageError(f"{STATE} is damaged ({error}); start a new loop without --resume") from None
    return loop, state.watch
