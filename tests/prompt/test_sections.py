import re
from dataclasses import replace

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from records import (
    SRC,
    TEST,
    failure,
    frame,
    hostile,
    in_test,
    known,
    observed,
    origin,
    progress,
    raised,
    source,
    verdict,
)

from loop_close.calls import Called, Calls
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.judge import report_of
from loop_close.memory import Step
from loop_close.model import Counts, Evidence, OtherRun, Provenance, SourceResult, Suspect, Warned
from loop_close.prompt.block import LEGEND
from loop_close.prompt.compose import estimate_tokens
from loop_close.prompt.sections import DEFAULT_SECTIONS, MAX_BLOCKS, built_in, in_numbers, root_causes

BY_ID = {s.id: s for s in DEFAULT_SECTIONS}


def rendered(section, report, tokens=200):
    return list(BY_ID[section].render(report, tokens))


def test_ids_and_positions_are_unique_and_in_order():
    assert [s.id for s in DEFAULT_SECTIONS] == [
        *(
            "title",
            "since-green",
            "tests",
            "unedited-tests",
            "sources",
            "loop",
            "facts",
            "rejected",
            "root-causes",
            "shared",
        ),
        *("attempts", "other-findings", "known", "next-step"),
    ]
    positions = [s.position for s in DEFAULT_SECTIONS]
    assert positions == sorted(set(positions))
    assert [s.id for s in DEFAULT_SECTIONS if s.tokens == 0] == ["root-causes"]
    assert [s.title for s in DEFAULT_SECTIONS if s.title] == [
        "Tests that were changed",
        "Tests that pass without an edit of source",
        "Other agents",
        "Earlier attempts",
        "Other findings",
        "Known failures",
    ]


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
            "# 5 tests fail, 36 pass: probably cost() in src/shop/shipping.py:15",
        ),
        (
            observed(failure(raised()), counts=Counts(failed=1, passed=1)),
            [replace(COST, score=0.4)],
            "# 1 test fails, 1 passes: possibly cost() in src/shop/shipping.py:15",
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
            observed(failure(raised(), phase="setup"), counts=Counts(failed=1, errors=2)),
            [],
            "# 1 test fails, 2 errors: ValueError at src/shop/cart.py:10",
        ),
        (
            observed(failure(raised("ImportError"), TEST, "collect"), counts=Counts(errors=1), exit_code=2),
            [],
            "# 1 file cannot be collected: ImportError at src/shop/cart.py:10",
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
        (observed(*CHECKED[:1]), [], "# 1 mypy error: `mypy x` at a.py:3"),
        (observed(*CHECKED), [], "# 2 mypy errors: 2 root causes, first `mypy x` at a.py:3"),
        (
            observed(
                failure(raised()),
                failure(raised("E", frames=[frame("b.py")]), "t.py::b"),
                counts=Counts(failed=2),
            ),
            [COST],
            "# 2 tests fail: 2 root causes, first probably cost() in src/shop/shipping.py:15",
        ),
        (
            observed(
                failure(raised()),
                failure(raised("E", frames=[frame("b.py")]), "t.py::b"),
                counts=Counts(failed=2),
            ),
            [replace(COST, score=0.2)],
            "# 2 tests fail: 2 root causes, the first with no clear place, at best cost() in src/shop/shipping.py:15",
        ),
        (observed(failure(None, "", "session"), exit_code=3), [], "# 1 internal error (exit 3)"),
    ],
)
def test_a_red_title_says_what_fails_and_where_to_look_first(sample, suspects, expected):
    assert rendered("title", suspected(report_of(sample), *suspects)) == [expected]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (0.6, COST, "2 kinds of failure, all probably cost() in"),
        (0.4, COST, "2 root causes, first possibly cost() in"),
        (0.6, replace(COST, function="tax"), "2 root causes, first probably cost() in"),
        (0.6, replace(COST, line=40), "2 root causes, first probably cost() in"),
        (0.6, replace(COST, constant="RATES"), "2 root causes, first probably cost() in"),
        (0.6, replace(COST, score=0.3), "2 root causes, first probably cost() in"),
        (0.6, None, "2 root causes, first probably cost() in"),
    ],
)
def test_failures_of_two_kinds_in_one_place_are_probably_one_fault(first, second, words):
    found = [failure(raised()), failure(raised("E", frames=[frame("b.py")]), "t.py::b")]
    report = report_of(observed(*found, counts=Counts(failed=2)))
    suspects = [(replace(COST, score=first),), (second,) if second else ()]
    causes = [replace(each, suspects=of) for each, of in zip(report.causes, suspects, strict=True)]
    (shown,) = rendered("title", replace(report, causes=tuple(causes)))
    assert shown == f"# 2 tests fail: {words} src/shop/shipping.py:15"


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (observed(exit_code=0, counts=Counts(passed=1)), "# The tests pass: 1 passed"),
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
    (line,) = rendered("title", report_of(observed(exit_code=None, expects_tests=False, rerun=())))
    assert line.endswith("(exit code unknown)")
    assert "no-patterns" not in line


