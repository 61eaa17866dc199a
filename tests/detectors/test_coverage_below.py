import pytest

from loop_close.detectors.findings import COVERAGE_BELOW
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


TABLE = "Name    Stmts   Miss  Cover{}\n-----\np.py        5      1    80%\nTOTAL       5      1    80%"
BY_PYTEST = "Required test coverage of 100% not reached. Total coverage: 80.00%"


@pytest.mark.parametrize(
    ("message", "sections", "expected"),
    [
        (BY_PYTEST, (("coverage", TABLE.format("   Missing")),), "The coverage report lists these lines."),
        (BY_PYTEST, (("coverage", TABLE.format("")),), "`--cov-report=term-missing` lists these lines."),
        (BY_PYTEST, (), "`--cov-report=term-missing` lists these lines."),
        ("total of 81 is less than fail-under=90", (), "`coverage report -m` lists these lines."),
    ],
)
def test_advice_says_where_the_lines_are_listed(message, sections, expected):
    fields = {"phase": "check", "tool": "coverage", "code": "fail-under", "sections": sections}
    observation = Observation(exit_code=1, failures=(Failure(nodeid="", message=message, **fields),))
    (found,) = COVERAGE_BELOW.detect(observation)
    assert expected in COVERAGE_BELOW.hint_for(found)
