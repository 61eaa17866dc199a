import re

import pytest
from hypothesis import given
from loops import edited, loop, step
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records import (
    SRC,
    TEST,
    failure,
    frame,
    hostile,
    in_test,
    observed,
    origin,
    raised,
    source,
    verdict,
)

from loop_close.calls import Calls
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.judge import report_of
from loop_close.model import Counts, Evidence, Suspect, Warned
from loop_close.prompt.cause import MAX_BLOCKS, root_causes
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS, built_in, in_short
from loop_close.records import State

BY_ID = {s.id: s for s in DEFAULT_SECTIONS}


def rendered(section, report):
    return [line for line in BY_ID[section].render(report) if line]


# The title

COST = Suspect(file="src/shop/shipping.py", line=15, function="cost", score=0.62)


def suspected(report, *suspects):
    """The report with suspects of the first root cause only."""
    first, *others = report.causes
    others = (replace(cause, suspects=()) for cause in others)
    return replace(report, causes=(replace(first, suspects=suspects), *others))


CHECKED = [
    failure(None, "", "check", tool="mypy", code="x", file="a.py", line=n, message=f"bad {n}") for n in (3, 4)
]


@pytest.mark.parametrize(
    ("sample", "suspects", "expected"),
    [
        (
            observed(failure(raised()), counts=Counts(failed=5, passed=36)),
            [COST],
            "# 5 tests fail, 36 pass: cost() in src/shop/shipping.py:15 (62 % probable)",
        ),
        (
            observed(failure(raised()), counts=Counts(failed=1234, passed=15678)),
            [],
            "# 1,234 tests fail, 15,678 pass: ValueError at src/shop/cart.py:10",
        ),
        (
            observed(failure(raised(), phase="setup"), counts=Counts(errors=1)),
            [],
            "# 1 error: ValueError at src/shop/cart.py:10",
        ),
        (
            observed(
                failure(raised("ImportError"), TEST, "collect"),
                failure(raised("ImportError"), "tests/b.py", "collect"),
                counts=Counts(errors=3, passed=2),
            ),
            [],
            "# 2 files cannot be collected, 1 error, 2 pass: ImportError at src/shop/cart.py:10",
        ),
        (observed(*CHECKED), [], "# 2 mypy errors: 2 root causes, first `mypy x` at a.py:3"),
        (
            observed(
                failure(raised()),
                failure(raised("E", frames=[frame("b.py")]), "t.py::b"),
                counts=Counts(failed=2),
            ),
            [COST],
            "# 2 tests fail: 2 root causes, first cost() in src/shop/shipping.py:15 (62 % probable)",
        ),
        (observed(failure(None, "", "session"), exit_code=3), [], "# 1 internal error (exit 3)"),
    ],
)
def test_a_red_title_says_what_fails_and_where_to_look_first(sample, suspects, expected):
    assert rendered("title", suspected(report_of(sample), *suspects)) == [expected]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (
            observed(exit_code=0, counts=Counts(passed=1200, skipped=2, xfailed=1, xpassed=3)),
            "# The tests pass: 1,200 passed, 2 skipped, 1 xfailed, 3 xpassed",
        ),
        (observed(exit_code=0, expects_tests=False), "# No failure (exit 0)"),
        (observed(exit_code=5), "# No tests collected (exit 5)"),
        (observed(exit_code=0), "# No test ran (exit 0)"),
    ],
)
def test_a_title_where_nothing_failed(sample, expected):
    assert rendered("title", report_of(sample)) == [expected]


def test_where_nothing_is_known_the_title_says_so():
    (line,) = rendered("title", report_of(observed(exit_code=None, expects_tests=False, rerun="")))
    assert line.endswith("(exit code unknown)")
    assert "no-patterns" not in line


@given(hostile, hostile, hostile)
def test_hostile_names_are_code_in_the_title(file, function, type):
    for suspects in ([replace(COST, file=file, function=function)], []):
        found = failure(raised(type, frames=[frame(file, function)]))
        report = suspected(report_of(observed(found, counts=Counts(failed=1))), *suspects)
        (line,) = rendered("title", report)
        tokens = MarkdownIt("commonmark").parse(f"{line}\n\nend\n")
        assert [t.tag for t in tokens if t.nesting == 1] == ["h1", "p"]
        assert {c.type for t in tokens for c in t.children or ()} <= {"text", "code_inline"}


# What to know of the run

NO_CALLS = {"why_no_calls": "Python 3.11 has no sys.monitoring"}
SAID_NO_CALLS = "Lines that tests ran are not known: `Python 3.11 has no sys.monitoring`."


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (observed(failure(raised())), []),
        (
            observed(incomplete="x`\n# y", counts=Counts(not_run=7)),
            ["This run is incomplete (``x` # y``): 7 tests did not run."],
        ),
        (observed(failure(raised()), **NO_CALLS), [SAID_NO_CALLS]),
        (
            observed(expects_tests=False, rerun=""),
            ["The output matches no known pattern. Read the log, starting at the end."],
        ),
        (observed(exit_code=0, expects_tests=False, rerun=""), ["The output shows no failure: proceed."]),
    ],
)
def test_what_to_know_of_the_run(sample, expected):
    assert rendered("facts", report_of(sample)) == expected


@pytest.mark.parametrize(
    ("calls", "tests"),
    [
        (Calls(failed={"a": (), "b": ()}, omitted=3), "2 of 5 failing and 0 passing tests; `x`"),
        (Calls(failed={"a": ()}, passed=7), ""),
    ],
)
def test_in_how_many_tests_lines_were_recorded_is_said_where_it_was_not_in_all(calls, tests):
    report = report_of(observed(failure(raised()), calls=calls, why_no_calls="x"))
    said = f"Lines were recorded in {tests}."
    assert rendered("facts", report) == [said] * bool(tests)