def test_a_title_has_one_line_whatever_a_detector_calls_itself():
    def detect(observation):
        return [Evidence(kind="a\n# b", snippet="x", failure=f) for f in observation.failures]

    custom = Detector(
        id="x", kind="a\n# b", label="thing\n# c", priority=1, description="d", hint="h", detect=detect
    )
    report = report_of(observed(failure(raised())), detectors=[*DEFAULT_DETECTORS, custom])
    (line,) = built_in((*DEFAULT_DETECTORS, custom))[0].render(report, 80)
    assert "\n" not in line


@given(hostile, hostile, hostile)
def test_hostile_names_are_code_in_the_title(file, function, type):
    for suspects in ([replace(COST, file=file, function=function)], []):
        found = failure(raised(type, frames=[frame(file, function)]))
        report = suspected(report_of(observed(found, counts=Counts(failed=1))), *suspects)
        (line,) = rendered("title", report)
        tokens = MarkdownIt("commonmark").parse(f"{line}\n\nend\n")
        assert [t.tag for t in tokens if t.nesting == 1] == ["h1", "p"]
        assert {c.type for t in tokens for c in t.children or ()} <= {"text", "code_inline"}


def test_the_words_of_the_title_are_those_of_the_terminal():
    assert in_numbers(report_of(observed(failure(raised()), counts=Counts(failed=2, passed=1)))) == (
        "2 tests fail, 1 passes"
    )


# What to know of the run

NO_CALLS = {"why_no_calls": "Python 3.11 has no sys.monitoring"}
SAID_NO_CALLS = "Call data is missing or partial: `Python 3.11 has no sys.monitoring`."


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (observed(exit_code=0, counts=Counts(passed=3)), []),
        (observed(failure(raised())), []),
        (
            observed(incomplete="stopping after 1 failures", counts=Counts(passed=1, not_run=1)),
            ["This run is incomplete (`stopping after 1 failures`): 1 test did not run."],
        ),
        (
            observed(incomplete="x`\n# y", counts=Counts(not_run=7)),
            ["This run is incomplete (``x` # y``): 7 tests did not run."],
        ),
        (observed(incomplete="x"), ["This run is incomplete (`x`)."]),
        (observed(failure(raised()), **NO_CALLS), [SAID_NO_CALLS]),
        (observed(exit_code=5, **NO_CALLS), []),
        (observed(exit_code=5, asks_for_calls=True, **NO_CALLS), [SAID_NO_CALLS]),
        (
            observed(failure(raised()), calls=Calls(failed={"a": (), "b": ()}, omitted=3)),
            ["Calls were recorded in 2 of 5 failing tests."],
        ),
        (observed(failure(raised()), calls=Calls(failed={"a": ()})), []),
        (
            observed(failure(raised()), calls=Calls(failed=dict.fromkeys("abcdefgh", ()), omitted=1)),
            ["Calls were recorded in 8 of 9 failing tests."],
        ),
        (observed(failure(raised()), calls=Calls(failed=dict.fromkeys("abcdefghi", ()), omitted=1)), []),
        (
            observed(expects_tests=False, rerun=()),
            ["The output matches no known pattern. Read the log, starting at the end."],
        ),
        (observed(exit_code=0, expects_tests=False, rerun=()), ["The output shows no failure: proceed."]),
    ],
)
def test_what_to_know_of_the_run(sample, expected):
    assert rendered("facts", report_of(sample)) == expected


