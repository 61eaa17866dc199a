"""``loop-close drive`` from its options to its exit code."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from loop_close.agent.loop import AgentLoop
from loop_close.cli import driven_tests
from loop_close.cli.driven_tests import DrivenTests
from loop_close.cli.memory import shown
from loop_close.cli.project import root_of
from loop_close.cli.streams import Streams, UsageError
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
    loop, watch = _loop(plan, state if options.resume else None)
    tests = _tests(root, state if options.resume else None, streams)
    stop.check()
    return Driver(plan, loop, watch, tests, Screen(streams), stop)


def _tests(root: Path, state: State | None, streams: Streams) -> DrivenTests:
    """The tests that the loop is judged by: those at its start.

    A new loop goes by those of the last one if changes to them were neither undone nor accepted.

    :param state: of the loop that is gone on with; None for a new one.
    """
    last = driven_tests.kept(root)
    if state is None:
        left = last.left_open() if last is not None else ()
        if last is None or not left:
            return driven_tests.begin(root)
        named = shown(", ".join(change.id for change in left[:5]))
        streams.complain(
            f"the last loop ended with changed tests, which are still open: {named}; to take them as they are:"
            " loop-close accept --all"
        )
        return last
    if last is not None:
        if state.tests not in ("", last.digest):
            streams.complain(
                f"{STATE} names other tests than those kept at the start; the loop goes by those kept"
            )
        return last
    at_head = driven_tests.of_last_commit(root)
    streams.complain(
        "the tests at the start of the loop are not kept any more; this loop goes by the tests of the last commit, and"
        " by those as they are that git does not have"
    )
    return at_head


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
