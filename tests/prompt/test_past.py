import records as made
from loop_close.prompt.past import attempts, past_lines

from loop_close.judge import close
from loop_close.memory import Edits, Step

FAILURE = made.failure(made.verdict(made.origin()))
CAUSE = close(made.observed(FAILURE)).causes[0]
STEPS = (Step(run=3), Step(run=4, edits=made.edited()), Step(run=5, edits=Edits(kind="none")))


def past(*tests, steps=STEPS):
    return list(past_lines(CAUSE, made.progress(*steps, tests=tests)))


def test_without_a_memory_there_is_nothing_to_say():
    assert list(past_lines(CAUSE, None)) == []
    assert attempts(CAUSE, None) == 0


def test_what_is_new_has_no_past():
    assert past() == []
    assert past(made.known(since=5)) == []


def test_how_long_and_through_which_values():
    known = made.known(since=3, want="6", values=("7", "5", "7"))
    assert past(known) == ["Failing for 3 runs, since run 3. Got `7`, `5`, `7`; want `6`."]


def test_values_of_another_test_are_named():
    other = made.failure(made.verdict(made.origin()), nodeid="t.py::test_other", message="a longer message")
    cause = close(made.observed(FAILURE, other)).causes[0]
    known = made.known("t.py::test_other", since=3, values=("7", "5"))
    lines = list(past_lines(cause, made.progress(*STEPS, tests=[known])))
    assert lines == ["Failing for 3 runs, since run 3. Got `7`, `5` in `t.py::test_other`."]


def test_killed_runs_do_not_count():
    steps = (Step(run=3), Step(run=4, is_killed=True), Step(run=5))
    assert past(made.known(since=3), steps=steps) == ["Failing for 2 runs, since run 3."]


def test_what_had_passed_says_so():
    assert past(made.known(since=5, was_broken=True)) == ["It had passed in this loop."]


def test_attempts_are_edits_that_it_survived():
    assert attempts(CAUSE, made.progress(*STEPS, tests=[made.known(since=3)])) == 1
    assert attempts(CAUSE, made.progress(*STEPS, tests=[made.known(since=4)])) == 0


def test_hostile_values_stay_in_their_span():
    known = made.known(since=3, want="`\n# h", values=("`a`", "\x1b[31m```"))
    (line,) = past(known)
    assert "\n" not in line
    assert "\x1b" not in line