@pytest.mark.parametrize(("score", "is_said"), [(0.4, True), (0.6, False)])
@pytest.mark.parametrize("omitted", [0, 1])
def test_tests_that_were_passed_over_are_counted_where_no_suspect_is_probable(score, is_said, omitted):
    calls = Calls(failed={"a": ()}, passed=7, passed_over=3, omitted=omitted)
    report = suspected(
        report_of(observed(failure(raised()), calls=calls)),
        Suspect(file="a.py", line=1, function="f", score=score),
    )
    tests = f"only 1 of {1 + omitted} failing tests" if omitted else "the failing test"
    said = f"To save time, lines were recorded in {tests} and 7 passing ones."
    if omitted:
        said += " The command below records all failing tests."
    is_said |= bool(omitted)  # a suspect may then be that of other tests
    assert rendered("facts", report) == [f"{said} `--loop-close-suspects on` records all."] * is_said


def test_failing_tests_that_were_passed_over_are_recorded_by_the_next_command():
    calls = Calls(passed=1234, passed_over=3, omitted=1)
    said = "To save time, lines were recorded in 1,234 passing tests and not in the failing test."
    more = "The command below records it, so that the next prompt names suspects."
    assert rendered("facts", report_of(observed(failure(raised()), calls=calls))) == [f"{said} {more}"]


def test_that_calls_are_not_known_is_said_once_in_a_loop():
    report = report_of(observed(failure(raised()), **NO_CALLS))
    first = replace(report, progress=progress(Step(run=4, unresolved=1)))
    later = replace(report, progress=progress(Step(run=4, unresolved=1), Step(run=5, unresolved=1)))
    assert rendered("facts", first) == [SAID_NO_CALLS]
    assert rendered("facts", later) == []


def test_other_sources_and_the_history_have_their_lines():
    report = replace(
        report_of(observed(failure(raised()))),
        others=(
            OtherRun(source="mypy", run=3, verdict="stuck", is_current=True),
            OtherRun(source="a`\nb", run=1, verdict="first-failure", is_current=True),
            OtherRun(source="ruff", run=2, verdict="error", is_current=False),
            OtherRun(source="ty", run=9, verdict="green", is_current=True),
            OtherRun(
                source="merge",
                run=2,
                verdict="error",
                is_current=False,
                left=(("a`b", "not run here since", ""),),
            ),
        ),
        notes=("the history `x` is broken\n# h",),
    )
    assert rendered("facts", report) == [
        "Not green in the merged reports: ``a`b`` (not run here since).",
        "Not green on the same files: `mypy` (stuck in its run 3), ``a` b`` (first-failure in its run 1).",
        "Not green, and not run on these files: `ruff` (error in its run 2).",
        "Note: ``the history `x` is broken # h``",
    ]


@pytest.mark.parametrize(
    ("expects_tests", "current", "is_said"),
    [(False, False, True), (False, True, False), (True, False, False)],
)
def test_that_tests_have_to_run_is_said_by_runs_of_other_tools(expects_tests, current, is_said):
    others = tuple(
        OtherRun(source=name, run=1, verdict="green", is_current=is_current)
        for name, is_current in (("pytest:py311", False), ("pytest:py312", current), ("mypy", False))
    )
    seen = observed(exit_code=0, source="ruff", expects_tests=expects_tests, rerun=())
    report = replace(report_of(seen), others=others)
    said = "The tests have not run since the last edit: `pytest:py311`, `pytest:py312`."
    assert (said in rendered("facts", report)) is is_said


