"""The signals that a loop is not advancing, in the order they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from loop_close.memory import Episode, Known, Returned, Run, Signal, Step, Thresholds
from loop_close.progress.compare import Changes, form_now, is_about, is_flaky, is_worded_alike
from loop_close.progress.steps import UNEDITED, attempts, stretch
from loop_close.progress.tampering import changed_tests, in_words, open_changes

# What a signal is made from, and how one says that it fired or why it did not.

MAX_TESTS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A run and what it is compared with.

    :ivar before: the episode without the run, ``after`` with it.
    :ivar step: the run's own; the last of ``after.steps``.
    """

    run: Run
    before: Episode
    after: Episode
    changes: Changes
    step: Step
    limits: Thresholds

    @property
    def attempts(self) -> tuple[Step, ...]:
        """The runs of the episode that count, this one among them if it does."""
        return attempts(self.after.steps)

    @property
    def stretch(self) -> tuple[Step, ...]:
        """The attempts since the last run that advanced, that one included."""
        return stretch(self.after.steps)


Check = Callable[[View], Signal]


def fired(kind: str, runs: Iterable[int], tests: Iterable[str], explanation: str) -> Signal:
    """A signal, its tests bounded."""
    return Signal(
        kind=kind,
        runs=tuple(sorted(set(runs))),
        tests=tuple(sorted(set(tests))[:MAX_TESTS]),
        explanation=explanation,
    )


def silent(kind: str, explanation: str) -> Signal:
    """No signal, and what it lacks."""
    return Signal(kind=kind, is_on=False, explanation=explanation)


def told(runs: Iterable[int]) -> str:
    """``runs 3, 4 and 6``."""
    numbers = [str(run) for run in runs]
    if len(numbers) == 1:
        return f"run {numbers[0]}"
    return f"runs {', '.join(numbers[:-1])} and {numbers[-1]}"


def named(tests: Iterable[str]) -> str:
    """The first test and how many others."""
    ordered = sorted(set(tests))
    if not ordered:
        return "nothing"
    more = len(ordered) - 1
    return ordered[0] + (f" and {more} more" if more else "")


# ``flaky``: a test passes and fails with no change between.

FLAKY = "flaky"


def flaky(view: View) -> Signal:
    """Tests that came out otherwise twice although nothing was edited; they count no more in this episode."""
    found = {t: k for t, k in view.after.tests.items() if is_flaky(k)}
    if not found:
        return silent(FLAKY, "no test changed its result twice without an edit")
    runs = {run for known in found.values() for run in known.flips}
    text = f"passed and failed without an edit, in {told(sorted(runs))}"
    return fired(FLAKY, runs, found, text)


# ``infrastructure``: the machine fails, and not the program.

INFRASTRUCTURE = "infrastructure"


def infrastructure(view: View) -> Signal:
    """The machine failed tests in as many runs as the threshold says, this one among them."""
    need = view.limits.repeats
    steps = [s for s in view.after.steps if s.infrastructure]
    if not view.step.infrastructure or len(steps) < need:
        return silent(
            INFRASTRUCTURE,
            f"{len(steps)} of {need} required runs with an infrastructure failure",
        )
    tests = {test for step in steps for test in step.infrastructure}
    runs = [s.run for s in steps]
    text = f"infrastructure failure (time limit, network, disk, worker) in {told(runs)}"
    return fired(INFRASTRUCTURE, runs, tests, text)


# ``no-edit`` and ``no-effective-edit``: the tests ran again, and the code was as before.


def no_edit(view: View) -> Signal:
    """As many runs as the threshold says on exactly the same files."""
    return _idle(view, "no-edit", ("none",), "no project file changed between")


def no_effective_edit(view: View) -> Signal:
    """The same where only comments, formatting, docstrings or prose changed."""
    found = _idle(
        view,
        "no-effective-edit",
        UNEDITED,
        "only comments, formatting, docstrings or prose changed between",
    )
    kinds = {s.edits.kind for s in view.after.steps if s.run in found.runs[1:]}
    if found.is_on and "ineffective" not in kinds:
        return silent(found.kind, "nothing changed at all")
    return found


