import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import edited, edits, edits_drawn, known, loop, step
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records import SRC, any_text, failure, observed, raised, verdict

from loop_close.judge import report_of
from loop_close.prompt.loop import (
    EXPERIMENTS,
    HOW_IT_ENDS,
    attempt_lines,
    changed_tests,
    past_lines,
    since_done,
    state_lines,
)
from loop_close.records import CheckState, Edit, Edits, Objection, OldOutcome, Signal, State

RED = report_of(observed(failure(raised())))
GREEN = replace(RED, verdict="green", causes=())
FIRST = step(1, 2)
LATER = step(4, 2, is_attempt=True)


_UNKNOWN = Edits()


def in_loop(*steps, report=RED, since=_UNKNOWN, signals=(), **fields):
    return replace(report, loop=loop(*steps, **fields), since=since, signals=tuple(signals))


# What changed since it was done


def changed(*steps, base=7, **fields):
    return list(since_done(in_loop(*steps, base=base, **fields)))


SINCE = "since run 7, when no test was known to fail"


def test_without_a_loop_or_after_a_green_run_nothing_is_said_of_changes():
    assert list(since_done(RED)) == []
    assert changed(FIRST, LATER, report=GREEN, since=edited(diff="+1")) == []


def test_the_diff_since_no_test_was_known_to_fail():
    assert changed(FIRST, LATER, since=edited(diff="-a\n+b")) == [
        f"Changed {SINCE}: `total` in `src/shop/cart.py`",
        *("```diff", "@@ src/shop/cart.py total @@", "-a", "+b", "```"),
    ]


@pytest.mark.parametrize(
    ("found", "omitted", "expected"),
    [
        ([Edit(file="a.py", function="<module>"), Edit(file="b.toml")], 0, ": `a.py`, `b.toml`"),
        ([Edit(file="a.py", function="f"), Edit(file="b.md", is_effective=False)], 0, ": `f` in `a.py`"),
        ([Edit(file="data.json", change="removed")], 0, ": `data.json` (removed)"),
        ([Edit(file="a.py", function="f", change="added")], 0, ": `f` in `a.py` (added)"),
        ([Edit(file="`\n# h.py", function="\x1b[1mf")], 0, ": `f` in `` ` # h.py ``"),
        ([Edit(file="a.py", function=f"f{n}") for n in range(2)], 7, "`f1` in `a.py` and 7 more"),
        ([Edit(file="a.py", function=f"f{n}") for n in range(5)], 7, "`f2` in `a.py` and 9 more"),
    ],
)
def test_what_was_edited_is_named_and_counted(found, omitted, expected):
    (line,) = changed(FIRST, LATER, since=edits(*found, omitted=omitted))
    assert line.endswith(expected)


@given(any_text, any_text)
def test_a_diff_cannot_end_its_fence(diff, function):
    found = edits(Edit(file=SRC, function=function, diff=f"+{diff}"), Edit(file=SRC, function="g", diff="+1"))
    lines = changed(FIRST, LATER, since=found)
    tokens = MarkdownIt("commonmark").parse("\n".join(lines))
    assert {t.type for t in tokens} == {"paragraph_open", "inline", "paragraph_close", "fence"}


# The state, in one line


def state(*steps, **fields):
    return list(state_lines(in_loop(*steps, **fields)))


@pytest.mark.parametrize(
    ("last", "fields", "expected"),
    [
        (
            step(5, edits=edited(), advanced="fewest", fixed=("a", "b"), unresolved=("c",)),
            {"best": 1},
            "Run 5: 2 fixed, 1 unresolved; 1 count as failing.",
        ),
        (
            step(5, unresolved=("c",), edits=Edits(kind="none"), is_attempt=False),
            {"stalled": 1, "best": 1},
            "Run 5: 1 unresolved; 1 count as failing. 1 attempt did not advance; tests failing after: 2."
            " No file changed since the run before.",
        ),
        (
            step(5, 3, broken=("a",), changed=("b",), not_run=("c",), edits=edited()),
            {"stalled": 1, "best": 2},
            "Run 5: 1 new, 1 failing in another way, 1 not run; 3 count as failing. 1 attempt did not advance; tests"
            " failing after: 3.",
        ),
        (
            step(5, not_fixed=("a",), unresolved=("c",), edits=Edits(kind="ineffective")),
            {"stalled": 3, "best": 1},
            "Run 5: 1 unresolved, 1 stopped failing without passing; 1 count as failing. Stuck: 3 attempts in a row"
            " did not advance; tests failing after: 2, 1. Only comments, formatting, docstrings or prose changed since"
            " the run before.",
        ),
    ],
)
def test_the_state_in_one_line(last, fields, expected):
    assert state(LATER, last, **fields)[0] == expected


