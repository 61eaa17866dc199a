"""Loops of a simulated project: its tests fail or pass by the code alone, but for flaky ones."""

import random

import msgspec
from histories import PYTEST, did, failure, history, node
from hypothesis import given
from hypothesis import strategies as st

from loop_close.loop import fold, is_stuck
from loop_close.records import Edits, Run

SOURCES = (PYTEST, "pytest@cpython-3.11")
TESTS = "abcde"
FLAKY = "f"

#: The failures of the code after an edit: a shape for each test that fails.
code = st.dictionaries(st.sampled_from(TESTS), st.sampled_from("stu"), max_size=4)
event = st.fixed_dictionaries(
    {
        "edit": st.sampled_from(["effective", "effective", "none", "ineffective", "unknown"]),
        "code": code,
        "tests": st.just(TESTS + FLAKY) | st.sets(st.sampled_from(TESTS + FLAKY), min_size=1),
        "sources": st.sampled_from([SOURCES, SOURCES[:1], SOURCES[1:]]),
        "flaky": st.booleans(),
        "killed": st.sampled_from([False, False, False, True]),
    }
)


@st.composite
def histories(draw, *, is_one_source=False):
    """Runs of the project: each after an edit or none, of all tests or some, on one interpreter or two."""
    runs, fails, tree = [], {}, 0
    for number, each in enumerate(draw(st.lists(event, max_size=14)), 1):
        if is_one_source:
            each["sources"] = SOURCES[:1]
        if each["edit"] in ("effective", "unknown"):
            fails, tree = each["code"], tree + 1
        failing = {**fails, FLAKY: "s"} if each["flaky"] else fails
        runs.append(_run(number, each, failing, f"tree {tree}" if each["edit"] != "ineffective" else ""))
    return runs


def _run(number, each, failing, tree):
    outcomes = {
        source: {node(test): "failed" if test in failing else "passed" for test in each["tests"]}
        for source in each["sources"]
    }
    failures = [
        failure(test, f"{test}{failing[test]}", source)
        for source in each["sources"]
        for test in each["tests"]
        if test in failing
    ]
    return Run(
        id=str(number),
        number=number,
        scope="" if each["tests"] == TESTS + FLAKY else " ".join(sorted(each["tests"])),
        tree=tree,
        edits=Edits(kind=each["edit"]),
        is_finished=not each["killed"],
        is_green=not failures,
        outcomes=outcomes,
        failures=tuple(failures),
    )


def last_outcomes(runs):
    """What each test did in the last run that ran it."""
    return {
        (source, test): outcome
        for run in runs
        if run.is_finished
        for source, outcomes in run.outcomes.items()
        for test, outcome in outcomes.items()
    }


@given(histories())
def test_what_fails_is_what_failed_when_it_last_ran(runs):
    failing = {key for key, outcome in last_outcomes(runs).items() if outcome == "failed"}
    assert {(each.source, each.test) for each in fold(runs).failing} == failing


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_within_a_run_does_not_matter(runs, chance):
    def shuffled(run):
        failures = chance.sample(run.failures, len(run.failures))
        sources = chance.sample([*run.outcomes.items()], len(run.outcomes))
        outcomes = {source: dict(reversed(found.items())) for source, found in sources}
        return msgspec.structs.replace(run, failures=tuple(failures), outcomes=outcomes)

    assert fold([*map(shuffled, runs)]) == fold(runs)


@given(histories())
def test_the_numbers_follow_from_the_steps_and_later_runs_change_no_step(runs):
    before = fold([])
    for n in range(1, len(runs) + 1):
        loop = fold(runs[:n])
        if loop.base == before.base:
            assert loop.steps[:-1] == before.steps
        else:
            assert (loop.base, loop.steps, loop.failing, loop.stalled) == (n, (), (), 0)
        stalled = 0
        for step in loop.steps:
            stalled = 0 if step.advanced or not step.failing else stalled + step.is_attempt
        assert loop.stalled == stalled
        assert loop.best == min((step.failing for step in loop.attempts), default=None)
        if loop.steps:
            assert loop.steps[-1].failing == sum(not each.is_flaky for each in loop.failing)
        before = loop


@given(histories(is_one_source=True))
def test_fewest_is_fewer_than_after_every_earlier_run_of_the_loop(runs):
    """A test that failed when it first ran counts as failing before."""
    ends, sets = [run for run in runs if run.is_finished], []
    for n, run in enumerate(ends):
        loop = fold(runs[: run.number])
        before, after = last_outcomes(ends[:n]), last_outcomes(ends[: n + 1])
        found = {key for key, outcome in after.items() if outcome == "failed" and key not in before}
        failing = {key for key, outcome in after.items() if outcome == "failed"}
        sets = [each | found for each in sets]
        least = min((_counted(each, loop) for each in sets), default=0)
        if loop.steps:
            assert (loop.steps[-1].advanced == "fewest") == (_counted(failing, loop) < least)
        sets = [*sets, failing] if _counted(failing, loop) else []


def _counted(keys, loop):
    return sum(test not in loop.flaky for _, test in keys)


@given(histories())
def test_only_flaky_tests_are_called_so(runs):
    assert set(fold(runs).flaky) <= {node(FLAKY)}


@given(st.integers(2, 5), st.integers(0, 3))
def test_fixing_one_and_breaking_one_becomes_stuck_whatever_the_period(period, others):
    rest = "".join(f" o{n}" for n in range(others))
    runs = history([did("", f"t{n % period}{rest}") for n in range(12)])
    assert [is_stuck(fold(runs[:n])) for n in range(1, 13)] == [False] * 3 + [True] * 9


@given(st.lists(st.booleans(), min_size=7, max_size=12))
def test_a_failure_beside_a_flaky_test_becomes_stuck(chances):
    runs = history([did("", "a f" if fails else "a") for fails in chances])
    # chance reaches a lower number once
    assert sum(bool(step.advanced) for step in fold(runs).steps) <= 1
    assert any(is_stuck(fold(runs[:n])) for n in range(8))


@given(st.sets(st.sampled_from("abcdefgh"), min_size=1), st.integers(0, 99), st.booleans())
def test_fixing_without_breaking_is_never_stuck(faults, seed, stops_early):
    chance, left, steps = random.Random(seed), sorted(faults), []
    while left:
        shown = {
            "ran": "".join(f"{t} " for t in "abcdefgh"[: "abcdefgh".index(left[0]) + 1]),
            "incomplete": "-x",
        }
        steps.append(did("", left[0] if stops_early else " ".join(left), **(shown if stops_early else {})))
        left = left[1:] if stops_early else chance.sample(left, chance.randrange(len(left)))
        left.sort()
    runs = history(steps)
    loops = [fold(runs[:n]) for n in range(1, len(runs) + 1)]
    assert all(step.advanced == "fewest" for step in loops[-1].attempts)
    assert not any(map(is_stuck, loops))