# Other findings


def test_other_findings():
    todo = raised(
        frames=[in_test(), frame(source=source("# TODO: one", "# TODO: two", "# TODO: three", start=8))]
    )
    warning = Warned(
        category="RuntimeWarning", message="coroutine 'f' was never awaited", file="src/a.py", line=3
    )
    empty = verdict(origin("sum_up", is_empty=True))
    report = report_of(observed(failure(todo), failure(empty, f"{TEST}::b"), warnings=(warning,)))
    assert rendered("other-findings", report) == [
        "- 1 warning: `coroutine 'f' was never awaited` at `src/a.py:3`",
        f"- 1 function without a body: `sum_up` at `{SRC}:8`",
        f"- 3 TODO comments: `# TODO: one` at `{SRC}:8`; `# TODO: two` at `{SRC}:9`; …",
    ]
    assert rendered("other-findings", report_of(observed(failure(raised())))) == []


def test_equal_warnings_are_shown_once():
    message = "coroutine 'f' was never awaited"
    warnings = [
        Warned(category="RuntimeWarning", message=message, nodeid=nodeid, file="src/a.py", line=3)
        for nodeid in ("a", "b")
    ]
    thread = Warned(category="PytestUnhandledThreadExceptionWarning", message="in Thread-1")
    report = report_of(observed(failure(raised()), warnings=(*warnings, thread)))
    assert rendered("other-findings", report) == [
        "- 1 unhandled exception outside of a test, 2 warnings: "
        "`in Thread-1`; `coroutine 'f' was never awaited` at `src/a.py:3`"
    ]


def test_faults_of_extensions_are_signals():
    report = report_of(observed(failure(raised())), faults=["it broke"])
    assert rendered("other-findings", report) == ["- 1 failed extension: `it broke`"]


# The command


def test_the_command_that_runs_what_failed():
    assert rendered("next-step", report_of(observed(exit_code=0, counts=Counts(passed=1)))) == []
    assert rendered("next-step", report_of(observed(failure(raised(), "t.py::a")))) == [
        "Rerun just the failing tests: `pytest --loop-close t.py::a`"
    ]
    assert rendered("next-step", report_of(observed(exit_code=5))) == [
        "Rerun the tests: `pytest --loop-close`"
    ]
    checked = observed(*CHECKED, expects_tests=False, rerun=("mypy", "src"))
    assert rendered("next-step", report_of(checked)) == ["Rerun the same command: `mypy src`"]


def test_a_command_that_is_long_or_has_backticks_or_several_lines_has_a_block_of_its_own():
    def command(*words):
        return rendered("next-step", report_of(observed(*CHECKED, expects_tests=False, rerun=words)))

    words = "Rerun the same command:"
    assert command("mypy", "x" * 195) == [f"{words} `mypy {'x' * 195}`"]
    assert command("mypy", "x" * 196) == [words, "```sh", f"mypy {'x' * 196}", "```"]
    assert command("mypy", "a`b") == [words, "```sh", "mypy 'a`b'", "```"]
    assert command("mypy", "```") == [words, "````sh", "mypy '```'", "````"]
    assert command("mypy", "two  spaces") == [words, "```sh", "mypy 'two  spaces'", "```"]
    sources = [
        SourceResult(source=name, verdict="stuck", observation=observed(*CHECKED, rerun=(name, "src")))
        for name in ("mypy", "ty")
    ]
    of_one, of_both = (
        rendered("next-step", replace(report_of(observed(*CHECKED)), sources=tuple(sources[:number])))
        for number in (1, 2)
    )
    assert of_one == ["Rerun what fails: `mypy src`"]
    assert of_both == ["Rerun what fails:", "```sh", "mypy src", "ty src", "```"]


