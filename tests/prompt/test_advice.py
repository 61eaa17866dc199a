from dataclasses import replace

import pytest
import records as made
from loop_close.prompt.advice import experiment, hand_over
from loop_close.prompt.hints import EXPERIMENTS
from loop_close.prompt.signals import signal_lines

from loop_close.judge import close
from loop_close.memory import Signal, Step
from loop_close.progress.signals import STUCK

STEPS = (Step(run=1), Step(run=2, edits=made.edited()), Step(run=3, edits=made.edited("parse")))

RULED_OUT = (
    "Edits since the last progress that left it failing: `parse` (`src/shop/cart.py`), "
    "`total` (`src/shop/cart.py`)."
)


def report(**fields):
    found = close(made.observed(made.failure(made.raised())))
    return replace(found, progress=made.progress(*STEPS, **fields))


def test_a_closed_breaker_asks_for_neither():
    assert list(experiment(report(), 200)) == []
    assert list(hand_over(report(), 200)) == []
    assert list(experiment(close(made.observed()), 200)) == []


@pytest.mark.parametrize("kind", sorted(STUCK))
def test_every_way_of_being_stuck_has_an_experiment(kind):
    signals = [Signal(kind=kind, tests=("t.py::test_a",))]
    lines = list(experiment(report(breaker="half_open", signals=signals), 300))
    assert lines[0] == RULED_OUT
    assert "Two explanations fit" in lines[1]
    assert "{" not in lines[1]


def test_without_a_signal_there_is_one_too():
    assert (
        "Two explanations fit: `parse` (`src/shop/cart.py`)"
        in list(experiment(report(breaker="half_open"), 300))[1]
    )


def test_values_that_follow_the_edits_ask_for_another_experiment():
    steps = (*STEPS[:2], replace(STEPS[2], moved=1))
    signals = [Signal(kind="repeated-failure", runs=(1, 2, 3))]
    found = replace(report(), progress=made.progress(*steps, breaker="half_open", signals=signals))
    assert "The value follows the edits of `parse`" in list(experiment(found, 300))[1]


def test_edits_of_tests_rule_nothing_out():
    steps = (Step(run=1), Step(run=2, edits=made.edited(file="tests/test_a.py")))
    found = replace(report(), progress=made.progress(*steps, breaker="half_open"))
    assert next(iter(experiment(found, 300))).startswith("Two explanations fit: the code that was edited")


def test_what_a_person_needs_to_know():
    known = made.known(want="6", values=("7", "5"))
    assert list(hand_over(report(breaker="open", tests=[known]), 300)) == [
        "The loop is stuck: 3 runs in a row without progress. What a person needs to know:",
        "- Still failing: `tests/test_cart.py::test_total`.",
        f"- {RULED_OUT}",
        "- Open: is `6` right in `tests/test_cart.py::test_total`? The code has given `7`, `5`.",
    ]


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("oscillation", "contradict each other"),
        ("no-edit", "is anything at work"),
        ("regression", "is what the test asks"),
    ],
)
def test_the_open_question_goes_by_the_signal(kind, question):
    found = report(breaker="open", tests=[made.known()], signals=[Signal(kind=kind)])
    assert question in list(hand_over(found, 300))[-1]


def test_signals_in_a_line_each():
    signals = [
        Signal(kind="no-edit", explanation="nothing in 1"),
        Signal(kind="flaky", is_on=False, explanation="not this one"),
        Signal(kind="regression", tests=("a`b", "c", "d"), explanation="fails\nagain"),
    ]
    assert list(signal_lines(report(signals=signals), 300)) == [
        "- `no-edit`: nothing in 1.",
        "- `regression`: ``a`b``, `c` and 1 more: fails again.",
    ]


def test_the_catalogue_is_ours_and_names_what_it_may():
    for text in EXPERIMENTS.values():
        text.format(edited="x", tests="y")
        assert "Two explanations" in text
