"""``loop-close drive``: checks and an agent take turns until the work is done, or the loop is stuck or at a limit."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from loop_close import baseline, files, gate
from loop_close.checks import root_of
from loop_close.child import Channel, Ended, InterruptionError, Stop, end_leftover, run, write_all
from loop_close.cli import INSIDE, Streams, UsageError, as_usage_error, last_prompt
from loop_close.cli.check import CODES
from loop_close.drive.plan import Plan, plan_of, prepared, steps_now, task_box
from loop_close.drive.screen import next_step_lines, state_line, summary_lines, turn_label
from loop_close.hook import undo_of
from loop_close.process import OUR_CHECK, birth_of, environment, locked
from loop_close.prompt.loop import edit_of, effect
from loop_close.provenance import agent_of
from loop_close.records import Loop, Record, State, Step
from loop_close.seeds.analyzer import BOX
from loop_close.seeds.loop import AgentLoop, LoopState, RunOutcome
from loop_close.seeds.outputs import AgentOutput, read_output
from loop_close.seeds.strategies import Decision
from loop_close.seeds.supervisor import progress_meta
from loop_close.text import one_line, reason_of
from loop_close.text.redact import clean

#: How a loop ended: as the gate says, or because of a limit, a person, or an agent that cannot work.
Ending = Literal["done", "failing", "unknown", "stuck", "objected", "unavailable", "interrupted"]
_CODES: Mapping[str, int] = {**CODES, "unavailable": 5, "interrupted": 130}
#: The least seconds for the checks: when the loop's time is over, they run once more to find its state.
_LAST_CHECKS = 600.0
_MAX_CAUSES, _MAX_ATTEMPTS = 200, 6
_MAX_WORDS = 400
STATE = f"{files.STATE_FOLDER}/drive.json"
#: What the agent is given for its turn.
TURN = f"{files.STATE_FOLDER}/turnprompt.md"
_LOCK = f"{files.STATE_FOLDER}/drive.lock"


class Saved(Record, frozen=True):
    """A loop as it is kept.

    :ivar given: its options by name, without what holds a credential.
    :ivar child: number and birth of the process that was running; 0 for none.
    :ivar ended: how the loop ended, empty while it has not.
    """

    given: Mapping[str, str | int | float]
    loop: LoopState
    child: tuple[int, str] = (0, "")
    ended: str = ""


class AgentError(Exception):
    """The agent cannot be started; the text says why."""


class Driver:
    """One loop at work."""

    def __init__(self, plan: Plan, loop: AgentLoop, streams: Streams, stop: Stop) -> None:
        self._plan = plan
        self._loop = loop
        self._streams = streams
        self._stop = stop
        self._environment = {**environment(), INSIDE: "drive"}
        self._child = (0, "")
        self._state = State(verdict="unknown")
        self._outcome = RunOutcome()
        self._attempts: tuple[str, ...] = ()
        self._was_objected = False

    def drive(self) -> Ending:
        """Go on until the loop ends; its summary is printed.

        :raises UsageError: for a command that cannot be run, and a state that cannot be kept.
        """
        try:
            ended, reason = self._turns()
        except InterruptionError as interrupted:
            ended, reason = "interrupted", str(interrupted)
        self._loop.limit(time.monotonic())  # which also counts the time that has passed
        self._keep(ended)
        lines = [*summary_lines(self._loop, ended, reason, self._state)]
        if ended == "done":
            self._let_go()
            tree = gate.tree_digest(self._plan.root)
            lines += [f"  {line}" for line in undo_of(self._plan.project, tree)]
        else:
            lines += next_step_lines(self._attempts, self._plan.project.name, self._loop.state.work)
        self._streams.put("\n".join((*lines, "")))
        return ended

    def _let_go(self) -> None:
        """The loop is over: what a person does to the tests from now on is held against this done tree."""
        _, facts = gate.look(self._plan.root)
        if facts is not None:
            baseline.take(self._plan.root, facts.tree, facts.results)

    def _turns(self) -> tuple[Ending, str]:
        self._loop.limit(time.monotonic())
        decision = self._checked()
        while decision.action == "continue":
            limit = self._loop.limit(time.monotonic())
            if limit is not None:
                # Over green checks the strategy wanted more than these.
                return "unknown" if self._state.verdict == "done" else self._state.verdict, limit.reason
            if self._was_objected and self._state.verdict == "objected":
                break
            self._was_objected = self._state.verdict == "objected"
            tree = gate.tree_digest(self._plan.root)
            try:
                words = self._turn(decision)
            except AgentError as error:
                return "unavailable", f"the agent is unavailable: {error}"
            if words is not None and gate.tree_digest(self._plan.root) == tree:
                # A failed turn without an edit: to run the checks again could show nothing else.
                return "unavailable", f"the agent is unavailable: {words}"
            decision = self._checked()
        if self._state.verdict == "objected":  # an agent that repeats itself over changed tests, too
            return "objected", f"{self._state.reason}; a person can accept them: loop-close accept"
        return "stuck" if decision.action == "stuck" else "done", decision.reason

    def _checked(self) -> Decision:
        """Run the checks, and decide by what the gate says of the files."""
        self._streams.complain("loop-close check")
        self._run_checks()
        root = self._plan.root
        self._state, loop = gate.state(root), gate.loop_of(self._plan.project.history)
        self._outcome = outcome_of(self._state, loop, root, self._plan.project.settings.stuck_after)
        self._attempts = _attempts(loop)
        if steps := steps_now(self._plan.given["plan"]):  # one that was taken away leaves the plan as it was
            self._loop.follow(steps)
        decision = self._loop.tested(self._outcome)
        if decision.action == "done" and (why := self._why_not_done()):
            decision = replace(decision, action="continue", reason=why)
        self._keep()
        self._streams.complain(state_line(self._loop, self._state))
        for warning in decision.warnings:
            self._streams.complain(warning)
        return decision

    def _why_not_done(self) -> str:
        """Why the loop is not done, whatever its strategy says; empty if it is."""
        said = self._loop.analysis.completion_signal
        if self._state.verdict != "done":
            return self._state.reason
        if said.qualifiers:
            return f"the agent says that it is not done: {said.qualifiers[0]}"
        if self._plan.task and not said.detected:
            return "the checks are green, and the agent does not say that the task is complete"
        return ""

    def _run_checks(self) -> Ended:
        left = self._plan.limits.max_runtime - self._loop.state.spent.runtime
        return run(
            OUR_CHECK,
            self._stop,
            root=self._plan.root,
            environment=self._environment,
            seconds=min(self._plan.test_seconds, max(left, _LAST_CHECKS)),
            started=self._started,
        )

    def _turn(self, decision: Decision) -> str | None:
        """Let the agent work, and record its output.

        :returns: the agent's last words if the turn failed, else None.
        """
        text = self._loop.prompt(self._outcome, decision)
        path = self._plan.root / TURN
        files.state_folder(self._plan.root)
        files.write(path, [text], is_private=True)
        given, data = prepared(self._plan.agent, text, path)
        at = f"{turn_label(self._loop)}: {self._plan.agent[0]}"
        self._streams.complain(f"{at} ({decision.reason})" if self._loop.turns else at)
        seconds = min(
            self._plan.agent_seconds, self._plan.limits.max_runtime - self._loop.state.spent.runtime
        )
        ended = self._run_agent(given, data, seconds)
        if any(text and not text.endswith("\n") for text in ended.outputs):
            self._streams.break_line()
        error = f"the agent exited with code {ended.exit_code}" if ended.exit_code else ""
        if ended.is_late:
            error = f"the agent was stopped after {seconds:.0f} seconds"
        if error:
            self._streams.complain(f"the turn failed: {error}")
        said = read_output(ended.outputs[0])
        self._loop.answered(self._with_box(said), error=error, now=time.monotonic())
        self._keep()
        if ended.is_late or not (error or said.is_error):
            return None
        last = [line for line in said.text.strip().splitlines() if line.strip()][-1:]
        return one_line(clean(" ".join([*last, *([f"({error})"] if error else [])])), _MAX_WORDS)

    def _with_box(self, said: AgentOutput) -> AgentOutput:
        """What the agent said, with the box of its task's file: an agent may tick it there instead of saying so."""
        box = task_box(self._plan.given["task"])
        is_said = any(BOX.match(line) for line in said.text.splitlines())
        is_checked = "[x]" in box[:10].lower()
        if not box or (is_said and not is_checked):
            return said
        return replace(said, text=f"{said.text.rstrip()}\n\n{box}\n")

    def _run_agent(self, given: list[str], data: bytes, seconds: float) -> Ended:
        try:
            return run(
                given,
                self._stop,
                root=self._plan.root,
                environment=self._environment,
                data=data,
                channels=[Channel(partial(write_all, number)) for number in (1, 2)],
                seconds=seconds,
                started=self._started,
            )
        except OSError as error:  # such as a prompt that is too long for {prompt}
            raise AgentError(f"cannot run the agent {given[0]}: {reason_of(error)}") from None

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._child = (process.pid, birth_of(process.pid))
        self._keep()

    def _keep(self, ended: str = "") -> None:
        given = {name: value for name, value in self._plan.given.items() if clean(str(value)) == str(value)}
        child = (0, "") if ended else self._child
        saved = Saved(given=given, loop=self._loop.state, child=child, ended=ended)
        try:
            files.state_folder(self._plan.root)
            files.write_bytes(self._plan.root / STATE, msgspec.json.encode(saved))
        except OSError as error:
            raise UsageError(f"cannot write {STATE}: {reason_of(error)}") from None


