from dataclasses import asdict

import pytest

from loop_close.agent.loop import RunOutcome
from loop_close.cli.status import RunResult
from loop_close.drive.state import LoopTracker
from loop_close.memory import Episode, Progress, Run, Step

REST = ("test_b.py::test_b", "test_c.py::test_c")


def came(selection="-k a", not_run=REST, incomplete=""):
    """A good run of a part, beside which the rest is known to fail."""
    step = Step(run=2, unresolved=len(not_run), not_run=len(not_run))
    return RunResult(
        progress=Progress(run=2, position=2, episode=Episode(), step=step, not_run=not_run),
        run=Run(number=2, selection=selection, incomplete=incomplete, is_good=True),
    )


def begun(*runs):
    watch = LoopTracker()
    for run in runs:
        watch.begin(run)
    return watch


@pytest.mark.parametrize(
    ("run", "selection", "elsewhere"),
    [
        (came(), "-k a", [*REST]),
        (came(not_run=REST[::-1]), "-k a", [*REST]),
        (came(incomplete="stopping after 1 failure"), "-k a", []),
        (RunResult(run=Run(number=1)), "", []),
    ],
)
def test_the_first_run_tells_what_the_loop_is_about(run, selection, elsewhere):
    watch = begun(run, came("-k other", ("test_d.py::test_d",)))
    assert (watch.is_begun, watch.selection, watch.elsewhere) == (True, selection, elsewhere)


def test_without_a_run_nothing_has_begun():
    assert begun(RunResult()) == LoopTracker()


@pytest.mark.parametrize(
    ("first", "run", "is_so"),
    [
        (came(), came(), True),
        (came(), came(not_run=REST[:1]), True),
        (came(), came(not_run=(*REST, "test_d.py::test_d")), False),
        (came(), came(not_run=()), False),
        (came(), came("-k b"), False),
        (came(""), came(""), False),
        (came(), RunResult(), False),
        (RunResult(), came(), False),
    ],
)
def test_rest_is_elsewhere(first, run, is_so):
    watch = begun(first)
    before = asdict(watch)
    assert watch.is_rest_elsewhere(run) == is_so
    assert asdict(watch) == before


@pytest.mark.parametrize(
    ("numbers", "is_lost"),
    [
        ({"pytest": 5}, False),
        ({"pytest": 6, "mypy": 1}, False),
        ({"pytest": 4}, True),
        ({"mypy": 9}, True),
        ({}, True),
    ],
)
def test_numbers_that_go_back_before_a_run(numbers, is_lost):
    watch = LoopTracker(numbers={"pytest": 5})
    watch.notice_loss(numbers)
    assert (watch.is_lost, watch.numbers) == (is_lost, numbers)


@pytest.mark.parametrize(
    ("numbers", "is_lost"), [({"pytest": 6}, False), ({"pytest": 1}, True), ({"mypy": 1}, False)]
)
def test_numbers_that_go_back_while_the_tests_run(tmp_path, numbers, is_lost):
    """A source that is gone was let go by the history itself, which keeps so many runs."""
    watch = LoopTracker(numbers={"pytest": 5})
    watch.ended(tmp_path, numbers, RunResult(), RunOutcome())
    assert (watch.is_lost, watch.numbers) == (is_lost, numbers)
