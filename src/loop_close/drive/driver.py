"""The driver: runs tests and agent in turns, and keeps the loop's state after each step."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from loop_close import files
from loop_close.agent.completion import BOX
from loop_close.agent.loop import AgentLoop
from loop_close.agent.output import Said, said_in
from loop_close.agent.strategies import Decision
from loop_close.agent.tool_results import RunOutcome
from loop_close.cli import INSIDE
from loop_close.cli.driven_tests import DrivenTests
from loop_close.cli.memory import shown
from loop_close.cli.project import environment, remembered
from loop_close.cli.status import CameTo, came_to, last_numbers
from loop_close.cli.streams import UsageError
from loop_close.drive import saved, words
from loop_close.drive.agent import failure, prepared
from loop_close.drive.child import Child, Ended, run
from loop_close.drive.mending import Mending
from loop_close.drive.plan import Plan, steps_now, task_box
from loop_close.drive.screen import Screen
from loop_close.drive.stopping import InterruptionError, Stop
from loop_close.drive.testing import outcome_of, unknown_outcome, with_plugin
from loop_close.drive.watch import Watch
from loop_close.memory import ChangedTest
from loop_close.process import birth_of
from loop_close.prompt.loop import lines_of

Ending = Literal["done", "stuck", "limit", "interrupted"]
#: What shells answer for a command that cannot be run, and for one that is not there.
_CANNOT_RUN = (126, 127)
#: Seconds that the tests may take at least: where the loop's time is over, it is still to be told where it stands.
_LAST_TESTS = 600.0


class Driver:
    """One loop at work.

    :param watch: what is known from run to run; ``tests`` what the tests were when the loop began.
    """

    def __init__(
        self, plan: Plan, loop: AgentLoop, watch: Watch, tests: DrivenTests, screen: Screen, stop: Stop
    ) -> None:
        self._plan = plan
        self._loop = loop
        self._watch = watch
        self._tests = tests
        self._mending = Mending(plan.root, plan.targets, tests)
        self._screen = screen
        self._stop = stop
        self._environment = {**environment(), INSIDE: "drive"}
        self._of_tests = self._environment
        self._test: list[str] = []
        self._child = (0, "")
        self._outcome = RunOutcome()

    def drive(self) -> Ending:
        """Go on until the loop ends; its summary is printed.

        :raises UsageError: for a command that cannot be run, and a state that cannot be kept.
        """
        with _bytecode() as variables:
            self._of_tests = {**self._environment, **variables}
            try:
                ended, reason = self._turns()
            except InterruptionError as interrupted:
                ended, reason = "interrupted", str(interrupted)
        self._loop.limit(time.monotonic())  # which also counts the time that has passed
        self._keep(ended, reason)
        name = self._plan.targets.name
        lines = [
            *words.summary(self._loop, ended, reason),
            *words.warnings(
                self._outcome,
                self._watch.edits(self._plan.root) if ended == "done" else None,
                is_lost=self._watch.is_lost,
            ),
            *(() if ended == "done" else words.left(self._outcome, name, self._loop.work)),
        ]
        self._screen.say("\n".join(lines))
        return ended

    def _turns(self) -> tuple[Ending, str]:
        self._loop.limit(time.monotonic())
        self._test = with_plugin(self._plan.test, self._plan.root, self._of_tests)
        decision = self._tested()
        while decision.action == "continue":
            limit = self._loop.limit(time.monotonic())
            if limit is not None:
                return "limit", limit.reason
            self._turn(decision)
            decision = self._tested()
        return decision.action, decision.reason

    def _tested(self) -> Decision:
        """Run the tests, and decide."""
        self._screen.step(f"tests: {shown(shlex.join(self._test))}")
        self._screen.heed_readers()
        root, before = self._plan.root, last_numbers(self._plan.root)
        self._watch.notice_loss(before)
        self._watch.notice_other(root)
        files, found = self._mending.take_snapshot(), self._tests.compared()
        ended = self._run_tests()
        outcome = self._outcome_of(ended, came_to(root, before))
        self._mending.ran(files, outcome)
        outcome = self._with_tests(outcome, found)
        self._outcome = outcome
        steps = steps_now(self._plan.steps_file) if self._plan.steps_file else []
        if steps:  # one that was taken away leaves the plan as it was
            self._loop.follow(steps)
        decision = self._loop.tested(outcome)
        if decision.action == "done":
            decision = self._without_edit(decision, outcome) or decision
        self._keep()
        self._screen.step(words.standing(self._loop, outcome))
        for warning in decision.warnings:
            self._screen.step(warning)
        return decision

    def _without_edit(self, decision: Decision, outcome: RunOutcome) -> Decision | None:
        """Where the tests are green and nothing was edited: the agent is asked, once; then a person has to look."""
        change = next(
            (each for each in outcome.tests if (each.kind, each.state) == ("no-edit", "asked")), None
        )
        if change is None:
            return None
        text = "\n".join(("# The tests pass, and nothing was edited", "", *lines_of([change])))
        self._outcome = replace(outcome, prompt=text)
        action: Literal["stuck", "continue"] = "stuck" if self._tests.is_asked(change) else "continue"
        return replace(decision, action=action, reason=f"the tests are green, but {change.what}")

    def _outcome_of(self, ended: Ended, came: CameTo) -> RunOutcome:
        """What the run came to; the first has to come to something, later ones the agent may have broken."""
        is_run = bool(came.standings) and ended.exit_code not in _CANNOT_RUN
        if not is_run and not self._watch.is_begun:
            raise UsageError(_no_tests(self._test, ended.exit_code))
        if not came.standings:
            return unknown_outcome(self._plan, ended, came)
        self._watch.begin(came)
        is_elsewhere = self._watch.is_rest_elsewhere(came)
        outcome = outcome_of(self._plan, ended, came, is_rest_elsewhere=is_elsewhere)
        return self._watch.ended(self._plan.root, last_numbers(self._plan.root), came, outcome)

    def _with_tests(self, outcome: RunOutcome, found: Sequence[ChangedTest]) -> RunOutcome:
        """The outcome with what was done to tests: as the driver sees it, then what only the history knows.

        The agent can reach the history: what it says of acceptances counts for nothing.

        :param found: what was done to the tests before they ran: they may have restored themselves since.
        """
        now = self._tests.judge()
        known = {change.fingerprint for change in now}
        own = (*now, *(change for change in found if change.fingerprint not in known))
        places = {(change.file, change.test) for change in own}
        more = (c for c in outcome.tests if c.state in ("open", "hint") and (c.file, c.test) not in places)
        more = (c for c in more if c.fingerprint not in self._tests.accepted | self._tests.asked)
        tests = (*own, *more)
        return replace(outcome, tests=tests, changes="\n".join(lines_of(tests)))

    def _run_tests(self) -> Ended:
        left = self._loop.limits.max_runtime - self._loop.runtime
        return run(
            Child(
                words=remembered(self._test),
                root=self._plan.root,
                environment=self._of_tests,
                seconds=min(self._plan.test_seconds, max(left, _LAST_TESTS)),
                forwards=True,
                started=self._started,
            ),
            self._stop,
        )

    def _turn(self, decision: Decision) -> None:
        """Let the agent work, and take up what it says."""
        text = self._loop.prompt(self._outcome, decision)
        path = self._plan.root / saved.TURN
        files.state_folder(self._plan.root)
        files.write_private(path, text)
        given, data = prepared(self._plan.agent, text, path)
        at = f"{words.turn(self._loop)}: {self._plan.agent[0]}"
        self._screen.step(f"{at} ({decision.reason})" if self._loop.turns else at)
        self._screen.wait_for(at)
        self._tests.mark_asked()
        seconds = min(self._plan.agent_seconds, self._loop.limits.max_runtime - self._loop.runtime)
        ended = self._run_agent(given, data, seconds)
        self._screen.done()
        error = failure(ended.exit_code, is_late=ended.is_late, seconds=seconds)
        if error:
            self._screen.step(f"the turn failed: {error}")
        said = said_in(ended.output)
        self._loop.answered(self._with_box(said), error=error, now=time.monotonic())
        self._keep()

    def _with_box(self, said: Said) -> Said:
        """What the agent said, with the box of its task's file: an agent may tick it there instead of saying so."""
        box = task_box(self._plan.given.get("task", ""))
        is_said = any(BOX.match(line) for line in said.text.splitlines())
        is_checked = box[:10].lower().find("[x]") >= 0
        if not box or (is_said and not is_checked):
            return said
        return replace(said, text=f"{said.text.rstrip()}\n\n{box}\n")

    def _run_agent(self, given: list[str], data: bytes | None, seconds: float) -> Ended:
        child = Child(
            words=given,
            root=self._plan.root,
            environment=self._environment,
            data=data,
            pass_on=self._screen.pass_on,
            seconds=seconds,
            started=self._started,
            waited=self._screen.waited,
        )
        try:
            return run(child, self._stop)
        except OSError as error:
            hint = (
                "; the prompt is too long for {prompt}: use {prompt_file} or standard input"
                if error.errno == 7
                else ""
            )
            raise UsageError(f"cannot run the agent {given[0]}: {error.strerror or error}{hint}") from None

    def _started(self, pid: int) -> None:
        self._child = (pid, birth_of(pid))
        self._keep()

    def _keep(self, ended: str = "", reason: str = "") -> None:
        state = saved.State(
            given=self._plan.given,
            loop=self._loop.state(),
            watch=self._watch,
            child=(0, "") if ended else self._child,
            ended=ended,
            reason=reason,
            tests=self._tests.digest,
        )
        if not self._tests.keep(is_running=not ended) and ended and ended != "done":
            self._screen.step("the tests at the start of the loop could not be kept for --resume")
        if ended == "done":
            self._tests.forget()
        try:
            saved.keep(self._plan.root, state)
        except OSError as error:
            raise UsageError(f"cannot write {saved.STATE}: {error.strerror or error}") from None


@contextlib.contextmanager
def _bytecode() -> Iterator[dict[str, str]]:
    """Variables that give the tests a folder of their own for bytecode, as long as the loop lasts.

    Python takes bytecode in the project for that of a source file if size and time agree, and the agent can write it.
    """
    try:
        folder = tempfile.mkdtemp(prefix="loop-close-pycache-")
    except OSError:
        yield {}
        return
    try:
        # Written it may be, whatever the user has set: nothing of it comes into the project.
        yield {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _no_tests(test: list[str], exit_code: int) -> str:
    """Why nothing can be driven."""
    if exit_code not in _CANNOT_RUN:
        return f"the tests exited with code {exit_code} and no run was recorded; see their output above"
    hint = f"; to set a variable, use: env {test[0]} …" if "=" in test[0] else ""
    return f"cannot run the tests: {test[0]} (exit {exit_code}){hint}"