# --- what the gate says, as the loop of the agent needs it


def outcome_of(state: State, loop: Loop, root: Path, stuck_after: int) -> RunOutcome:
    """The outcome of the checks.

    :param stuck_after: as in the settings.
    """
    last = loop.steps[-1] if loop.steps else Step(run=0)
    is_green = state.verdict in ("done", "objected")
    return RunOutcome(
        verdict="green" if is_green else "error" if state.verdict == "unknown" else "red",
        failing=len(loop.failing),
        is_complete=state.verdict != "unknown",
        is_edited=last.edits.kind == "effective",
        has_advanced=bool(last.advanced),
        objection=state.reason if state.verdict == "objected" else "",
        stuck=state.reason if state.verdict == "stuck" else "",
        causes={} if is_green else causes_in(root),
        state=last.state,
        meta=progress_meta(loop, is_green=is_green, stuck_after=stuck_after),
        prompt=last_prompt(root) or f"# {state.reason}",
    )


def _attempts(loop: Loop) -> tuple[str, ...]:
    """The edits before each run of the loop and their effect, a line each, the oldest first: the last ones."""
    found = [f"run {step.run}: edited: {edit_of(step)}; {effect(step)}" for step in loop.attempts]
    more = [f"… {len(found) - _MAX_ATTEMPTS} more runs before these"] if len(found) > _MAX_ATTEMPTS else []
    return tuple(one_line(line, 300) for line in (*more, *found[-_MAX_ATTEMPTS:]))