def test_the_root_is_named_where_it_is_not_the_folder_of_the_command_or_above():
    beside = observed(failure(raised(), "t.py::a"), root="../con`fig")
    assert rendered("next-step", report_of(beside)) == [
        "Rerun just the failing tests, from the root, ``../con`fig``: `pytest --loop-close t.py::a`"
    ]


def test_where_no_command_is_known():
    assert rendered("next-step", report_of(observed(failure(raised()), rerun=()))) == [
        "Run the failing command again to verify the fix."
    ]
    assert rendered("next-step", report_of(observed(rerun=()))) == []


def test_what_is_red_and_did_not_run_on_these_files_has_its_commands():
    def other(name, **fields):
        made = Provenance(runner="tox", environment=name)
        seen = observed(
            exit_code=1, provenance=made, rerun=("tox", "-e", name, "--loop-close"), failed_option=""
        )
        return OtherRun(
            source=f"tox:{name}", run=1, verdict="error", is_current=False, **{"observation": seen, **fields}
        )

    left = (("a", "not run here since", "pytest --loop-close"), ("b", "it is of x", ""))
    others = (other("lint"), other("types"), other("merge", observation=None, left=left))
    said = [
        "Rerun what is not green and did not run on these files:",
        "```sh",
        "tox -e lint,types --loop-close",
        "pytest --loop-close",
        "```",
    ]
    green = replace(report_of(observed(exit_code=0, counts=Counts(passed=2))), others=others)
    assert rendered("next-step", green) == said
    red = replace(report_of(observed(failure(raised()))), others=others)
    own, blank, *rest = rendered("next-step", red)
    assert own.startswith("Rerun just the failing tests: ")
    assert (blank, rest) == ("", said)


def test_tests_that_failed_before_and_did_not_run_are_the_ones_to_run():
    loop = progress(Step(run=4, unresolved=1), Step(run=5, unresolved=1), not_run=("t.py::a",))
    report = replace(
        report_of(observed(exit_code=0, counts=Counts(passed=2))), verdict="no-progress", progress=loop
    )
    assert rendered("next-step", report) == [
        "Run the tests that failed before and did not run now: `pytest --loop-close t.py::a`"
    ]


@pytest.mark.parametrize("shard", [(), ("--splits=2", "--group", "1")])
def test_after_a_green_subset_the_others_are_to_be_run(shard):
    loop = progress(Step(run=4, unresolved=1), Step(run=5, is_full=False), tests=[known(status="passed")])
    seen = observed(exit_code=0, counts=Counts(passed=2), rerun=("pytest", "--loop-close", *shard))
    report = replace(report_of(seen), progress=loop)
    assert rendered("next-step", report) == [
        "The other tests did not run. All of them: `pytest --loop-close`"
    ]
    skipped = replace(report, observation=replace(seen, skipped="no python3.8"))
    assert rendered("next-step", skipped) == [], "an environment that is skipped has none"


# Root causes within what they may cost


def many(number, message="no price"):
    found = (raised(f"E{n}", f"{message} {n}", [frame(f"src/{n}.py", f"f{n}")]) for n in range(number))
    return report_of(observed(*(failure(exc, f"t.py::{n}") for n, exc in enumerate(found))))


def blocks(report, tokens):
    return list(root_causes(report, tokens, {}))


def headings(lines):
    return [line for line in lines if line.startswith("## ")]


def test_no_causes_are_nothing():
    assert blocks(report_of(observed()), 1000) == []


def test_a_single_cause_has_no_heading():
    assert headings(blocks(many(1), 1000)) == []
    assert len(headings(blocks(many(2), 1000))) == 2


