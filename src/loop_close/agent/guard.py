"""Whether the loop of an agent may go on: its limits and repetitions, and the gate that answers the hooks of hosts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from loop_close.agent import (
    AMOUNT,
    WHOLE,
    check_above_zero,
    check_amount,
    check_share,
    check_whole,
    checked_state,
    is_finite,
)
from loop_close.lazy import dataclass
from loop_close.text import cut, listed, one_line

LimitName = Literal["iterations", "runtime", "cost", "failures"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a loop may spend, each reached at ``>=``; ``math.inf`` means unlimited.

    The defaults are those of ralph-orchestrator's loop detection.

    :ivar max_iterations: turns of the agent.
    :ivar max_runtime: seconds that the loop ran.
    :ivar max_cost: in whatever currency costs are recorded in.
    :ivar max_consecutive_failures: failed turns in a row.
    """

    max_iterations: float = 100
    max_runtime: float = 4 * 60 * 60.0
    max_cost: float = 10.0
    max_consecutive_failures: float = 5

    def __post_init__(self) -> None:
        check_whole("max_iterations", self.max_iterations, 1, is_endless=True)
        check_above_zero("max_runtime", self.max_runtime)
        check_above_zero("max_cost", self.max_cost)
        check_whole("max_consecutive_failures", self.max_consecutive_failures, 1, is_endless=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a loop has spent.

    :ivar runtime: seconds.
    :ivar failures: those in a row.
    """

    iterations: int = 0
    runtime: float = 0.0
    cost: float = 0.0
    failures: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitReached:
    """A limit and what reached it.

    :ivar value: what is spent; ``maximum``: the limit, never above the value.
    :ivar reason: the same in words.
    """

    limit: LimitName
    value: float
    maximum: float
    reason: str


def limit_reached(spent: Spent, limits: Limits) -> LimitReached | None:
    """The first limit that is reached, of iterations, runtime, cost and failures in this order; None for none."""
    if spent.iterations >= limits.max_iterations:
        return _reached("iterations", spent.iterations, limits.max_iterations, "turns")
    if spent.runtime >= limits.max_runtime:
        return _reached("runtime", spent.runtime, limits.max_runtime, "seconds of run time")
    if spent.cost >= limits.max_cost:
        return _reached("cost", spent.cost, limits.max_cost, "cost")
    if spent.failures >= limits.max_consecutive_failures:
        return _reached("failures", spent.failures, limits.max_consecutive_failures, "failures in a row")
    return None


def _reached(limit: LimitName, value: float, maximum: float, what: str) -> LimitReached:
    reason = f"{_spelled(value)} {what}, the limit is {_spelled(maximum)}"
    return LimitReached(limit=limit, value=value, maximum=maximum, reason=reason)


def _spelled(number: float) -> str:
    return f"{number:.2f}".removesuffix(".00")


# With the line about what was left out it stays below what ``ratio`` compares whole.
_LONGEST = 9_900


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """An output as it is kept: redacted, and a long one cut to its head and tail.

    :ivar length: characters of the whole output.
    """

    text: str
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopFound:
    """An output that repeats an earlier one.

    :ivar similarity: from the threshold to 1.
    """

    similarity: float


WINDOW = 5
THRESHOLD = 0.9
_VERSION = 1
_STATE = {
    "version": _VERSION,
    "spent": {"iterations": WHOLE, "runtime": AMOUNT, "cost": AMOUNT, "failures": WHOLE},
    "outputs": [{"text": str, "length": WHOLE}],
}
_DEFAULT = Limits()


class SafetyGuard:
    """Counts what a loop spends and remembers what its agent said last.

    After ralph-orchestrator's loop detection. It reads no clock: ``now`` is seconds of any clock that
    does not jump, such as ``time.monotonic``. Run time is what passes from one ``now`` to the next, the first of
    all being its beginning; between :meth:`state` and :meth:`from_state` none passes.

    :param limits: what the loop may spend.
    :param window: how many outputs are kept to compare with.
    :param threshold: the similarity, from 0 to 1, from which on (``>=``) an output repeats another one.
    :raises ValueError: for a window below 1 or a threshold that is not from 0 to 1.
    """

    def __init__(
        self, limits: Limits = _DEFAULT, *, window: int = WINDOW, threshold: float = THRESHOLD
    ) -> None:
        check_whole("window", window, 1)
        check_share("threshold", threshold)
        self.limits = limits
        self._threshold = threshold
        self._outputs: deque[Output] = deque(maxlen=window)
        self._spent = Spent()
        self._found: LoopFound | None = None
        self._now: float | None = None

    @property
    def spent(self) -> Spent:
        """What the loop has spent so far."""
        return self._spent

    @property
    def found(self) -> LoopFound | None:
        """What the last output repeats, and how closely; None if it repeats nothing."""
        return self._found

    def check(self, now: float) -> LimitReached | None:
        """The limit that is reached, None while there is none: to be asked before each turn.

        :raises ValueError: if ``now`` is not a finite number.
        """
        self._pass(now)
        return limit_reached(self._spent, self.limits)

    def detect_loop(self, output: str | None) -> bool:
        """Whether the output repeats one of the last ones; one that does not is kept for those to come.

        An empty output, or one with nothing to see in it, repeats nothing and is not kept.
        """
        self._found = None
        seen = output_of(output or "")
        if not seen.text.strip():
            return False
        self._found = find_loop(seen, self._outputs, self._threshold)
        if self._found is None:
            self._outputs.append(seen)
        return self._found is not None

    def record_success(self, *, cost: float = 0.0, now: float | None = None) -> None:
        """Count a completed turn of the agent: failures are no longer in a row.

        :param cost: of this turn; ``now``: as in :meth:`check`.
        :raises ValueError: when the cost is below 0 or not finite.
        """
        self._record(cost, now, failures=0)

    def record_failure(self, *, cost: float = 0.0, now: float | None = None) -> None:
        """Count a turn that failed, as :meth:`record_success` one that did not."""
        self._record(cost, now, failures=self._spent.failures + 1)

    def forgive(self) -> None:
        """Forget that turns failed in a row, as when a person has looked; what is spent stays so."""
        self._spent = replace(self._spent, failures=0)

    def reset(self) -> None:
        """Forget all that was spent and said."""
        self._spent = Spent()
        self._now = None
        self.clear_loop_history()

    def clear_loop_history(self) -> None:
        """Forget what was said; what is spent stays so."""
        self._outputs.clear()
        self._found = None

    def state(self) -> dict[str, Any]:
        """What to go on from after this process, as JSON can hold it. Outputs in it are redacted and bounded."""
        return {
            "version": _VERSION,
            "spent": asdict(self._spent),
            "outputs": [asdict(output) for output in self._outputs],
        }

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        limits: Limits = _DEFAULT,
        *,
        window: int = WINDOW,
        threshold: float = THRESHOLD,
    ) -> SafetyGuard:
        """The guard that gave the state; the settings are those given now.

        :raises StateError: a ValueError that names the field which is damaged.
        """
        saved = checked_state(state, _STATE)
        guard = cls(limits, window=window, threshold=threshold)
        guard._spent = Spent(**saved["spent"])
        guard._outputs.extend(Output(**each) for each in saved["outputs"])
        return guard

    def _record(self, cost: float, now: float | None, failures: int) -> None:
        check_amount("cost", cost)
        if now is not None:
            self._pass(now)
        spent = self._spent
        self._spent = replace(
            spent, iterations=spent.iterations + 1, cost=spent.cost + cost, failures=failures
        )

    def _pass(self, now: float) -> None:
        if not is_finite(now):
            raise ValueError(f"now is {now!r}: it must be a time in seconds, a finite number")
        # A clock that was set back does not reduce the run time.
        passed = max(now - self._now, 0.0) if self._now is not None else 0.0
        self._spent = replace(self._spent, runtime=self._spent.runtime + passed)
        self._now = now


def output_of(text: str) -> Output:
    """What to keep of an output, in linear time: without credentials and invisible characters."""
    from loop_close.text.redact import clean  # late: the gate of a hook needs no credentials

    return Output(text=clean(cut(text, _LONGEST)), length=len(text))


def find_loop(output: Output, kept: Iterable[Output], threshold: float) -> LoopFound | None:
    """The similarity to the latest kept output that reaches the threshold; None if none does."""
    from loop_close.text.normalize import ratio  # late, as above

    for earlier in reversed(list(kept)):
        short, long = sorted((output.length, earlier.length))
        # Long texts are kept in part: their lengths bound how similar the whole texts can be.
        if long > _LONGEST and 2 * short < threshold * (short + long):
            continue
        similarity = ratio(output.text, earlier.text, cutoff=threshold)
        if similarity >= threshold:
            return LoopFound(similarity=similarity)
    return None


# --- the gate: what a host is answered whose agent wants to stop

#: ``nothing``: let it stop. ``go_on``: it is to read the text and work on. ``end``: the loop is over, for a person.
AnswerKind = Literal["nothing", "go_on", "end"]

#: So often in a row an agent is sent back, as long as no run in between advanced.
CAP = 5
_NAMED = 3
#: Why an agent is sent back that edited functions that no test runs.
NOT_RUN = "edited functions were not run"
#: Why it is sent back if tests were changed, and it cannot be decided whether they still demand the same.
ASKED = "tests were changed"
#: Why it may stop if all that fails failed before its session.
BEFORE = "failures of before the session"
#: Why it is sent back if a required source is not green on these files.
REQUIRED = "a required source is not green"
#: Why it is sent back if the history of runs was removed.
LOST = "the history of runs was removed"


@dataclass(frozen=True, kw_only=True, slots=True)
class GateAnswer:
    """The answer to the host.

    :ivar text: facts for the agent (``go_on``) or for the person (``end``).
    :ivar why: for a log, in a few words.
    """

    kind: AnswerKind
    text: str = ""
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What is known when an agent wants to stop.

    :ivar run: the number of the last run, 0 if none is remembered; ``source`` whose.
    :ivar standing: ``green``, ``failing`` or ``stuck``.
    :ivar is_running: a run is in progress, and its result is unknown.
    :ivar killed: the number of the source's last run if that was killed before its end; else 0.
    :ivar stuck: why the loop is to end (the breaker, or an exit strategy); empty if it is not.
    :ivar edited: project files that differ from what the last run of all tests saw, by path; None if it is unknown.
        ``is_seen``: the last run of tests, of some of them or cut short, saw them as they are; ``is_partly_green``: no
        test that it chose failed.
    :ivar prompt: the next prompt; ``prompt_file`` is its path.
    :ivar command: what runs the tests.
    :ivar blocks: how often in a row the agent was sent back in this session.
    :ivar not_run: which edited functions no test ran, in words; empty if that is not reported.
    :ivar tampered: what was done to tests and is neither undone nor accepted, in words; empty for nothing.
    :ivar question: about changes to tests that cannot be decided, for once; empty if there is none.
    :ivar lost: what is known if the history was removed while the agent was at work; empty if it was not.
    :ivar before: that all failures were there before the session, in words; empty if they were not.
        ``is_before_reported``: the agent was sent back for it. ``older``: the same of some of them.
    :ivar missing: which required sources are not known to be green on these files, in words; empty for none.
    :ivar is_again: it only goes on because it was sent back; ``is_unmoved``: no run and no edit since.
    """

    run: int = 0
    source: str = ""
    standing: str = "green"
    is_running: bool = False
    killed: int = 0
    stuck: str = ""
    edited: Sequence[str] | None = None
    is_seen: bool = False
    is_partly_green: bool = False
    prompt: str = ""
    prompt_file: str = ""
    command: str = "pytest --loop-close"
    blocks: int = 0
    not_run: str = ""
    tampered: str = ""
    question: str = ""
    lost: str = ""
    before: str = ""
    older: str = ""
    is_before_reported: bool = False
    missing: str = ""
    is_again: bool = False
    is_unmoved: bool = False

    @property
    def is_stale(self) -> bool:
        """Whether a run has to come first."""
        is_red = self.standing != "green" and not self.is_partly_green
        return needs_run(self.edited, is_red=is_red, is_seen=self.is_seen)


def needs_run(edited: Sequence[str] | None, *, is_red: bool, is_seen: bool) -> bool:
    """Whether tests have to run before more is said: a run that failed on these very files says what is wrong.

    :param edited: since all tests ran; ``is_seen``: the last run saw even that, ``is_red`` if a test of it failed.
    """
    return bool(edited) and not (is_red and is_seen)


def answer(situation: Situation) -> GateAnswer:
    """The answer to the host: nothing if the agent may stop. The first rule that applies decides.

    - Nothing is remembered, or a run is under way: the agent may stop.
    - The loop is stuck, and nothing was edited since: it ends.
    - All that fails failed before the session, and the agent knows: it may stop, and the person is informed.
    - It was sent back as often as the cap says, or did nothing since it was sent back: it may stop, as a gate has to
      end by itself. A person then gets the changes to tests.
    - The history was removed, the last run was killed, or files were edited since: it gets the command. The same if
      only some tests ran since the edit, and pass.
    - The last run is red, or tests were tampered with: it gets the next prompt.
    - The last run is green, and changed tests may demand less: it is asked.
    - The last run is green, and no test ran some of the edited functions: it gets their names.
    - The last run is green, and a required source is not: it gets its name.
    """
    if not situation.run and not situation.lost:
        return GateAnswer(kind="nothing", why="no runs recorded")
    if situation.is_running:
        return GateAnswer(kind="nothing", why="a run is in progress")
    if situation.stuck and not situation.is_stale:
        return GateAnswer(kind="end", text=_stuck(situation), why="the loop is stuck")
    if situation.before and situation.is_before_reported:
        return GateAnswer(kind="end", text=f"loop-close: {situation.before}", why=BEFORE)
    if situation.blocks >= CAP:
        return _let_go(situation, f"sent back {situation.blocks} times in a row")
    if situation.is_again and situation.is_unmoved:
        return _let_go(situation, "no run and no edit since it was sent back")
    if situation.lost:
        text = f"{situation.lost}\n\nTo run the tests: {one_line(situation.command, 300)}"
        return GateAnswer(kind="go_on", text=text, why=LOST)
    if situation.killed:
        return GateAnswer(kind="go_on", text=_killed(situation), why="the last run was killed")
    if situation.is_stale:
        return GateAnswer(kind="go_on", text=_stale(situation), why="edited since the last run")
    if situation.standing != "green":
        return GateAnswer(kind="go_on", text=_red(situation), why="the last run is red")
    if situation.question:
        return GateAnswer(kind="go_on", text=f"The tests pass.\n\n{situation.question}", why=ASKED)
    if situation.not_run:
        return GateAnswer(kind="go_on", text=f"The tests pass. {situation.not_run}", why=NOT_RUN)
    if situation.missing:
        return GateAnswer(kind="go_on", text=f"The tests pass. {situation.missing}", why=REQUIRED)
    return GateAnswer(kind="nothing", why="green, no edits since")


def _let_go(situation: Situation, why: str) -> GateAnswer:
    """Let it stop, with a message to a person about what was done to tests."""
    if not situation.tampered or situation.is_stale:
        return GateAnswer(kind="nothing", why=why)
    text = (
        f"loop-close: tests are not what they were when the loop began ({one_line(situation.tampered, 500)})."
        " A person decides: loop-close accept shows the changes, and accepts them."
    )
    return GateAnswer(kind="end", text=text, why=why)


def _stuck(situation: Situation) -> str:
    return f"loop-close: the loop is stuck ({one_line(situation.stuck, 300)}). {_where(situation)}"


def _killed(situation: Situation) -> str:
    return (
        f"Run {situation.killed} of {one_line(situation.source, 80)} was killed before it finished, so the result"
        f" of the current code is unknown. To run the tests: {one_line(situation.command, 300)}"
    )


def _stale(situation: Situation) -> str:
    named = listed(sorted(situation.edited or ()), _NAMED, lambda path: one_line(path, 120))
    command = one_line(situation.command, 300)
    if situation.is_seen:
        return (
            f"Not all tests have run since the last edit: {named} changed after the last run of all tests. Those"
            f" that ran since then pass. To run them all: {command}"
        )
    return (
        f"The tests have not run since the last edit: {named} changed after the last run. Its result does not"
        f" apply to the current code. To run the tests: {command}"
    )


def _red(situation: Situation) -> str:
    """The prompt, the file's path last; where the prompt is gone, what is known of the run."""
    about = (
        situation.prompt.strip() or f"Run {situation.run} of {one_line(situation.source, 80)} has failures."
    )
    known = situation.before or situation.older
    before = f"{known}\n\n" if known else ""
    return f"{before}{about}\n\n{_where(situation)}"


def _where(situation: Situation) -> str:
    return f"Full report: {one_line(situation.prompt_file, 300)}" if situation.prompt_file else ""
