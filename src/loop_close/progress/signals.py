"""The signals that a loop is not advancing, in the order in which they are shown.

A signal is a function from a :class:`View` to why it fired or why it did not, and a row of :data:`SIGNALS`. Signals
explain: whether the loop is stuck is decided by the breaker alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from loop_close.lazy import NamedTuple, dataclass
from loop_close.memory import (
    TAMPERING,
    UNEDITED,
    ChangedTest,
    Episode,
    KnownTest,
    Returned,
    Run,
    Signal,
    Step,
    Thresholds,
)
from loop_close.progress.compare import (
    Changes,
    counted_steps,
    is_about,
    is_flaky,
    is_worded_alike,
    shape_now,
    stretch,
)
from loop_close.progress.tampering import open_changes, tampering_in_words

_MAX_TESTS = 10
_MAX_CYCLE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A run and what it is compared with.

    :ivar before: the episode without the run, ``after`` with it.
    :ivar step: the run's own; the last of ``after.steps``.
    :ivar tests: what was done to tests.
    """

    run: Run
    before: Episode
    after: Episode
    changes: Changes
    step: Step
    limits: Thresholds
    tests: tuple[ChangedTest, ...] = ()

    @property
    def attempts(self) -> tuple[Step, ...]:
        """The runs of the episode that count, this one among them if it does."""
        return counted_steps(self.after.steps)


class Fired(NamedTuple):
    """What a signal that fired shows: the runs, the tests and an explanation."""

    runs: Iterable[int]
    tests: Iterable[str]
    explanation: str


class Rule(NamedTuple):
    """How a signal is checked.

    :ivar check: returns a text if the signal did not fire: what it lacks.
    :ivar only_without_progress: it fires neither in a run that made progress nor while no test is known to fail.
    """

    check: Callable[[View], Fired | str]
    only_without_progress: bool = True


def check_all(view: View) -> tuple[Signal, ...]:
    """Every signal, fired or not, in the order of the table."""
    return tuple(_signal(kind, rule, view) for kind, rule in SIGNALS.items())


def _signal(kind: str, rule: Rule, view: View) -> Signal:
    found: Fired | str
    if kind in view.limits.off:
        found = "turned off in the settings"
    elif rule.only_without_progress and view.step.advanced:
        found = f"run {view.run.number} made progress"
    elif rule.only_without_progress and not view.step.unresolved:
        found = "no test is known to fail"
    else:
        found = rule.check(view)
    if isinstance(found, str):
        return Signal(kind=kind, is_on=False, explanation=found)
    return Signal(
        kind=kind,
        runs=tuple(sorted(set(found.runs))),
        tests=tuple(sorted(set(found.tests))[:_MAX_TESTS]),
        explanation=found.explanation,
    )


def _names(runs: Iterable[int]) -> str:
    """``runs 3, 4 and 6``."""
    numbers = [str(run) for run in runs]
    if len(numbers) == 1:
        return f"run {numbers[0]}"
    return f"runs {', '.join(numbers[:-1])} and {numbers[-1]}"


def _test_tampering(view: View) -> Fired | str:
    """Tests were deleted, kept from running, or demand less than when the loop began.

    Every run reports it until the change is undone, or a person accepts it.
    """
    found = open_changes(view.tests)
    if not found:
        return "the tests demand what they did when the loop began"
    runs = {view.run.number, *(known.tampered[0] for known in view.after.tests.values())} - {0}
    return Fired(runs, (change.id for change in found), tampering_in_words(found))


def _oscillation(view: View) -> Fired | str:
    """The last two runs each have the failures of as many runs ago: a cycle of 2 to 5. A single revert is not a cycle.

    Also a failure that began ``repeats`` times, each time after a green run.
    """
    returned = _returned(view)
    if returned:
        runs = [*returned[0].runs, view.run.number]
        text = f"the same failure in {_names(runs)}, each time after it had been fixed"
        return Fired(runs, [each.test for each in returned], text)
    steps = [s for s in view.attempts if s.edits.kind not in UNEDITED]
    for length in range(2, _MAX_CYCLE + 1):
        if view.step.is_counted and _is_cycle([s.state for s in steps], length):
            runs = [s.run for s in steps[-length - 2 :]]
            tests = set(view.changes.new) | set(view.changes.fixed) | set(view.changes.changed)
            same = f"{_names(runs[-2:])} have the same failures as {_names(runs[:2])}"
            return Fired(runs, tests or view.changes.unresolved, f"{same}: a cycle of {length} runs")
    return "the failures did not return to an earlier state twice in a row"


