"""The driver: runs tests and agent in turns, and keeps the loop's state after each step."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from loop_close import files
from loop_close.agent.completion import BOX
from loop_close.agent.loop import AgentLoop, RunOutcome
from loop_close.agent.output import read_output
from loop_close.agent.output_reader import AgentOutput
from loop_close.agent.strategies import Decision
from loop_close.agent.supervisor import progress_meta
from loop_close.child import Channel, Child, Ended, InterruptionError, Stop, end_leftover, run
from loop_close.cli import INSIDE, Streams, UsageError, driven_tests, project_state
from loop_close.cli.driven_tests import DrivenTests
from loop_close.cli.project import environment, remembered, root_of, targets_of
from loop_close.cli.project_state import missing_sources, prompt_text, waiting_text
from loop_close.cli.recorded import read, shown
from loop_close.cli.status import RunResult, latest_run_numbers, run_result
from loop_close.drive.plan import Plan, failure, plan_of, prepared, runs_pytest, steps_now, task_box
from loop_close.drive.screen import (
    Screen,
    next_step_lines,
    state_line,
    summary_lines,
    turn_label,
    warning_lines,
)
from loop_close.drive.state import (
    STATE,
    TURN,
    FixTracker,
    LoopTracker,
    State,
    exclusive_lock,
    load_state,
    save_state,
)
from loop_close.memory import MERGED, ChangedTest
from loop_close.model import Verdict
from loop_close.process import birth_of
from loop_close.prompt.loop import lines_of
from loop_close.prompt.report_json import attempts_document
from loop_close.text import one_line

# --- the driver: runs tests and agent in turns, and keeps the loop's state after each step

Ending = Literal["done", "stuck", "limit", "interrupted"]
#: What shells answer for a command that cannot be run, and for one that is not there.
_CANNOT_RUN = (126, 127)
#: The least seconds for the tests: when the loop's time is over, they run once more to find its state.
_LAST_TESTS = 600.0


_TO_CHECK = "Run each as: loop-close run --source NAME -- COMMAND"


class Driver:
    """One loop at work.

    :param watch: what is known from run to run; ``tests`` what the tests were when the loop began.
    """

    def __init__(
        self, plan: Plan, loop: AgentLoop, watch: LoopTracker, tests: DrivenTests, screen: Screen, stop: Stop
    ) -> None:
        self._plan = plan
        self._loop = loop
        self._watch = watch
        self._tests = tests
        self._mending = FixTracker(plan.root, plan.targets, tests)
        self._screen = screen
        self._stop = stop
        self._environment = {**environment(), INSIDE: "drive"}
        self._of_tests = self._environment
        self._test: list[str] = []
        self._child = (0, "")
        self._outcome = RunOutcome()
        self._sent_back = 0  # in a row, for required sources

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
            *summary_lines(self._loop, ended, reason),
            *warning_lines(
                self._outcome,
                self._watch.edits(self._plan.root) if ended == "done" else None,
                is_lost=self._watch.is_lost,
            ),
            *(() if ended == "done" else next_step_lines(self._outcome, name, self._loop.work)),
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
        root, before = self._plan.root, latest_run_numbers(self._plan.root)
        self._watch.notice_loss(before)
        self._watch.notice_other(root)
        files, found = self._mending.take_snapshot(), self._tests.compared()
        ended = self._run_tests()
        outcome = self._outcome_of(ended, run_result(root, before))
        self._mending.ran(files, outcome)
        outcome = self._with_tests(outcome, found)
        self._outcome = outcome
        steps = steps_now(self._plan.steps_file) if self._plan.steps_file else []
        if steps:  # one that was taken away leaves the plan as it was
            self._loop.follow(steps)
        decision = self._loop.tested(outcome)
        if decision.action == "done":
            decision = (
                self._without_edit(decision, outcome) or self._without_required(decision, outcome) or decision
            )
        self._keep()
        self._screen.step(state_line(self._loop, outcome))
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

    def _without_required(self, decision: Decision, outcome: RunOutcome) -> Decision | None:
        """Where a required source is not green on these files, or a merge still counts: some turns; then a person."""
        project = self._plan.project
        if not (project.settings.required or MERGED in latest_run_numbers(project.root)):
            return None
        seen = read(project.history, lambda history: project_state.load_state(project, history))
        left = seen.standing.waits
        text, unknown = ("; ".join(left.words), "") if left else missing_sources(project, seen)
        if unknown:
            self._screen.step(unknown)
        if not text:
            self._sent_back = 0
            return None
        self._sent_back += 1
        prompt = f"# The tests pass, and required checks are missing\n\n{text}.\n\n{_TO_CHECK}"
        prompt = waiting_text(seen.standing) or prompt
        self._outcome = replace(outcome, prompt=prompt)
        is_over = self._sent_back > self._plan.patience
        return replace(
            decision,
            action="stuck" if is_over else "continue",
            reason=f"the tests are green; {text[0].lower()}{text[1:]}",
        )

    def _outcome_of(self, ended: Ended, result: RunResult) -> RunOutcome:
        """The result of the run; the first must have one, later ones the agent may have broken."""
        is_run = bool(result.statuses) and ended.exit_code not in _CANNOT_RUN
        if not is_run and not self._watch.is_begun:
            raise UsageError(_no_tests(self._test, ended.exit_code))
        if not result.statuses:
            return unknown_outcome(self._plan, ended, result)
        self._watch.begin(result)
        is_elsewhere = self._watch.is_rest_elsewhere(result)
        outcome = outcome_of(self._plan, ended, result, is_rest_elsewhere=is_elsewhere)
        return self._watch.ended(self._plan.root, latest_run_numbers(self._plan.root), result, outcome)

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
        """Let the agent work, and record its output."""
        text = self._loop.prompt(self._outcome, decision)
        path = self._plan.root / TURN
        files.state_folder(self._plan.root)
        files.write_private(path, text)
        given, data = prepared(self._plan.agent, text, path)
        at = f"{turn_label(self._loop)}: {self._plan.agent[0]}"
        self._screen.step(f"{at} ({decision.reason})" if self._loop.turns else at)
        self._screen.wait_for(at)
        self._tests.mark_asked()
        seconds = min(self._plan.agent_seconds, self._loop.limits.max_runtime - self._loop.runtime)
        ended = self._run_agent(given, data, seconds)
        self._screen.done()
        error = failure(ended.exit_code, is_late=ended.is_late, seconds=seconds)
        if error:
            self._screen.step(f"the turn failed: {error}")
        said = read_output(ended.output)
        self._loop.answered(self._with_box(said), error=error, now=time.monotonic())
        self._keep()

    def _with_box(self, said: AgentOutput) -> AgentOutput:
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
            data=data or b"",
            channels=[Channel(partial(self._screen.pass_on, number)) for number in (1, 2)],
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

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._child = (process.pid, birth_of(process.pid))
        self._keep()

    def _keep(self, ended: str = "", reason: str = "") -> None:
        state = State(
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
            save_state(self._plan.root, state)
        except OSError as error:
            raise UsageError(f"cannot write {STATE}: {error.strerror or error}") from None


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


# --- ``loop-close drive`` from its options to its exit code

_CODES = {"done": 0, "stuck": 3, "limit": 4, "interrupted": 130}


def drive(options: argparse.Namespace, streams: Streams) -> int:
    """Drive the agent of the options.

    :returns: 0 done, 3 stuck, 4 a limit is reached, 130 interrupted.
    :raises UsageError: for what cannot be done.
    """
    root = root_of(Path.cwd())
    try:
        with exclusive_lock(root), Stop() as stop:
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

    A new loop uses those of the last one if changes to them were neither undone nor accepted.

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
        state = load_state(root)
    except UsageError:
        if options.resume:
            raise
        return None
    if options.resume and state is None:
        raise UsageError(f"no loop to resume: {STATE} does not exist")
    if options.resume and state is not None and state.ended == "done":
        raise UsageError("the last loop ended as done; start a new one without --resume")
    return state


def _loop(plan: Plan, state: State | None) -> tuple[AgentLoop, LoopTracker]:
    about: dict[str, Any] = {"task": plan.task, "patience": plan.patience}
    if state is None:
        return AgentLoop(plan.strategy, plan.limits, **about), LoopTracker()
    try:
        loop = AgentLoop.from_state(state.loop, plan.strategy, plan.limits, **about)
    except ValueError as error:
        raise UsageError(f"{STATE} is damaged ({error}); start a new loop without --resume") from None
    return loop, state.watch


# --- run the tests, and read their result

_PLUGIN = "--loop-close"
_LONGEST_PROBE = 120
_LONGEST_PROMPT = 400_000
_LARGEST_REPORT = 50_000_000
_MAX_CAUSES = 200
_MAX_ATTEMPTS = 6


def with_plugin(words: list[str], root: Path, environment: Mapping[str, str]) -> list[str]:
    """The words with the plugin asked for, where they run a pytest that has it.

    Its prompt knows more than what can be read in the output.
    """
    at = runs_pytest(words)
    if at < 0 or any(word.startswith(_PLUGIN) for word in words):
        return words
    try:
        done = subprocess.run(
            [*words[: at + 1], "--help"],
            cwd=root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST_PROBE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return words
    has_plugin = _PLUGIN.encode() in done.stdout
    return [*words[: at + 1], _PLUGIN, *words[at + 1 :]] if has_plugin else words


def unknown_outcome(plan: Plan, ended: Ended, result: RunResult) -> RunOutcome:
    """The outcome of a run that was not recorded because it ended too early."""
    what = f"exited with code {ended.exit_code} before any test was reported"
    text = "" if result.is_good_news else _prompt(plan)
    return RunOutcome(verdict="error", state=str(ended.exit_code), prompt=_about(what, text))


def outcome_of(plan: Plan, ended: Ended, result: RunResult, *, is_rest_elsewhere: bool) -> RunOutcome:
    """The outcome of a run as the history has it.

    :param result: of the sources that the command ran.
    :param is_rest_elsewhere: what is known to fail is not what the command runs.
    """
    verdict = _verdict(result, ended, is_rest_elsewhere=is_rest_elsewhere)
    is_green = verdict == "green"
    progress = result.progress
    return RunOutcome(
        verdict=verdict,
        failing=0 if is_green else sum(each.summary.failing or 0 for each in result.statuses),
        is_complete=_is_complete(result, ended),
        is_edited=progress is not None and progress.step.edits.kind == "effective",
        has_advanced=progress is not None and bool(progress.step.advanced),
        tests=tuple(change for each in result.statuses for change in each.summary.tests),
        breaker=result.statuses[0].summary.breaker if result.statuses else RunOutcome().breaker,
        causes={} if is_green else causes_in(plan.root),
        state=progress.step.state if progress is not None else "",
        meta=progress_meta(progress, is_green=is_green),
        prompt=_prompt_of(plan, ended, result, is_green=is_green),
        attempts=_attempts(result),
        edits_not_run=result.statuses[0].summary.not_run if is_green and result.statuses else "",
    )


def _attempts(result: RunResult) -> tuple[str, ...]:
    """What was tried in the loop, a line a run: the last ones."""
    lines = [_attempt(each) for each in attempts_document(result.progress)]
    more = [f"… {len(lines) - _MAX_ATTEMPTS} more runs before these"] if len(lines) > _MAX_ATTEMPTS else []
    return tuple(one_line(line, 300) for line in (*more, *lines[-_MAX_ATTEMPTS:]))


def _attempt(attempt: Mapping[str, Any]) -> str:
    same = attempt["same_code_as"]
    back = f", back to the code of run {same}" if same is not None else ""
    return f"run {attempt['run']}: edited: {', '.join(attempt['edited'])}{back}; {attempt['effect']}"


def _verdict(result: RunResult, ended: Ended, *, is_rest_elsewhere: bool) -> Verdict | None:
    """That of the worst source; a command that failed is not green, whatever is remembered of it."""
    if not result.statuses or ended.is_late:
        return None
    found = result.statuses[0].summary.verdict
    if ended.exit_code == 0 and is_rest_elsewhere:
        return "green"
    if found == "green":
        is_explained = any(each.summary.explains(ended.exit_code) for each in result.statuses)
        return "green" if is_explained else "error"
    known: tuple[Verdict, ...] = get_args(Verdict)
    return next((verdict for verdict in known if verdict == found), None)


def _is_complete(result: RunResult, ended: Ended) -> bool:
    are_done = all(each.last.state == "done" for each in result.statuses)
    return (
        bool(result.statuses)
        and are_done
        and not ended.is_late
        and not (result.run and result.run.incomplete)
    )


def _prompt_of(plan: Plan, ended: Ended, result: RunResult, *, is_green: bool) -> str:
    """The prompt that the run wrote; with a heading before it if more is known."""
    text = _prompt(plan)
    news = "" if result.is_good_news else text
    if ended.is_late:
        return _about("exceeded its time limit and was stopped", news)
    return (
        text
        if is_green or news
        else _about(f"exited with code {ended.exit_code}, and the run is not green", "")
    )


def _about(what: str, text: str) -> str:
    """A heading, before the prompt that the run wrote unless that is green."""
    return f"# The tests could not be judged\n\nTheir command {what}.\n\n{text}".rstrip("\n")


def _prompt(plan: Plan) -> str:
    """What the run wrote, where its settings say so now; that of a run that was killed says nothing."""
    try:
        path = targets_of(plan.root).prompt
    except UsageError:
        path = plan.targets.prompt
    text = prompt_text(path, _LONGEST_PROMPT)
    return "" if text.startswith(files.RUNNING) else text


def causes_in(root: Path) -> dict[str, str]:
    """What each root cause of a project's report is, by its id, in its order: error, first line of its message, place.

    Error and message are safe to show. The result is empty without a report.
    """
    path = root / files.REPORT
    try:
        if path.stat().st_size > _LARGEST_REPORT:
            return {}
        causes = json.loads(path.read_bytes())["root_causes"][:_MAX_CAUSES]
        return {str(cause["id"]): _described(cause) for cause in causes}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _described(cause: Mapping[str, Any]) -> str:
    location = cause["location"]
    place = f" ({location['file']}:{location['line']})" if location["file"] else ""
    said = ": ".join(filter(None, (cause["exception"], shown(cause["message"].partition("\n")[0], 80))))
    return f"{said or cause['kind']}{place}"
