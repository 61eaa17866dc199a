"""What only the environments run in which a test fails is the likelier place of the fault."""

import ast
from dataclasses import replace

import pytest
from called import called, calls
from hypothesis import given
from hypothesis import strategies as st
from records import failure, in_test, raised

from loop_close.matrix import _holds, narrowed
from loop_close.model import Evidence, Observation, Provenance, Report, RootCause, SourceResult, Suspect
from loop_close.syntax import index_source

TEST = "tests/test_pkg.py::test_it"
CODE = """import sys


def old(text):
    if sys.version_info < (3, 12):
        return text[-1]
    return text[0]


def plain(text):
    return text
"""


def made(version, platform="linux"):
    return Provenance(interpreter=f"cpython-{version}", platform=platform)


def source(version, *, fails, ran=None, **fields):
    broken = (failure(raised("ValueError", "bad", [in_test("test_it")]), nodeid=TEST),)
    return SourceResult(
        source=f"pytest:py{version}",
        verdict="first-failure" if fails else "green",
        causes=("c",) if fails else (),
        observation=Observation(
            provenance=made(version), tests=(TEST,), failures=broken if fails else (), calls=ran, **fields
        ),
    )


def report(*sources, suspects=(("old", 0.3), ("plain", 0.4))):
    found = failure(raised("ValueError", "bad", [in_test("test_it")]), nodeid=TEST)
    cause = RootCause(
        id="c",
        kind="test-failure",
        evidence=(Evidence(kind="test-failure", snippet="", failure=found),),
        suspects=tuple(
            Suspect(file="pkg.py", line=0, function=name, score=score) for name, score in suspects
        ),
    )
    return Report(
        observation=Observation(), verdict="first-failure", stall_reason="", causes=(cause,), sources=sources
    )


def suspects(found):
    return [(each.function, each.reasons) for each in found.causes[0].suspects]


def index_of(file):
    return index_source(CODE) if file == "pkg.py" else None


def test_a_branch_that_only_the_failing_interpreter_takes_comes_first():
    found = narrowed(report(source("3.11", fails=True), source("3.12", fails=False)), index_of)
    assert suspects(found) == [
        ("old", ("the condition in line 5 is True only where it fails",)),
        ("plain", ()),
    ]
    scores = [each.score for each in found.causes[0].suspects]
    # odds of 0.3 to 0.7, ten times as high
    assert scores[0] == pytest.approx(3 / 3.7)
    assert sum(scores) <= 1


CALLERS = """

def caller(text):
    return [old(each) for each in text]


def other(text):
    return len(text)
"""


@pytest.mark.parametrize(
    ("function", "fails_too", "is_one"),
    [("caller", False, True), ("other", False, False), ("caller", True, False)],
)
def test_a_caller_of_what_differs_fails_for_it(function, fails_too, is_one):
    """Where it fails calls are not known, so that they were two root causes."""
    found = report(source("3.11", fails=True), source("3.12", fails=False), suspects=(("old", 0.3),))
    (cause,) = found.causes
    second = "tests/test_pkg.py::test_caller"
    broken = failure(raised("ValueError", "bad", [in_test("test_caller")]), nodeid=second)
    suspect = Suspect(file="pkg.py", line=0, function=function, score=0.2)
    guest = replace(
        cause, id="g", suspects=(suspect,), evidence=(replace(cause.evidence[0], failure=broken),)
    )
    sources = [
        replace(
            each,
            causes=(*each.causes, *(["g"] if each.causes or fails_too else [])),
            observation=replace(
                each.observation,
                tests=(TEST, second),
                failures=(*each.observation.failures, *([broken] if each.causes or fails_too else [])),
            ),
        )
        for each in found.sources
    ]
    found = replace(found, causes=(cause, guest), sources=tuple(sources))
    made = narrowed(found, lambda file: index_source(CODE + CALLERS))
    assert [each.id for each in made.causes] == (["c"] if is_one else ["c", "g"])
    if is_one:
        assert [each.failure.nodeid for each in made.causes[0].evidence] == [TEST, second]
        assert [each.causes for each in made.sources] == [("c",), ()]


