"""Signals: facts of the steps of a loop that explain why it does not advance.

A signal is a function and a row of :data:`_RULES`. Signals explain; :func:`loop_close.loop.is_stuck` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from loop_close.loop import is_alike, is_counted
from loop_close.records import FailureRecord, Loop, Objection, Run, Signal, Step
from loop_close.text import listed

#: Runs that show the same before it is called so.
_REPEATS = 3
_MAX_CYCLE = 5
_MAX_TESTS = 10
_NAMED = 3


class _View(NamedTuple):
    """What the rules look at.

    :ivar runs: by number.
    """

    loop: Loop
    runs: Mapping[int, Run]
    objections: Sequence[Objection]

    @property
    def steps(self) -> Sequence[Step]:
        """Those that ended."""
        return [step for step in self.loop.steps if step.is_finished]

    @property
    def tried(self) -> Sequence[Step]:
        """Of these the first with a failure, and the attempts."""
        first = next((step for step in self.steps if step.failing), None)
        return [step for step in self.steps if step.is_attempt or step.advanced or step is first]


_Seen = dict[tuple[str, str], dict[int, FailureRecord]]
#: What a rule found: the numbers of runs, the tests, and one clause.
_Found = tuple[Iterable[int], Iterable[str], str]


def signals(loop: Loop, runs: Sequence[Run], objections: Sequence[Objection] = ()) -> tuple[Signal, ...]:
    """The signals of a loop, in the order of :data:`KINDS`.

    Most are left out if the last run advanced, or nothing that counts is failing.

    :param runs: those that were folded.
    :param objections: what the old tests say of the present ones.
    """
    view = _View(loop, {run.number: run for run in runs}, objections)
    is_held = bool(view.steps) and not view.steps[-1].advanced and any(map(is_counted, loop.failing))
    return tuple(
        Signal(
            kind=kind,
            runs=tuple(sorted(set(numbers))),
            tests=tuple(sorted(set(tests))[:_MAX_TESTS]),
            explanation=explanation,
        )
        for kind, rule in _RULES.items()
        if is_held or kind in _ALWAYS
        for numbers, tests, explanation in rule(view)
    )


def _test_tampering(view: _View) -> Iterator[_Found]:
    for objection in view.objections:
        runs = [number for number, run in view.runs.items() if run.objection == objection]
        number = len(objection.tests) + objection.omitted
        said = [f"differing from the tests as they were: {listed(objection.files, _NAMED)}"] * bool(
            objection.files
        )
        said += [f"{number} of the old tests do{'es' * (number == 1)} not pass"] * bool(number)
        said += [f"the old tests did not run: {objection.reason}"] * bool(objection.reason)
        yield (runs, [each.test for each in objection.tests], "; ".join(said))


def _oscillation(view: _View) -> Iterator[_Found]:
    """The last two attempts each have the failures of as many attempts before."""
    tried = view.tried
    for length in range(2, _MAX_CYCLE + 1):
        steps = tried[-length - 2 :]
        states = [step.state for step in steps]
        if len(steps) == length + 2 and states[-2:] == states[:2] and len(set(states)) == length:
            runs = [step.run for step in steps]
            tests = [test for step in steps[1:] for test in (*step.fixed, *step.changed)]
            same = f"{_numbered(runs[-2:])} have the same failures as {_numbered(runs[:2])}"
            yield (runs, tests, f"{same}: a cycle of {length} attempts")
            return


def _repeated_failure(view: _View) -> Iterator[_Found]:
    """One shape in enough attempts."""
    seen = _seen(view, lambda record, now: record.shape == now.shape)
    for runs, tests in _most(seen):
        exact = [{record.exact for record in seen[test].values()} for test in tests]
        moved = [len(found) > 1 for found in exact]
        said = f"the same failure in {_numbered(runs)}, with edits between them"
        if any(moved):
            said = f"still failing in {_numbered(runs)}, {'' if all(moved) else 'some '}with other values"
        yield (runs, [name for _, name in tests], said)


def _similar_failure(view: _View) -> Iterator[_Found]:
    """Messages that are nearly the same, in one place, in enough attempts."""
    seen = _seen(view, is_alike)
    several = {
        test: found for test, found in seen.items() if len({each.shape for each in found.values()}) > 1
    }
    for runs, tests in _most(several):
        yield (runs, [name for _, name in tests], f"nearly the same message in {_numbered(runs)}")


def _seen(view: _View, is_same: Callable[[FailureRecord, FailureRecord], bool]) -> _Seen:
    """The failing tests that count, with failures like the present one, by the run of the attempt.

    Of the attempts these are the last one that advanced, and those since.
    """
    recent = view.tried[max((n for n, step in enumerate(view.tried) if step.advanced), default=0) :]
    runs = [view.runs[step.run] for step in recent if step.run in view.runs]
    now = {(each.source, each.test): each.record for each in filter(is_counted, view.loop.failing)}
    seen: _Seen = {test: {} for test in now}
    for run in runs:
        for record in run.failures:
            test = record.source, record.test
            if test in now and is_same(record, now[test]):
                seen[test][run.number] = record
    return seen


def _most(seen: _Seen) -> Iterator[tuple[list[int], list[tuple[str, str]]]]:
    """If enough: the runs of the test that was seen in most, and all tests that were seen in each of these."""
    runs = max(map(list, seen.values()), key=len, default=[])
    if len(runs) >= _REPEATS:
        yield runs, [test for test, found in seen.items() if {*runs} <= {*found}]


def _whack_a_mole(view: _View) -> Iterator[_Found]:
    """The last attempts each fixed tests and broke others, and did not advance."""
    moles = view.tried[-_REPEATS:]
    broken = [set(step.broken) - set(step.found) for step in moles]
    is_mole = all(step.fixed and not step.advanced for step in moles) and all(broken)
    if is_mole and len(moles) == _REPEATS:
        runs, failing = [step.run for step in moles], [str(step.failing) for step in moles]
        tests = (test for step, each in zip(moles, broken, strict=True) for test in (*step.fixed, *each))
        text = f"in each of {_numbered(runs)} tests were fixed and tests were broken"
        yield (runs, tests, f"{text}; failing after them: {', '.join(failing)}")


def _regression(view: _View) -> Iterator[_Found]:
    """The last attempt broke tests that had passed."""
    last = view.steps[-1]
    broken = set(last.broken) - set(last.found)
    if last.is_attempt and broken:
        yield (
            [last.run],
            broken,
            f"passed before and {'fails' if len(broken) == 1 else 'fail'} since run {last.run}",
        )


def _no_edit(view: _View) -> Iterator[_Found]:
    runs = _unedited(view, ("none",))
    if len(runs) >= _REPEATS:
        yield (runs, (), f"no project file changed between {_numbered(runs)}")


def _no_effective_edit(view: _View) -> Iterator[_Found]:
    runs = _unedited(view, ("none", "ineffective"))
    if len(runs) >= _REPEATS and len(runs) > len(_unedited(view, ("none",))):
        yield (runs, (), f"only comments, formatting, docstrings or prose changed between {_numbered(runs)}")


def _unedited(view: _View, kinds: tuple[str, ...]) -> list[int]:
    """The last runs between which there were edits of these kinds only."""
    runs: list[int] = []
    for step in reversed(view.loop.steps):
        runs += [step.run] * step.is_finished
        if step.edits.kind not in kinds:
            break
    return runs[::-1]


def _flaky(view: _View) -> Iterator[_Found]:
    runs = [step.run for step in view.steps if step.flipped]
    if view.loop.flaky:
        where = f"; last changed in run {runs[-1]}" if runs else ""
        yield (runs, view.loop.flaky, f"passed and failed on the same code{where}; counted neither way")


def _infrastructure(view: _View) -> Iterator[_Found]:
    """The last run has such failures."""
    steps = view.steps
    found = {
        number: [each.test for each in run.failures if each.is_infrastructure]
        for number, run in view.runs.items()
        if steps and number >= steps[0].run and run.is_finished
    }
    runs = [number for number, tests in found.items() if tests]
    if runs and runs[-1] >= steps[-1].run:
        text = f"failures of the network, the disk, the memory or a worker in {_numbered(runs)}; counted neither way"
        yield (runs, (test for tests in found.values() for test in tests), text)


def _numbered(runs: Sequence[int]) -> str:
    """``runs 3, 4 and 6``."""
    *first, last = map(str, runs)
    return f"runs {', '.join(first)} and {last}" if first else f"run {last}"


_RULES: Mapping[str, Callable[[_View], Iterator[_Found]]] = {
    "test-tampering": _test_tampering,
    "oscillation": _oscillation,
    "repeated-failure": _repeated_failure,
    "similar-failure": _similar_failure,
    "whack-a-mole": _whack_a_mole,
    "regression": _regression,
    "no-edit": _no_edit,
    "no-effective-edit": _no_effective_edit,
    "flaky": _flaky,
    "infrastructure": _infrastructure,
}
_ALWAYS = ("test-tampering", "flaky", "infrastructure")
#: The kinds of signals, in the order in which they are shown.
KINDS = tuple(_RULES)
