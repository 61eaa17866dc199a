import pytest

from loop_close.memory import Edit, Edits, Episode, FailureRecord, Progress, Run, Step
from loop_close.progress.advance import advance
from loop_close.progress.compare import selections_of_green, worth_telling


@pytest.mark.parametrize(
    ("first", "steps", "chosen"),
    [
        ("", [("", 2)], ("", "")),
        ("-k a", [("-k a", 2)], ("", "-k a")),
        ("-k a", [("-k a", 2), ("-k a", 1)], ("", "-k a")),
        ("-k a", [("-k a", 2), ("a.py::a", 0)], ("", "-k a")),
        ("-k a", [("-k a", 2), ("", 1)], ("",)),
        ("-k a", [("-k a", 2), ("-k b", 1)], ("",)),
        ("--lf", [("--lf", 2)], ("",)),
        ("-k a --sw", [("-k a --sw", 2)], ("",)),
    ],
)
def test_how_a_green_run_may_have_chosen_its_tests(first, steps, chosen):
    made = tuple(Step(run=n, selection=selection, new=new) for n, (selection, new) in enumerate(steps, 1))
    assert selections_of_green(Episode(first=1, selection=first, steps=made)) == chosen


def test_runs_that_are_worth_telling():
    edited = Edits(kind="effective", edits=(Edit(file="a.py"),))
    steps = (
        Step(run=1),
        Step(run=2, is_counted=False),
        Step(run=3, edits=edited, is_counted=False),
        Step(run=4, is_killed=True, is_counted=False),
        Step(run=5),
    )
    progress = Progress(run=5, position=5, episode=Episode(first=1, steps=steps), step=steps[-1])
    assert [step.run for step in worth_telling(progress)] == [3, 4, 5]


def test_collisions_are_no_attempts_however_many_there_are():
    episode = Episode()
    for number in range(1, 8):
        edits = Edits(kind="effective", edits=(Edit(file="a.py"),))
        marks = (FailureRecord(test="test_a.py::test_b", exact=f"e{number}", shape="s"),)
        made = advance(episode, Run(number=number, marks=marks, edits=edits, is_collision=True))
        episode = made.episode
        assert (made.progress.step.is_counted, made.progress.breaker.state) == (False, "closed")
