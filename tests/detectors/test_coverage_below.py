import pytest

from loop_close.detectors import COVERAGE_BELOW
from loop_close.model import Failure, Observation


def observed(**fields):
    failure = Failure(nodeid="", message="total of 81 is less than fail-under=90", **fields)
    return Observation(exit_code=2, failures=(failure,))


NEGATIVE = [
    Observation(),
    observed(phase="check", tool="mypy", code="fail-under"),
    observed(phase="check", tool="coverage", code="other"),
    observed(phase="call", tool="coverage", code="fail-under"),
]
POSITIVE = [observed(phase="check", tool="coverage", code="fail-under")]


@pytest.mark.parametrize("observation", NEGATIVE)
def test_finds_nothing(observation):
    assert list(COVERAGE_BELOW.detect(observation)) == []


@pytest.mark.parametrize("observation", POSITIVE)
def test_finds(observation):
    assert [(e.kind, e.snippet) for e in COVERAGE_BELOW.detect(observation)] == [
        ("coverage-below", "total of 81 is less than fail-under=90")
    ]
