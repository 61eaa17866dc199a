"""Every detector against its samples; one without samples of both kinds fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import any_text, failure, failures, frame, hostile, observed, raised, source
from samples import GREEN, NEGATIVE, NOTHING, POSITIVE

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, by_priority, run_detectors
from loop_close.model import Evidence, Observation, Warned

ALL = {d.id: d for d in DEFAULT_DETECTORS}
#: DESIGN section 4.
ORDER = [
    *("internal-error", "syntax-error", "missing-module", "collection-error", "typecheck-error"),
    *("test-failure", "not-implemented", "crash", "timeout", "unhandled-async", "lint-error"),
    *("coverage-below", "incomplete-function", "todo-marker", "fixme-marker", "stack-trace"),
]


def test_ids_and_order():
    assert [d.id for d in DEFAULT_DETECTORS] == ORDER
    assert by_priority(DEFAULT_DETECTORS) == DEFAULT_DETECTORS


@pytest.mark.parametrize("field", ["id", "kind", "label", "priority", "description", "hint"])
def test_no_two_are_alike(field):
    values = [getattr(d, field) for d in (*DEFAULT_DETECTORS, DETECTOR_ERROR)]
    assert len(set(values)) == len(values)
    assert all(values)


@pytest.mark.parametrize("detector", [*DEFAULT_DETECTORS, DETECTOR_ERROR], ids=lambda d: d.id)
def test_words_about_it(detector):
    assert "\n" not in detector.description + detector.label + detector.hint
    assert not detector.description[0].isupper()
    assert detector.hint[0].isupper()
    assert detector.hint.endswith(".")
    assert detector.label == detector.label.strip().rstrip("s.")
    found = Evidence(kind=detector.kind, snippet="")
    assert detector.count_of([found]) == f"1 {detector.label}"
    assert detector.count_of([found, found]).startswith(f"2 {detector.label}")


def test_each_has_its_samples():
    assert set(NEGATIVE) == set(POSITIVE) == set(ALL)
    assert all(NEGATIVE.values())
    assert all(POSITIVE.values())


@pytest.mark.parametrize("detector_id", ORDER)
def test_finds_nothing(detector_id):
    for sample in [NOTHING, GREEN, *NEGATIVE[detector_id]]:
        assert list(ALL[detector_id].detect(sample)) == []


@pytest.mark.parametrize("detector_id", ORDER)
def test_finds(detector_id):
    for sample, expected in POSITIVE[detector_id]:
        found = list(ALL[detector_id].detect(sample))
        assert [e.kind for e in found] == [detector_id] * expected
        assert all(isinstance(e, Evidence) for e in found)


observations = st.builds(
    Observation,
    exit_code=st.sampled_from([None, 0, 1, 2, -11]),
    failures=st.lists(failures, max_size=3).map(tuple),
    warnings=st.lists(
        st.builds(
            Warned,
            category=st.sampled_from(["RuntimeWarning", "PytestUnraisableExceptionWarning"]) | hostile,
            message=st.sampled_from(
                ["coroutine 'f' was never awaited", "Traceback (most recent call last):\n"]
            )
            | any_text,
        ),
        max_size=2,
    ).map(tuple),
)


@settings(max_examples=60)
@given(observations)
def test_total(sample):
    found = run_detectors(sample)
    assert [e for e in found if e.kind == DETECTOR_ERROR.kind] == []
    claimed = [id(e.failure) for e in found if e.failure is not None]
    assert sorted(claimed) == sorted(id(f) for f in sample.failures)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["#", "# ", "#TODO", "Task ", "coroutine '", "\n", "Timeout", "x"])
def test_a_megabyte_of_the_same(piece):
    text = piece * (1_000_000 // len(piece))
    exc = raised("Failed", text, [frame(source=source(text))])
    run_detectors(observed(failure(exc), warnings=(Warned(category="x", message=text),)))
