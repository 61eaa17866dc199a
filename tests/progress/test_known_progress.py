"""Tests that fail and do not count, in the progress of a loop."""

from loop_close.memory import Edit, Edits, Episode, FailureRecord, Run
from loop_close.progress.advance import advance

A, B = "test_a.py::test_a", "test_a.py::test_b"
CODE = Edits(kind="effective", edits=(Edit(file="a.py", function="f"),))
SETTINGS = Edits(kind="effective", edits=(Edit(file="pyproject.toml"),))
NONE = Edits(kind="none")


def play(*runs):
    """Runs, each by what fails, what is known, and what was edited before; the progress of the last."""
    episode = Episode()
    for number, (failing, known, edits) in enumerate(runs, 1):
        outcomes = {test: "passed" for test in episode.tests if test not in (*failing, *known)}
        marks = tuple(FailureRecord(test=test, exact="e", shape="s") for test in failing)
        run = Run(
            number=number,
            marks=marks,
            known=tuple(known),
            outcomes=outcomes,
            edits=edits,
            is_good=not failing,
            is_compared=True,
        )
        made = advance(episode, run)
        episode = made.episode
    return made


def groups(progress):
    names = ("fixed", "new", "broken", "changed", "unresolved", "not_run", "not_fixed")
    return {name: found for name in names if (found := getattr(progress, name))}


def test_a_known_failure_is_in_no_group():
    made = play(([A], [B], CODE), ([A], [B], CODE))
    assert groups(made.progress) == {"unresolved": (A,)}
    assert [*made.episode.tests] == [A]


def test_a_failure_that_comes_to_be_known_leaves_the_loop_and_is_no_fix():
    made = play(([A, B], [], CODE), ([A], [B], SETTINGS))
    assert groups(made.progress) == {"unresolved": (A,)}
    assert made.progress.tests == ()
    made = play(([A], [], CODE), ([], [A], SETTINGS))
    assert groups(made.progress) == {}
    assert (made.progress.tests, made.episode) == ((), Episode(green=2, is_green_full=True, known=(A,)))
    made = play(([A, B], [], CODE), ([B], [], CODE), ([], [B], NONE))
    assert made.progress.tests == ()  # test_a was fixed, and nothing was edited when test_b became known


def test_a_known_failure_that_counts_again_is_new_and_had_not_passed():
    made = play(([], [A], CODE), ([A], [], NONE))
    assert groups(made.progress) == {"new": (A,)}
    assert made.episode.tests[A].flips == ()
    made = play(([B], [A], CODE), ([A, B], [], CODE))
    assert groups(made.progress) == {"new": (A,), "unresolved": (B,)}
    assert not made.episode.tests[A].was_broken