# Other findings


def test_other_findings():
    todo = raised(
        frames=[in_test(), frame(source=source("# TODO: one", "# TODO: two", "# TODO: three", start=8))]
    )
    warning = Warned(
        category="RuntimeWarning", message="coroutine 'f' was never awaited", file="src/a.py", line=3
    )
    thread = Warned(category="PytestUnhandledThreadExceptionWarning", message="in Thread-1")
    empty = verdict(origin("sum_up", is_empty=True))
    warnings = (warning, warning, thread)  # equal ones are shown once
    report = report_of(observed(failure(todo), failure(empty, f"{TEST}::b"), warnings=warnings))
    assert rendered("other-findings", report) == [
        "- 3 asynchronous faults: `in Thread-1`; `coroutine 'f' was never awaited` at `src/a.py:3`",
        f"- 1 empty function: `sum_up` at `{SRC}:8`",
    ]
    assert rendered("other-findings", replace(report, causes=()))[2] == (
        f"- 3 TODO comments: `# TODO: one` at `{SRC}:8`; `# TODO: two` at `{SRC}:9`; …"
    )
    assert rendered("other-findings", report_of(observed(failure(raised())))) == []


# The command

NO_RESULT = State(verdict="unknown", reason="No result on these files: tests.", command="loop-close check")
GREEN = report_of(observed(exit_code=0, counts=Counts(passed=1)))
RED = report_of(observed(failure(raised(), "t.py::a")))
RERUN = "Rerun just the failing tests: `pytest --loop-close-failed`"
CHECK = "Whether the work is done: `loop-close check`"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (GREEN, []),
        (replace(GREEN, state=NO_RESULT), [f"No result on these files: tests. {CHECK}"]),
        (RED, [RERUN]),
        (replace(RED, state=NO_RESULT), [RERUN, CHECK]),
        (
            report_of(observed(failure(raised()), rerun="")),
            ["Run the failing command again to verify the fix."],
        ),
        (replace(report_of(observed(*CHECKED, rerun="")), state=NO_RESULT), [CHECK]),
        (
            report_of(observed(exit_code=0, counts=Counts(passed=1), scope="-k a")),
            ["This run chose its tests: `-k a`."],
        ),
    ],
)
def test_the_commands(report, expected):
    assert rendered("next-step", report) == expected


# In one line of the terminal


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (GREEN, "1 passed"),
        (
            replace(RED, loop=loop(step(1), step(2, edits=edited()), stalled=1, best=1)),
            "1 test failure; look first at src/shop/cart.py:10 total() (76 %); run 2: 1 attempt did not advance;"
            " tests failing after: 1",
        ),
    ],
)
def test_in_short(report, expected):
    assert in_short(report) == expected


# Root causes


def many(number, message="no price"):
    found = (raised(f"E{n}", f"{message} {n}", [frame(f"src/{n}.py", f"f{n}")]) for n in range(number))
    return report_of(observed(*(failure(exc, f"t.py::{n}") for n, exc in enumerate(found))))


def lines_of(report, advisers=None):
    return [line for each in root_causes(report, advisers or {}) for line in each.lines]


def headings(lines):
    return [line for line in lines if line.startswith("## ")]


def test_a_single_cause_has_no_heading():
    assert headings(lines_of(many(1))) == []
    assert len(headings(lines_of(many(2)))) == 2


@pytest.mark.parametrize("number", [10, 30])
def test_beyond_ten_a_root_cause_has_a_line(number):
    made = lines_of(many(number))
    assert len(headings(made)) == min(number, MAX_BLOCKS)
    brief = [line for line in made if re.match(r"\d+\. ", line)]
    assert [int(line.split(".")[0]) for line in brief] == [*range(MAX_BLOCKS + 1, number + 1)]
    assert (f"{number - MAX_BLOCKS} more, in a line each:" in made) == bool(brief)


def test_a_source_is_shown_once_and_the_others_name_its_section():
    body = source("def total():", "    a = 1", "    return a", start=8)
    suspect = Suspect(file=SRC, line=8, end_line=10, function="total", score=0.6, failed=(1, 1))
    report = many(3)
    places = (suspect, replace(suspect, score=0.4), replace(suspect, file="b.py"))
    causes = [replace(c, suspects=(s,), excerpts=(body,)) for c, s in zip(report.causes, places, strict=True)]
    lines = lines_of(replace(report, causes=tuple(causes)))
    assert len([line for line in lines if "def total" in line]) == 2  # that of b.py is another one
    assert lines.count("The source is in section 1.") == 1


@pytest.mark.parametrize(("kind", "label"), [("quota", "quota exceeded"), ("a\n# b", "quota\n# exceeded")])
def test_a_detector_of_others_has_its_label_in_one_line_and_its_advice(kind, label):
    def detect(observation):
        return [Evidence(kind=kind, snippet="x", failure=f) for f in observation.failures]

    custom = Detector(
        id="quota", kind=kind, label=label, priority=1, description="d", hint="Buy\nmore.", detect=detect
    )
    report = report_of(observed(failure(raised())), detectors=[*DEFAULT_DETECTORS, custom])
    text = compose(report, built_in((*DEFAULT_DETECTORS, custom)), budget=1000)
    assert f"\n1 {' '.join(label.split())}: Buy more.\n" in text
    assert [line for line in text.split("\n") if line.startswith("#")] == text.split("\n")[:1]