def test_stuck_goes_by_the_setting():
    def said(after):
        found = in_loop(LATER, step(5, edits=edited()), stalled=4, best=1)
        return next(state_lines(replace(found, stuck_after=after)))

    assert "Stuck: 4 attempts" in said(4)
    assert "Stuck" not in said(5)


# Signals, and what to do about them

STEPS = (step(1), step(2, edits=edited()), step(3, edits=edited("parse")))


def stuck(*steps, stalled=2, **fields):
    return state(*(steps or STEPS), stalled=stalled, **fields)[1:]


def test_signals_in_a_line_each():
    signals = [
        Signal(kind="no-edit", explanation="nothing in 1"),
        Signal(kind="test-tampering", explanation="has a section of its own"),
        Signal(kind="regression", tests=("a`b", "c", "d"), explanation="fails\nagain"),
    ]
    assert stuck(stalled=1, signals=signals) == [
        "- No edit: nothing in 1.",
        "- Regression: ``a`b``, `c` and 1 more: fails again.",
    ]


@pytest.mark.parametrize("kind", [kind for kind in EXPERIMENTS if "," not in kind])
def test_every_way_of_being_stuck_has_an_experiment(kind):
    signals = [Signal(kind=kind, tests=("t.py::test_a",))]
    *_, said = stuck(signals=signals)
    assert "{" not in said
    assert len(said) > 40


@pytest.mark.parametrize("found", [(), (failure(phase="collect"),)])
def test_no_experiment_where_no_failing_test_ran(found):
    report = in_loop(*STEPS, stalled=2)
    assert len([*state_lines(replace(report, observation=observed(*found)))]) == 1


def test_a_person_is_asked_about_the_value_that_the_test_wants():
    _, question = stuck(stalled=3, failing=[known(want="6", values=("7", "5"), ran=3)])
    assert question == (
        "For a person: is `6` right in `tests/test_cart.py::test_total`? Got `7` (run 1), `5` (run 2)."
    )
    # Where it did not run, as behind -x, its value may be right by now.
    question = stuck(stalled=3, failing=[known(want="6", values=("7", "5"), ran=2)])[-1]
    assert question == "For a person: do the failing tests ask for the right thing, and can they all pass?"


# Earlier attempts

HEAD = ["| run | edit | effect |", "|---|---|---|"]


def table(*steps, **fields):
    return [line for each in attempt_lines(in_loop(*steps, **fields)) for line in each.lines]


def rows(*steps, **fields):
    found = table(*steps, **fields)
    assert not found or found[:2] == HEAD
    return found[2:]


def test_a_row_a_run():
    assert table(FIRST, step(2, fixed=("a",), edits=edited(diff="-a\n+b\n+c"))) == [
        *HEAD,
        "| 2 | `total` | 1 fixed; 1 count as failing |",
    ]


@pytest.mark.parametrize(
    ("step_edits", "expected"),
    [
        (edited(diff=" x\n-    return a\n+    return b\n y"), "`total`: `return a` → `return b`"),
        (edited(diff="-a\n+b\n+c"), "`total`"),
        (edited("<module>", diff="-A = 1\n+A = 2"), "`src/shop/cart.py`: `A = 1` → `A = 2`"),
        (edited(diff="-a | b\n+a \\| b"), "`total`: `a \\| b` → `a \\\\\\| b`"),
        (
            edited(diff=f"-{'x' * 99}3\n+{'x' * 99}4"),
            f"`total`: `…{'x' * 16}3` → `…{'x' * 16}4`",
        ),
        (edited("f`|\n|g"), "``f`\\| \\|g``"),
        (edits(Edit(file="a.py", function="f"), Edit(file="b.py", function="g")), "`f`, `g`"),
        (edits(Edit(file="a.py", function="f", diff="-a\n+b"), omitted=1), "`f` and 1 more"),
        (Edits(kind="none"), "nothing"),
        (Edits(kind="ineffective"), "only comments, formatting, docstrings or prose"),
        (Edits(kind="unknown"), "unknown"),
    ],
)
def test_the_edit_of_a_run(step_edits, expected):
    assert rows(FIRST, step(2, 2, edits=step_edits)) == [
        f"| 2 | {expected} | no change; 2 count as failing |"
    ]