def _returned(view: View) -> list[Returned]:
    """Failures that began again with this run, after as many green runs as the threshold ``repeats`` says.

    A test that was edited is another test now. Without an edit the failure is flaky.
    """
    if view.run.edits.kind in UNEDITED:
        return []
    records = {(m.test, m.shape) for m in view.run.marks if not m.is_infrastructure}
    began = {test for test in view.changes.new if not any(is_about(e, test) for e in view.run.edits.edits)}
    found = [
        each
        for each in view.before.returned
        if len(each.runs) + 1 >= view.limits.repeats
        and each.test in began
        and (each.test, each.shape) in records
    ]
    return sorted(found, key=lambda each: (-len(each.runs), each.test))


def _is_cycle(states: Sequence[str], length: int) -> bool:
    if len(states) < length + 2:
        return False
    comes_back = states[-1] == states[-1 - length] and states[-2] == states[-2 - length]
    return comes_back and states[-1] != states[-2] and len(set(states[-length:])) == length


def _repeated_failure(view: View) -> Fired | str:
    """The same shape in enough attempts since the last progress, with an edit before each but the first."""
    need, runs = view.limits.repeats, _edited_runs(view)
    seen = {}
    for test, known in _failing_now(view).items():
        known_shape = shape_now(known)
        seen[test] = [run for run in known_shape.runs if run in runs] if known_shape is not None else []
    most = max(map(len, seen.values()), default=0)
    if most < need:
        return f"no failure came back in {need} edited runs since the last progress (at most in {most})"
    tests, shown = _alike(seen)
    return Fired(shown, tests, _repetition_in_words(view, tests, shown))


def _repetition_in_words(view: View, tests: Sequence[str], shown: Sequence[int]) -> str:
    """Failures whose values changed are not called the same: by the values known, else by the counts of the runs."""
    known = [view.after.tests[test].values[1:] for test in tests]
    moved = [any(shown[0] < run <= shown[-1] for run, _ in values) for values in known]
    steps = [s for s in view.after.steps if shown[0] < s.run <= shown[-1]]
    if any(moved) or any(0 < s.moved == s.unresolved for s in steps):
        some = "" if all(moved) or not any(moved) else "some "
        return f"still failing in {_names(shown)}, {some}with other values"
    is_same = not any(s.moved for s in steps)
    return f"{'same failure' if is_same else 'still failing'} in {_names(shown)}, despite edits between them"


def _similar_failure(view: View) -> Fired | str:
    """Similar messages of one type and place in enough edited runs."""
    need, runs = view.limits.repeats, _edited_runs(view)
    seen = {}
    for test, known in _failing_now(view).items():
        now = shape_now(known)
        similar = [f for f in known.forms if now and is_worded_alike(f, now, view.limits.similarity)]
        if len(similar) > 1:  # with equal words it is a repeated failure
            seen[test] = sorted({run for known_shape in similar for run in known_shape.runs if run in runs})
    often = {test: shown for test, shown in seen.items() if len(shown) >= need}
    if not often:
        return f"no failure came back in {need} runs with a similar message"
    tests, shown = _alike(often)
    return Fired(shown, tests, f"nearly the same message in {_names(shown)}, despite edits between them")


def _failing_now(view: View) -> dict[str, KnownTest]:
    """What failed in this run, without flaky tests and infrastructure failures."""
    tests = {m.test for m in view.run.marks if not m.is_infrastructure}
    return {t: k for t, k in view.after.tests.items() if t in tests and not is_flaky(k)}


def _edited_runs(view: View) -> set[int]:
    """Attempts since the last progress that an edit came before, as far as is known. The first always counts."""
    steps = stretch(view.after.steps)
    return {s.run for n, s in enumerate(steps) if n == 0 or s.edits.kind not in UNEDITED}


def _alike(seen: Mapping[str, Sequence[int]]) -> tuple[list[str], Sequence[int]]:
    """The runs of the test that was seen most, and all tests that were seen in each of these runs."""
    shown = seen[min(seen, key=lambda test: (-len(seen[test]), test))]
    return [test for test, runs in seen.items() if set(shown) <= set(runs)], shown