@pytest.mark.parametrize("tokens", [0, 50, 200, 1000, 5000])
@pytest.mark.parametrize("number", [2, 30, 300])
def test_causes_cost_what_they_may(number, tokens):
    made = blocks(many(number), tokens)
    shown = [line for line in made if re.match(r"(?:## )?\d+\. ", line)]
    assert shown[0].startswith("## 1. ")
    assert len(headings(shown)) == min(len(shown), MAX_BLOCKS)
    assert len(shown) == 1 or estimate_tokens("\n".join(made)) <= tokens
    left = number - len(shown)
    if left:
        assert made[-1] == f"… and {left} more root cause{'s' * (left != 1)}, left out to keep the budget."
    else:
        assert "left out" not in made[-1]


def test_every_cause_is_named_before_one_gets_more():
    short = blocks(many(20, "a rather long message about the price of something " * 3), 1400)
    assert len(headings(short)) == MAX_BLOCKS
    assert "10 more, in a line each:" in short
    assert [line[:4] for line in short[-10:]] == [f"{n}. " for n in range(11, 21)]


def test_the_first_cause_gets_the_most():
    body = tuple(f"    line_{n} = {n}" for n in range(30))
    found = []
    for n in range(8):
        at = frame(f"src/{n}.py", f"f{n}", 9, source=source(f"def f{n}():", *body, start=8))
        found.append(failure(raised(f"E{n}", f"no {n}", frames=[at]), f"t.py::{n}"))
    text = "\n".join(blocks(report_of(observed(*found)), 1100))
    first, *rest = text.split("\n## ")
    assert first.count("line_") > max(part.count("line_") for part in rest)
    assert any(part.count("line_") > 3 for part in rest)


def two_of_one_place():
    body = source("def total():", "    a = 1", "    return a", start=8)
    suspect = Suspect(file=SRC, line=8, end_line=10, function="total", score=0.6, failed=(1, 1), source=body)
    calls = Calls(
        functions=(Called(file=SRC, line=8, end_line=10, function="total"),),
        failed={f"t.py::{n}": ((0, 10),) for n in range(2)},
    )
    other = replace(suspect, file="b.py")
    report = replace(many(3), observation=replace(many(3).observation, calls=calls))
    causes = [
        replace(c, suspects=(s,)) for c, s in zip(report.causes, (suspect, suspect, other), strict=True)
    ]
    return replace(report, causes=tuple(causes))


def test_a_source_is_shown_once():
    lines = blocks(two_of_one_place(), 2000)
    assert len([line for line in lines if "def total" in line]) == 2  # that of b.py is another one


def test_marks_are_explained_once():
    lines = blocks(two_of_one_place(), 2000)
    assert lines.count(LEGEND) == 1


def test_more_room_never_says_less():
    sizes = [len("\n".join(blocks(many(6), tokens))) for tokens in range(50, 1500, 50)]
    assert sizes == sorted(sizes)


def test_advice_of_a_detector_of_others_is_given_with_its_label():
    def detect(observation):
        return [Evidence(kind="quota", snippet="x", failure=f) for f in observation.failures]

    custom = Detector(
        id="quota",
        kind="quota",
        label="quota exceeded",
        priority=1,
        description="d",
        hint="Buy\nmore.",
        detect=detect,
    )
    report = report_of(observed(failure(raised())), detectors=[*DEFAULT_DETECTORS, custom])
    section = next(s for s in built_in((*DEFAULT_DETECTORS, custom)) if s.id == "root-causes")
    assert "1 quota exceeded: Buy more." in list(section.render(report, 1000))


def test_general_advice_is_left_out_where_the_failure_says_it_all():
    hints = {d.kind: d.hint for d in DEFAULT_DETECTORS}
    lines = "\n".join(rendered("root-causes", report_of(observed(failure(raised()))), 2000))
    assert hints["test-failure"] not in lines
    crashed = report_of(observed(failure(raised())))
    crashed = replace(crashed, causes=(replace(crashed.causes[0], kind="crash"),))
    assert "look at C extensions" in "\n".join(rendered("root-causes", crashed, 2000))