def _idle(view: View, kind: str, kinds: tuple[str, ...], said: str) -> Signal:
    need = view.limits.repeats
    runs = [view.step.run]
    steps = view.attempts
    for step, before in zip(reversed(steps), reversed(steps[:-1]), strict=False):
        if step.edits.kind not in kinds:
            break
        runs.insert(0, before.run)
    if not view.step.is_counted or len(runs) < need:
        return silent(kind, f"{len(runs)} of {need} required runs on the same code")
    return fired(kind, runs, (), f"{said} {told(sorted(runs))}")


# ``oscillation``: the failures go round in a circle.

OSCILLATION = "oscillation"
_LONGEST = 5


def oscillation(view: View) -> Signal:
    """The last two runs each brought back what failed as many runs ago: a cycle of 2 to 5 (one revert is no cycle).

    So does a failure that comes back after one green run after another.
    """
    steps = [s for s in view.attempts if s.edits.kind not in UNEDITED]
    returned = _returned(view)
    if returned:
        runs = [*returned[0].runs, view.run.number]
        text = f"the same failure in {told(runs)}, each time after it had been fixed"
        return fired(OSCILLATION, runs, [each.test for each in returned], text)
    for length in range(2, _LONGEST + 1):
        if view.step.is_counted and _is_cycle(steps, length):
            runs = [s.run for s in steps[-length - 2 :]]
            tests = set(view.changes.new) | set(view.changes.fixed) | set(view.changes.changed)
            text = f"{told(runs[-2:])} have the same failures as {told(runs[:2])}: a cycle of {length} runs"
            return fired(OSCILLATION, runs, tests or view.changes.unresolved, text)
    return silent(OSCILLATION, "the failures did not return to an earlier state twice in a row")


def _returned(view: View) -> list[Returned]:
    """Failures that began again with this run and that as many episodes had as the threshold says, this one included.

    Each of those episodes ended green. A test that was edited asks for something else; without an edit it is chance.
    """
    if view.run.edits.kind in UNEDITED:
        return []
    marks = {(m.test, m.shape) for m in view.run.marks if not m.is_infrastructure}
    began = {test for test in view.changes.new if not any(is_about(e, test) for e in view.run.edits.edits)}
    found = [
        each
        for each in view.before.returned
        if len(each.runs) + 1 >= view.limits.repeats
        and each.test in began
        and (each.test, each.shape) in marks
    ]
    return sorted(found, key=lambda each: (-len(each.runs), each.test))


def _is_cycle(steps: list[Step], length: int) -> bool:
    states = [s.state for s in steps]
    if len(states) < length + 2:
        return False
    comes_back = states[-1] == states[-1 - length] and states[-2] == states[-2 - length]
    return comes_back and states[-1] != states[-2] and len(set(states[-length:])) == length


# ``regression``: what had passed fails again.

REGRESSION = "regression"


def regression(view: View) -> Signal:
    """Tests that passed earlier in the episode and fail now; from its third run on."""
    broken = view.changes.broken
    if not broken:
        return silent(REGRESSION, "no test fails that passed earlier in this episode")
    if len(view.attempts) < view.limits.repeats:
        return silent(
            REGRESSION,
            f"{named(broken)} passed before; a regression needs at least {view.limits.repeats} runs",
        )
    again = [test for test in broken if test in view.before.tests]
    said = (
        "fixed in this episode and failing again" if again else "passed earlier in this episode and fails now"
    )
    return fired(REGRESSION, [*_before(view, again or broken), view.step.run], again or broken, said)


def _before(view: View, broken: list[str]) -> list[int]:
    """The runs in which they were last seen to pass, as far as they were watched; else the last run of all tests."""
    seen = {view.before.tests[test].ran for test in broken if test in view.before.tests}
    full = [step.run for step in view.before.steps if step.is_full and not step.is_killed][-1:]
    return sorted(seen) or full


# ``repeated-failure``: a failure comes back although the code was edited each time.

REPEATED = "repeated-failure"