@pytest.mark.parametrize(
    "sources",
    [
        (source("3.11", fails=True),),
        (source("3.11", fails=True), source("3.12", fails=True)),
        (source("3.12", fails=True), source("3.13", fails=False)),  # neither takes it
        (source("3.11", fails=True), source("3.12", fails=False, spared=(TEST,))),  # it was skipped there
    ],
)
def test_without_a_difference_nothing_is_weighed(sources):
    before = report(*sources)
    assert narrowed(before, index_of) == before


def test_lines_that_only_the_failing_environment_runs_come_first():
    here = calls(called("plain", 9, file="pkg.py"), called("hidden", 20, file="pkg.py"))
    here = here._replace(failed={TEST: ((0, 10), (1, 21))})
    there = calls(called("plain", 9, file="pkg.py", passed=1, lines={1: 1}), passed=1)
    found = narrowed(
        report(source("3.12", fails=True, ran=here), source("3.13", fails=False, ran=there)), index_of
    )
    assert ("hidden", ("line 21 runs only where it fails",)) in suspects(found)
    assert found.causes[0].suspects[0].function == "hidden"


def test_calls_that_are_not_all_known_tell_nothing():
    here = calls(called("plain", 9, file="pkg.py"))._replace(failed={TEST: ((0, 10),)})
    there = calls(passed=1)._replace(passed_over=3)
    before = report(source("3.12", fails=True, ran=here), source("3.13", fails=False, ran=there))
    assert narrowed(before, lambda file: None) == before


@pytest.mark.parametrize(
    ("condition", "version", "platform", "holds"),
    [
        ("sys.version_info >= (3, 12)", "3.12", "linux", True),
        ("sys.version_info >= (3, 12)", "3.11", "linux", False),
        ("sys.version_info < (3, 12)", "3.12", "linux", False),
        ("sys.version_info > (3, 12)", "3.12", "linux", True),  # so it is of 3.12.0 as well
        ("sys.version_info == (3, 12)", "3.12", "linux", False),
        ("sys.version_info >= (3, 12, 1)", "3.12", "linux", None),
        ("(3, 12, 1) > sys.version_info", "3.12", "linux", None),
        ("sys.version_info >= (3, 12, 1)", "3.11", "linux", False),
        ("sys.version_info >= (3, 'x')", "3.12", "linux", None),
        ("platform == 'linux'", "3.12", "linux", None),  # whatever that name means
        ("sys.version_info > (3, 12)", "3.13", "linux", True),
        ("sys.version_info[:2] == (3, 11)", "3.11", "linux", True),
        ("sys.version_info[1] < 12", "3.11", "linux", True),
        ("sys.version_info.minor != 12", "3.12", "linux", False),
        ("sys.platform == 'win32'", "3.12", "linux", False),
        ("sys.platform.startswith('win')", "3.12", "win32", True),
        ("not sys.platform == 'win32'", "3.12", "win32", False),
        ("sys.implementation.name == 'pypy'", "3.12", "linux", False),
        ("DEBUG and sys.version_info < (3, 12)", "3.12", "linux", False),
        ("DEBUG and sys.version_info < (3, 12)", "3.11", "linux", None),
        ("DEBUG or sys.version_info < (3, 12)", "3.11", "linux", True),
        ("len(x) > 3", "3.11", "linux", None),
        ("sys.version_info >= 3", "3.11", "linux", None),
    ],
)
def test_conditions(condition, version, platform, holds):
    assert _holds(ast.parse(condition, mode="eval").body, made(version, platform)) is holds


@given(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.integers(8, 14), st.integers(8, 14))
def test_conditions_agree_with_python(operator, wanted, minor):
    text = f"sys.version_info {operator} (3, {wanted})"
    found = _holds(ast.parse(text, mode="eval").body, made(f"3.{minor}"))
    is_true = eval(text, {"sys": type("", (), {"version_info": (3, minor, 1, "final", 0)})})
    assert found is is_true
