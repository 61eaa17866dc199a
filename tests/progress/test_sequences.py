"""What is said of the hard cases, run by run."""

import pytest
from sequences import SEQUENCES, play

from loop_close.progress.signals import STUCK


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(name):
    steps = SEQUENCES[name]
    assert [said for said, _ in play(steps)] == [step.expected for step in steps]


@pytest.mark.parametrize("name", SEQUENCES)
def test_no_alarm_before_the_third_run_nor_over_progress(name):
    for number, (said, progress) in enumerate(play(SEQUENCES[name]), 1):
        stuck = {s.kind for s in progress.signals if s.is_on} & STUCK
        assert number > 2 or not stuck
        assert not (progress.step.advanced and stuck)
        assert not (progress.step.advanced and "stuck" in said)