def repeated_failure(view: View) -> Signal:
    """The same shape in as many attempts since the last progress as the threshold says, the code edited before each."""
    need = view.limits.repeats
    runs = edited_runs(view)
    seen = {test: _seen_alike(known, runs) for test, known in failing_now(view).items()}
    most = max(map(len, seen.values()), default=0)
    if most < need:
        return silent(
            REPEATED,
            f"no failure came back in {need} edited runs since the last progress (at most in {most})",
        )
    tests, shown = alike(seen)
    text = f"same failure in {told(shown)}, despite edits between them"
    return fired(REPEATED, shown, tests, text)


def alike(seen: Mapping[str, Sequence[int]]) -> tuple[list[str], Sequence[int]]:
    """The runs of the test that was seen most, and all tests that were seen in each of them."""
    shown = seen[min(seen, key=lambda test: (-len(seen[test]), test))]
    return [test for test, runs in seen.items() if set(shown) <= set(runs)], shown


def failing_now(view: View) -> dict[str, Known]:
    """What failed in this run, but for what fails by chance."""
    tests = {m.test for m in view.run.marks if not m.is_infrastructure}
    return {t: k for t, k in view.after.tests.items() if t in tests and not is_flaky(k)}


def edited_runs(view: View) -> set[int]:
    """Attempts since the last progress that an edit came before, as far as is known; the first always counts."""
    steps = view.stretch
    return {s.run for n, s in enumerate(steps) if n == 0 or s.edits.kind not in UNEDITED}


def _seen_alike(known: Known, runs: set[int]) -> list[int]:
    """The runs in which it had the shape it has now."""
    form = form_now(known)
    return [run for run in form.runs if run in runs] if form is not None else []


# ``similar-failure``: the wording differs a little each time, and it is the same failure.

SIMILAR = "similar-failure"


def similar_failure(view: View) -> Signal:
    """Messages of one type and place that are nearly alike, in as many edited runs as the threshold says."""
    need = view.limits.repeats
    runs = edited_runs(view)
    seen = {
        test: _seen_similar(known, runs, view.limits.similarity)
        for test, known in failing_now(view).items()
        if len(known.forms) > 1
    }
    often = {test: shown for test, shown in seen.items() if len(shown) >= need}
    if not often:
        return silent(SIMILAR, f"no failure came back in {need} runs with a similar message")
    tests, shown = alike(often)
    text = f"nearly the same message in {told(shown)}, despite edits between them"
    return fired(SIMILAR, shown, tests, text)


def _seen_similar(known: Known, runs: set[int], threshold: float) -> list[int]:
    now = form_now(known)
    if now is None or not now.message:
        return []
    alike = [f for f in known.forms if is_worded_alike(f, now, threshold)]
    if len(alike) < 2:  # with equal words it is a repeated failure
        return []
    return sorted({run for form in alike for run in form.runs if run in runs})


# ``whack-a-mole``: each run fixes one thing and breaks another.

WHACK_A_MOLE = "whack-a-mole"


def whack_a_mole(view: View) -> Signal:
    """As many attempts in a row as the threshold says fixed tests and broke others, none with a new best count."""
    need = view.limits.mole
    moles = [s for s in view.attempts[-need:] if s.fixed and s.broken]
    least, best = view.after.best
    if len(moles) < need or best >= moles[0].run:
        return silent(WHACK_A_MOLE, f"{len(moles)} of the last {need} runs fixed some tests and broke others")
    tests = (*view.changes.fixed, *view.changes.broken)
    runs = [s.run for s in moles]
    text = f"{told(runs)} each fixed some tests and broke others; run {best} still has the fewest failures, {least}"
    return fired(WHACK_A_MOLE, runs, tests, text)


# ``test-tampering``: tests are not what they were when the loop began, and no person accepted it.

TAMPERING = "test-tampering"


def test_tampering(view: View) -> Signal:
    """Tests were deleted, kept from running, or demand less than when the loop began.

    Every run reports it until the change is undone, or a person accepts it.
    """
    found = open_changes(changed_tests(view.run, view.after))
    if not found:
        return silent(TAMPERING, "the tests demand what they did when the loop began")
    runs = {view.run.number, *(known.tampered[0] for known in view.after.tests.values())} - {0}
    return fired(TAMPERING, runs, (change.id for change in found), in_words(found))


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
