import pytest

from loop_close.memory import Edit, Edits, Episode, FailureRecord, Run
from loop_close.progress.advance import advance


def repeated(*runs):
    """What the signal says after runs whose failures are (test, message, value), each run after an edit."""
    episode, edits = Episode(), Edits(kind="effective", edits=(Edit(file="a.py"),))
    for number, failures in enumerate(runs, 1):
        marks = tuple(FailureRecord(test=f"t.py::{t}", exact=e, shape="s", got=got) for t, e, got in failures)
        made = advance(episode, Run(number=number, marks=marks, edits=edits))
        episode = made.episode
    (signal,) = (each for each in made.progress.signals if each.kind == "repeated-failure")
    assert signal.is_on
    return signal.explanation


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ("a0 a0 a0", "same failure in runs 1, 2 and 3, despite edits between them"),
        ("a0 a3 a4", "still failing in runs 1, 2 and 3, with other values"),
        ("a0,b0 a3,b0 a4,b0", "still failing in runs 1, 2 and 3, some with other values"),
        ("a a! a?", "still failing in runs 1, 2 and 3, with other values"),
        # the value of one of two failures changed, and it is not known of which
        ("a,b a!,b a?,b", "still failing in runs 1, 2 and 3, despite edits between them"),
    ],
)
def test_only_failures_with_equal_values_are_called_the_same(runs, said):
    found = [[(each[0], each, each[1:].strip("!?")) for each in run.split(",")] for run in runs.split()]
    assert repeated(*found) == said
