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


def changed(phases, fixes, file):
    """The changes to tests that are seen where failures, by name and phase, are gone after one edit of a file."""
    marks = tuple(
        FailureRecord(test=f"t.py::{n}" if phase == "call" else f"{n} E1", phase=phase, exact=n, shape=n)
        for n, phase in enumerate(phases)
        for n in [str(n)]
    )
    outcomes = {mark.test: "passed" for mark in marks if mark.phase == "call"}
    episode = advance(Episode(), Run(number=1, marks=marks)).episode
    edits = Edits(kind="effective", edits=(Edit(file=file),))
    left = tuple(mark for mark in marks if not fixes(mark))
    run = Run(number=2, marks=left, outcomes=outcomes, tells_outcomes=False, edits=edits, is_good=not left)
    return [(each.kind, each.what) for each in advance(episode, run).progress.tests]


@pytest.mark.parametrize("file", ["tox.ini", ".pre-commit-config.yaml", "pyproject.toml", "setup.cfg"])
@pytest.mark.parametrize("phase", ["check", "process"])
def test_mended_configuration_is_no_change_of_tests_where_none_failed(file, phase):
    assert changed([phase, phase], lambda mark: True, file) == []
    assert changed([phase, "call"], lambda mark: mark.phase == phase, file) == []


def test_tests_that_pass_by_an_edit_of_configuration_alone_are_counted_without_findings():
    ((kind, what),) = changed(["call", "check", "check"], lambda mark: True, "tox.ini")
    assert (kind, what) == ("not-fixed", "only tests were edited since 1 test failed: tox.ini")
    ((kind, what),) = changed(["call", "check", "check"], lambda mark: True, ".pre-commit-config.yaml")
    assert (kind, what) == (
        "unclear",
        "no source was edited since 1 test failed, only: .pre-commit-config.yaml",
    )
