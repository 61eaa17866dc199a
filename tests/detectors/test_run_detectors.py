import itertools
import sys

import pytest
from records import failure, frame, observed, raised, verdict

from loop_close.detectors import (
    DEFAULT_DETECTORS,
    DETECTOR_ERROR,
    Detector,
    by_priority,
    claim,
    run_detectors,
)
from loop_close.model import Evidence


def detector(detect, id="custom", priority=500, **fields):
    return Detector(
        id=id, label="custom thing", priority=priority, description="d", hint="H.", detect=detect, **fields
    )


def kinds(found):
    return [e.kind for e in found]


def test_order_is_by_priority_then_id():
    made = [detector(print, id, priority) for id, priority in [("b", 2), ("z", 1), ("a", 2)]]
    for order in itertools.permutations(made):
        assert [d.id for d in by_priority(order)] == ["z", "a", "b"]


# What a detector of a third party may do


def yields_then_raises(observation):
    yield Evidence(kind="custom", snippet="x")
    raise RuntimeError("no")


def exits(observation):
    sys.exit(3)


def fails_as_a_test(observation):
    pytest.fail("no")


def has_to_be_closed(observation):
    try:
        yield from [1, 2]
    finally:
        raise RuntimeError("closing")


def endless(observation):
    return itertools.repeat(Evidence(kind="custom", snippet="x"))


@pytest.mark.parametrize(
    ("detect", "words"),
    [
        (yields_then_raises, "RuntimeError: no"),
        (exits, "SystemExit: 3"),
        (fails_as_a_test, "Failed: no"),
        (has_to_be_closed, "RuntimeError: closing"),
        (endless, "more than"),
        (lambda o: None, "TypeError"),
        (lambda o: ["x"], "str, not loop_close.Evidence"),
        (lambda o: [Evidence(kind="k", snippet=None)], "snippet"),
        (lambda o: [Evidence(kind="k", snippet="x", failure="t")], "failure"),
    ],
)
def test_a_faulty_detector_is_named_and_the_others_go_on(detect, words):
    found = run_detectors(observed(failure(raised())), [*DEFAULT_DETECTORS, detector(detect, priority=1)])
    assert kinds(found) == ["test-failure", "stack-trace", "stack-trace", DETECTOR_ERROR.kind]
    assert "'custom'" in found[-1].snippet
    assert words in found[-1].snippet
    assert found[-1].label == "custom"


def test_interruption_by_a_person_is_heeded():
    def detect(observation):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_detectors(observed(), [detector(detect)])


# Who keeps a failure


def claims(kind):
    return lambda observation: [claim(kind, f) for f in observation.failures]


@pytest.mark.parametrize(
    ("made", "keeps"),
    [
        ([], "test-failure"),
        # an ordinary one beats those that take the rest, wherever it stands
        ([detector(claims("custom"), priority=1)], "custom"),
        ([detector(claims("custom"), priority=999)], "custom"),
        # among ordinary ones the most blocking
        ([detector(claims("a"), "a", 5), detector(claims("b"), "b", 4)], "b"),
        # among those that take the rest, too
        ([detector(claims("a"), "a", 1, is_fallback=True)], "a"),
        ([detector(claims("a"), "a", 999, is_fallback=True)], "test-failure"),
    ],
)
def test_one_detector_keeps_a_failure(made, keeps):
    sample = observed(failure(verdict()), exit_code=None)
    three = [d for d in DEFAULT_DETECTORS if d.id in ("collection-error", "test-failure", "not-implemented")]
    for order in itertools.permutations([*made, *three]):
        found = run_detectors(sample, order)
        assert kinds(found) == [keeps]


def test_what_is_no_failure_everybody_keeps():
    made = [detector(lambda o, s=s: [Evidence(kind="a", snippet=s)], s, 1) for s in "yx"]
    assert [e.snippet for e in run_detectors(observed(), made)] == ["x", "y"]


def test_evidence_is_by_kind_then_place():
    sample = observed(
        failure(raised(frames=[frame("src/b.py", line=1)]), "t.py::b"),
        failure(raised(frames=[frame("src/a.py", line=9)]), "t.py::c"),
        failure(raised(frames=[frame("src/a.py", line=2)]), "t.py::d"),
        failure(raised("NotImplementedError", frames=[frame("src/0.py")]), "t.py::e"),
        failure(raised("ImportError", frames=[frame("src/z.py")]), "t.py::f"),
        exit_code=None,
    )
    found = run_detectors(sample)
    assert [e.failure.nodeid[-1] for e in found] == ["f", "d", "c", "b", "e"]