def _whack_a_mole(view: View) -> Fired | str:
    """Enough attempts in a row fixed tests and broke others, none with a new lowest count."""
    need = view.limits.mole
    moles = [s for s in view.attempts[-need:] if s.fixed and s.broken]
    least, best = view.after.best
    if len(moles) < need or best >= moles[0].run:
        return f"{len(moles)} of the last {need} runs fixed some tests and broke others"
    runs = [s.run for s in moles]
    text = f"{_names(runs)} each fixed some tests and broke others"
    text = f"{text}; run {best} still has the fewest failures, {least}"
    return Fired(runs, (*view.changes.fixed, *view.changes.broken), text)


def _regression(view: View) -> Fired | str:
    """Tests that passed earlier in the episode fail now, once it has as many runs as the threshold ``repeats`` says."""
    broken = view.changes.broken
    if not broken:
        return "no test fails that passed earlier in this episode"
    if len(view.attempts) < view.limits.repeats:
        first, *others = sorted(set(broken))
        named = f"{first} and {len(others)} more" if others else first
        return f"{named} passed before; a regression needs at least {view.limits.repeats} runs"
    again = [test for test in broken if test in view.before.tests]
    # the runs in which they were last seen to pass; else the last run of all tests
    seen = {view.before.tests[test].ran for test in again}
    full = [step.run for step in view.before.steps if step.is_full and not step.is_killed][-1:]
    text = (
        "fixed in this episode and failing again" if again else "passed earlier in this episode and fails now"
    )
    return Fired([*(seen or full), view.step.run], again or broken, text)


def _no_edit(view: View) -> Fired | str:
    """Enough runs on exactly the same files."""
    found = _runs_without_edit(view, ("none",))
    return (
        found
        if isinstance(found, str)
        else Fired(found, (), f"no project file changed between {_names(found)}")
    )


def _no_effective_edit(view: View) -> Fired | str:
    """Enough runs between which only comments, formatting, docstrings or prose changed."""
    found = _runs_without_edit(view, UNEDITED)
    if isinstance(found, str):
        return found
    if not any(s.edits.kind == "ineffective" for s in view.after.steps if s.run in found[1:]):
        return "nothing changed at all"
    return Fired(found, (), f"only comments, formatting, docstrings or prose changed between {_names(found)}")


def _runs_without_edit(view: View, kinds: tuple[str, ...]) -> list[int] | str:
    """The last runs between which there were only edits of these kinds; a text if they are too few."""
    need, runs, steps = view.limits.repeats, [view.step.run], view.attempts
    for step, before in zip(reversed(steps), reversed(steps[:-1]), strict=False):
        if step.edits.kind not in kinds:
            break
        runs.insert(0, before.run)
    if not view.step.is_counted or len(runs) < need:
        return f"{len(runs)} of {need} required runs on the same code"
    return sorted(set(runs))


def _flaky(view: View) -> Fired | str:
    """Tests that changed their result twice without an edit or another choice of tests.

    They do not count any more in this episode.
    """
    found = {t: k for t, k in view.after.tests.items() if is_flaky(k)}
    if not found:
        return "no test changed its result twice without an edit"
    runs = {run for known in found.values() for run in known.flips}
    return Fired(runs, found, f"passed and failed without an edit, in {_names(sorted(runs))}")


def _infrastructure(view: View) -> Fired | str:
    """Infrastructure failures in enough runs, this one among them."""
    need = view.limits.repeats
    steps = [s for s in view.after.steps if s.infrastructure]
    if not view.step.infrastructure or len(steps) < need:
        return f"{len(steps)} of {need} required runs with an infrastructure failure"
    runs = [s.run for s in steps]
    tests = {test for step in steps for test in step.infrastructure}
    return Fired(runs, tests, f"infrastructure failure (time limit, network, disk, worker) in {_names(runs)}")


SIGNALS: Mapping[str, Rule] = {
    TAMPERING: Rule(_test_tampering, only_without_progress=False),
    "oscillation": Rule(_oscillation),
    "repeated-failure": Rule(_repeated_failure),
    "similar-failure": Rule(_similar_failure),
    "whack-a-mole": Rule(_whack_a_mole),
    "regression": Rule(_regression),
    "no-edit": Rule(_no_edit),
    "no-effective-edit": Rule(_no_effective_edit),
    "flaky": Rule(_flaky, only_without_progress=False),
    "infrastructure": Rule(_infrastructure, only_without_progress=False),
}
