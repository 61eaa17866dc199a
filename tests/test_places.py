"""What else was found in the suspects of a root cause stands with it."""

import pytest
from msgspec.structs import replace
from records import failure, frame, in_test, raised

from loop_close.model import Evidence, Failure, Observation, Report, RootCause, Suspect
from loop_close.places import with_findings
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS

SUSPECT = Suspect(file="src/shop/cart.py", line=10, end_line=19, function="total", score=0.5)
BROKEN = raised("ValueError", "bad", [in_test("test_0"), frame()])


def cause(id, failure, *suspects):
    found = Evidence(kind="k", snippet="", file=failure.file, line=failure.line, failure=failure)
    return RootCause(id=id, kind="k", evidence=(found,), suspects=suspects)


RED = Report(
    observation=Observation(exit_code=1),
    verdict="red",
    stall_reason="",
    causes=(cause("2", failure(BROKEN), SUSPECT),),
)


@pytest.mark.parametrize(
    ("tool", "code", "line", "is_there"),
    [
        ("mypy", "operator", 12, True),
        ("mypy", "operator", 40, False),
        ("ruff", "F821", 12, False),
    ],
)
def test_what_a_checker_found_in_a_suspected_function_stands_with_the_failure(tool, code, line, is_there):
    finding = Failure(
        nodeid="", phase="check", message="m", file="src/shop/cart.py", line=line, tool=tool, code=code
    )
    report = with_findings(replace(RED, causes=(cause("1", finding), *RED.causes)))
    assert [each.id for each in report.causes] == (["2"] if is_there else ["1", "2"])
    assert len(report.causes[-1].findings) == is_there


@pytest.mark.parametrize(("line", "is_there"), [(10, True), (40, False)])
def test_an_empty_body_stands_with_the_suspect_or_by_itself(line, is_there):
    empty = Evidence(
        kind="incomplete-function",
        snippet="the body is empty",
        label="total",
        file="src/shop/cart.py",
        line=line,
    )
    report = with_findings(replace(RED, evidence=(empty,)))
    assert [*report.causes[0].findings] == [empty] * is_there
    text = compose(report, DEFAULT_SECTIONS, budget=2_000)
    assert ("`total` at `src/shop/cart.py:10`: `the body is empty`" in text) == is_there
    assert ("## Other findings" in text) != is_there
