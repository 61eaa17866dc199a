"""What is said of the hard cases, run by run."""

import pytest
from sequences import SEQUENCES, did, nodeid, play

from loop_close.memory import Thresholds
from loop_close.progress.signals import SIGNALS


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(name):
    steps = SEQUENCES[name]
    assert [said for said, _ in play(steps)] == [step.expected for step in steps]


@pytest.mark.parametrize("name", SEQUENCES)
def test_no_alarm_before_the_third_run_nor_over_progress(name):
    for number, (said, progress) in enumerate(play(SEQUENCES[name]), 1):
        stuck = {s.kind for s in progress.signals if s.is_on and SIGNALS[s.kind].only_without_progress}
        assert number > 2 or not stuck
        assert not (progress.step.advanced and stuck)
        assert not (progress.step.advanced and "stuck" in said)


def test_breaker_cools_down_and_lets_one_more_attempt_through():
    steps = [did("", "a") for _ in range(11)]
    states = [progress.breaker.state for _, progress in play(steps, Thresholds(cooldown=2))]
    opened = ["open", "open", "half_open"]
    assert states == ["closed", "closed", "half_open", *opened, *opened, "open", "open"]
    reason = play(steps[:6], Thresholds(cooldown=2))[-1][1].breaker.reason
    assert reason == "no progress for 5 runs; one more attempt after 2 as stuck"
    assert all(p.breaker.state != "half_open" for _, p in play(steps)[3:])


def test_a_test_that_failed_by_infrastructure_ran():
    _, progress = play([did("first-failure", {"a": "s"}), did("no-progress", {"a": "!network"})])[-1]
    assert (progress.step.infrastructure, progress.not_run) == ((nodeid("a"),), ())
