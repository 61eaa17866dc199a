"""Which findings of checkers are one root cause."""

import pytest
from records import failure

from loop_close.causes.grouping import finding_key
from loop_close.judge import report_of
from loop_close.model import Observation


def finding(message, code="", tool="mypy", file="src/a.py", line=1):
    return failure(
        None, phase="check", nodeid="", tool=tool, code=code, message=message, file=file, line=line
    )


ATTRIBUTE = '"Cart" has no attribute "totl"'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (finding(ATTRIBUTE, "attr-defined"), finding(ATTRIBUTE, "attr-defined", file="src/b.py", line=9)),
        (
            finding(ATTRIBUTE, "attr-defined"),
            finding(f"{ATTRIBUTE}\nnote: maybe total", "attr-defined", line=3),
        ),
        (
            finding("`os` imported but unused", "F401", "ruff"),
            finding("`re` imported but unused", "F401", "ruff"),
        ),
    ],
)
def test_one_cause(one, other):
    assert finding_key("kind", one) == finding_key("kind", other)


RETURN = 'Incompatible return value type (got "int", expected "str")'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (finding(ATTRIBUTE, "attr-defined"), finding('"Cart" has no attribute "tax"', "attr-defined")),
        (finding(ATTRIBUTE, "attr-defined"), finding(ATTRIBUTE, "union-attr")),
        (finding(ATTRIBUTE, "attr-defined"), finding(ATTRIBUTE, "attr-defined", tool="pyright")),
        (finding(RETURN, "return-value"), finding(RETURN, "return-value", line=2)),
        (
            finding("Function is missing a return", "no-untyped-def"),
            finding("Function is missing a return", line=2),
        ),
        (finding("a", "", "ruff"), finding("a", "", "ruff", line=2)),
    ],
)
def test_two_causes(one, other):
    assert finding_key("kind", one) != finding_key("kind", other)


def test_places_of_one_cause_are_told():
    found = tuple(finding(ATTRIBUTE, "attr-defined", file=f"src/{n}.py") for n in range(9))
    report = report_of(Observation(exit_code=1, failures=found, expects_tests=False, rerun=()))
    (cause,) = report.causes
    assert len(cause.evidence) == 9
    assert report.stall_reason == "9 type errors detected"