def test_the_last_runs_are_shown_and_the_others_counted():
    steps = [step(n, edits=edited()) for n in range(2, 12)]
    found = rows(FIRST, *steps)
    assert [row[:4] for row in found[:6]] == ["| 6 ", "| 7 ", "| 8 ", "| 9 ", "| 10", "| 11"]
    assert found[6:] == ["", "4 earlier attempts not shown."]
    assert rows(FIRST, *steps[:7])[6:] == ["", "1 earlier attempt not shown."]


@settings(max_examples=60)
@given(st.lists(edits_drawn, min_size=1, max_size=4))
def test_whatever_was_edited_each_run_is_one_row_of_three_cells(found):
    steps = [step(n, edits=each) for n, each in enumerate(found, 2)]
    lines = table(FIRST, *steps)
    assert all("\n" not in line for line in lines)
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    kinds = [t.type for t in tokens]
    assert kinds.count("tr_open") == 1 + len(steps)
    assert kinds.count("td_open") == 3 * len(steps)
    assert kinds[0] == "table_open"
    assert kinds[-1] == "table_close"
    cells = [t for t, before in zip(tokens[1:], tokens, strict=False) if before.type == "td_open"]
    assert {c.type for t in cells for c in t.children} <= {"text", "code_inline"}
    assert [t.content.rpartition("; ")[2] for t in cells[2::3]] == ["1 count as failing"] * len(steps)


# The tests as they were


def objected(**fields):
    objection = Objection(files=("tests/test_a.py",), **fields)
    check = CheckState(name="tests", verdict="objected", objection=objection)
    report = replace(GREEN, state=State(verdict="objected", checks=(check,)))
    return list(changed_tests(report))


def test_an_objection_lists_the_old_tests_and_the_diff():
    tests = [OldOutcome(test=f"t.py::test_{n}", outcome="failed", reason="assert 1 == 2") for n in range(9)]
    tests[1] = OldOutcome(test="t.py::test_1", outcome="missing")
    lines = objected(tests=tuple(tests), omitted=3, diff="-assert f() == 2\n+assert f()")
    assert lines[:4] == [
        "These tests of the baseline do not pass in a copy with the present code:",
        "",
        "- `t.py::test_0`: failed, `assert 1 == 2`",
        "- `t.py::test_1`: missing",
    ]
    assert lines[10:] == [
        "- and 4 more",
        "",
        HOW_IT_ENDS,
        *("```diff", "-assert f() == 2", "+assert f()", "```"),
    ]


def test_an_objection_says_why_the_old_tests_did_not_run():
    lines = objected(reason="they came from outside of the copy")
    assert lines[:2] == [
        "The tests as they were did not run: `they came from outside of the copy`.",
        "Changed since the baseline: `tests/test_a.py`.",
    ]


# What is remembered of a root cause

CAUSE = report_of(observed(failure(verdict()))).causes[0]
OTHER = failure(verdict(), nodeid="t.py::test_other", message="a longer message")
BOTH = replace(CAUSE, evidence=(*CAUSE.evidence, *report_of(observed(OTHER)).causes[0].evidence))
RUNS = (step(3), step(4, edits=edited()), step(5))


def past(*tests, cause=CAUSE):
    return list(past_lines(cause, loop(*RUNS, failing=tests)))


@pytest.mark.parametrize(
    ("tests", "cause", "expected"),
    [
        (
            [known(since=3, want="6", values=("7", "5", "7"))],
            CAUSE,
            "Failing since run 3. Got `7` (run 1), `5` (run 2), `7` (run 3).",
        ),
        (
            [known(since=4), known("t.py::test_other", since=3, values=("7", "5"))],
            BOTH,
            "Failing since run 3 (1), run 4 (1). Got `7` (run 1), `5` (run 2) (`t.py::test_other`).",
        ),
        (
            [known(since=3, had_passed=True), known("t.py::test_other", since=3)],
            BOTH,
            "Failing since run 3. 1 of 2 passed in an earlier run.",
        ),
    ],
)
def test_since_when_through_which_values_and_what_had_passed(tests, cause, expected):
    assert past(*tests, cause=cause) == [expected]


def test_hostile_values_stay_in_their_span():
    (line,) = past(known(since=3, want="`\n# h", values=("`a`", "\x1b[31m```")))
    assert not {"\n", "\x1b"} & {*line}