def causes_in(root: Path) -> dict[str, str]:
    """What each root cause of the last report is, by its id, in its order; empty without a report."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        causes = json.loads((root / files.REPORT).read_bytes())["root_causes"][:_MAX_CAUSES]
        return {str(cause["id"]): _described(cause) for cause in causes}
    return {}


def _described(cause: Mapping[str, Any]) -> str:
    location = cause["location"]
    place = f" ({location['file']}:{location['line']})" if location["file"] else ""
    message = one_line(clean(cause["message"].partition("\n")[0]), 80)
    said = ": ".join(filter(None, (cause["exception"], message)))
    return f"{said or cause['kind']}{place}"


# --- from the options to the exit code


def drive(options: argparse.Namespace, streams: Streams) -> int:
    """Drive the agent of the options.

    :returns: as ``loop-close check`` on the last files: 0 done, 1 failing, 2 unknown, 3 stuck, 4 a person must accept
        changed tests; 5 the agent is unavailable, 130 interrupted.
    :raises UsageError: for what cannot be done.
    """
    root = root_of(Path.cwd())
    try:
        with _exclusive(root), Stop() as stop:
            return _CODES[_driver(root, options, streams, stop).drive()]
    except InterruptionError:  # before there is a loop, or again and again: there is no time for a summary
        return _CODES["interrupted"]


def _driver(root: Path, options: argparse.Namespace, streams: Streams, stop: Stop) -> Driver:
    saved = _last(root)
    if options.resume and saved.ended == "done":
        raise UsageError(f"no loop to resume: {STATE} is missing, damaged, or of a loop that is done")
    plan = plan_of(options, saved.given if options.resume else {})
    if end_leftover(*saved.child):
        streams.complain("stopped a process that the last loop left running")
    loop = AgentLoop(plan.strategy, plan.limits, task=plan.task, state=saved.loop if options.resume else None)
    if not options.resume:
        # In an agent's shell it would be the agent that says which tests count.
        with as_usage_error(OSError):
            baseline.hold(root, keeps=bool(agent_of(os.environ)[1]))
    stop.check()
    return Driver(plan, loop, streams, stop)


def _last(root: Path) -> Saved:
    """The loop before; one that is done if there is none, or it cannot be read."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, RecursionError):
        return msgspec.json.decode((root / STATE).read_bytes(), type=Saved)
    return Saved(given={}, loop=LoopState(), ended="done")


@contextlib.contextmanager
def _exclusive(root: Path) -> Iterator[None]:
    """Hold the project: two loops in one would undo each other's edits.

    :raises UsageError: when another process holds it, or the state cannot be kept.
    """
    try:
        files.state_folder(root)
        (root / _LOCK).touch()
    except OSError as error:
        raise UsageError(f"cannot write to {files.STATE_FOLDER}: {reason_of(error)}") from None
    with locked(root / _LOCK, 0) as is_held:
        if is_held is False:
            raise UsageError("another loop-close drive is running in this project")
        yield
