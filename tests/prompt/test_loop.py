from dataclasses import replace

import pytest
from called import called
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from records import SRC, any_text, edited, failure, known, observed, progress, raised, verdict

from loop_close.calls import Calls
from loop_close.judge import report_of
from loop_close.memory import Edit, Edits, Signal, Step
from loop_close.model import Suspect
from loop_close.progress.signals import SIGNALS
from loop_close.prompt.compose import estimate_tokens
from loop_close.prompt.loop import (
    DEFAULT,
    EXPERIMENTS,
    attempt_lines,
    counts,
    effect,
    place_of_edit,
    since_green,
    state_line,
    state_lines,
)

RED = report_of(observed(failure(raised())))
GREEN = replace(RED, verdict="green", causes=())
FIRST = Step(run=1, unresolved=2)
LATER = Step(run=4, unresolved=2)


def in_loop(*steps, report=RED, since=None, green=0, **fields):
    loop = progress(*steps, green=green, **fields)
    return replace(report, progress=loop, since_green=since, green_run=green)


def edits(*found, omitted=0, kind="effective"):
    return Edits(kind=kind, edits=tuple(found), omitted=omitted)


# What changed since it was green


def green(*steps, **fields):
    return list(since_green(in_loop(*steps, **fields), 400))


def test_without_a_loop_or_after_a_green_run_nothing_is_said_of_changes():
    assert list(since_green(RED, 400)) == []
    assert green(FIRST, LATER, report=GREEN, since=edited(diff="+1")) == []


def test_the_diff_since_the_last_green_run():
    since = edited(diff="-a\n+b")
    assert green(FIRST, LATER, since=since, green=7) == [
        "Changed since run 7, which was green: `total` in `src/shop/cart.py`",
        *("```diff", "-a", "+b", "```"),
    ]
    assert green(FIRST, LATER, since=since)[0].startswith("Changed since the last green run: ")


def test_it_stays_the_same_in_every_later_run():
    since = edited(diff="-a\n+b")
    steps = [Step(run=n, unresolved=1, edits=edited("tax", diff=f"+{n}")) for n in range(2, 9)]
    every = [green(FIRST, *steps[:n], since=since, green=1) for n in range(8)]
    assert every == [every[0]] * 8


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (Edits(kind="none"), "No file of the project changed since run 3, which was green."),
        (
            Edits(kind="ineffective"),
            "Only comments, formatting, docstrings or prose changed since run 3, which was green.",
        ),
        (
            edits(Edit(file="a.md", is_effective=False)),
            "Only comments, formatting, docstrings or prose changed since run 3, which was green.",
        ),
    ],
)
def test_edits_that_cannot_count(since, expected):
    assert green(FIRST, LATER, since=since, green=3) == [expected]


@pytest.mark.parametrize("since", [None, Edits(kind="unknown")])
def test_where_no_green_run_is_known_the_last_edit_is_shown(since):
    two, three = (Step(run=n, unresolved=1, edits=edited(diff=f"+{n}\n+x")) for n in (2, 3))
    assert green(FIRST, two, three, since=since) == [
        "Last edit, before run 3: `total` in `src/shop/cart.py`",
        *("```diff", "+3", "+x", "```"),
    ]
    assert green(FIRST, two, Step(run=3, unresolved=1, edits=Edits(kind="none")), since=since)[0].startswith(
        "Last edit, before run 2"
    )


def test_a_change_that_the_table_shows_whole_is_not_shown_again():
    assert green(FIRST, Step(run=2, unresolved=1, edits=edited(diff="-a\n+b"))) == []
    assert green(FIRST, Step(run=2, unresolved=1)) == []


@pytest.mark.parametrize(
    ("found", "omitted", "expected"),
    [
        ([Edit(file="a.py", function="f")], 0, "green: `f` in `a.py`"),
        ([Edit(file="a.py", function="<module>"), Edit(file="b.toml")], 0, "green: `a.py`, `b.toml`"),
        ([Edit(file="a.py", function="f"), Edit(file="b.md", is_effective=False)], 0, "green: `f` in `a.py`"),
        ([Edit(file="a.py", function=f"f{n}") for n in range(5)], 0, "`f2` in `a.py` and 2 more"),
        ([Edit(file="a.py", function=f"f{n}") for n in range(2)], 7, "`f1` in `a.py` and 7 more"),
        ([Edit(file="a.py", function=f"f{n}") for n in range(5)], 7, "`f2` in `a.py` and 9 more"),
    ],
)
def test_what_was_edited_is_named_and_counted(found, omitted, expected):
    (line,) = green(FIRST, LATER, since=edits(*found, omitted=omitted), green=3)
    assert line.endswith(expected)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(file="a.py", function="f"), "`f` in `a.py`"),
        (Edit(file="a.py", function="<module>"), "`a.py`"),
        (Edit(file="data.json", change="removed"), "`data.json` (removed)"),
        (Edit(file="a.py", function="f", change="added"), "`f` in `a.py` (added)"),
        (Edit(file="a.py", function="f", change="moved", moved_to=("b.py", "g")), "`f` (now `b.py:g`)"),
        (Edit(file="`\n# h.py", function="\x1b[1mf"), "`f` in `` ` # h.py ``"),
    ],
)
def test_an_edit_in_words(edit, expected):
    assert place_of_edit(edit) == expected


def test_several_edits_share_the_room_the_likeliest_suspect_first():
    found = [
        Edit(file=SRC, function=name, diff="\n".join(f"+{name} {n}" for n in range(9))) for name in "abcd"
    ]
    suspects = tuple(Suspect(file=SRC, line=1, function=name) for name in "cac")
    report = replace(RED, causes=(replace(RED.causes[0], suspects=suspects),))
    assert green(FIRST, LATER, report=report, since=edits(*found), green=3)[1:] == [
        "```diff",
        *("@@ c @@", *(f"+c {n}" for n in range(4))),
        *("@@ a @@", *(f"+a {n}" for n in range(4))),
        *("@@ b @@", *(f"+b {n}" for n in range(4))),
        "… 24 more lines",
        "```",
    ]


@pytest.mark.parametrize(("number", "expected"), [(15, "… 1 more line"), (30, "… 16 more lines")])
def test_a_long_diff_is_cut_and_counted(number, expected):
    since = edited(diff="\n".join(f"+{n}" for n in range(number)))
    assert green(FIRST, LATER, since=since)[-2:] == [expected, "```"]


@given(any_text, any_text)
def test_a_diff_cannot_end_its_fence(diff, function):
    found = edits(Edit(file=SRC, function=function, diff=f"+{diff}"), Edit(file=SRC, function="g", diff="+1"))
    lines = green(FIRST, LATER, since=found)
    tokens = MarkdownIt("commonmark").parse("\n".join(lines))
    assert {t.type for t in tokens} == {"paragraph_open", "inline", "paragraph_close", "fence"}


# The state, in one line


@pytest.mark.parametrize(
    ("step", "fields", "expected"),
    [
        (
            Step(run=5, unresolved=1, advanced="fixed", edits=edited()),
            {"fixed": ("a", "b"), "unresolved": ("c",)},
            "Run 5, the 2nd of this loop: 2 fixed, 1 unresolved. Progress: more was fixed than broken.",
        ),
        (
            Step(run=5, unresolved=1, advanced="elsewhere", elsewhere="mypy", edits=edited()),
            {"unresolved": ("c",)},
            "Run 5, the 2nd of this loop: 1 unresolved. Nothing changed here; `mypy` made progress.",
        ),
        (
            Step(run=5, unresolved=1, edits=Edits(kind="none")),
            {"unresolved": ("c",)},
            "Run 5, the 2nd of this loop: 1 unresolved. No progress. "
            "No file of the project changed since the run before.",
        ),
        (
            Step(run=5, unresolved=3, edits=edited()),
            {"new": ("a",), "broken": ("a",), "changed": ("b",), "not_run": ("c",), "breaker": "half_open"},
            "Run 5, the 2nd of this loop: 1 new (1 had passed), 1 changed, 1 not run. "
            "3 runs in a row without progress.",
        ),
        (
            Step(run=5, unresolved=1, edits=Edits(kind="ineffective")),
            {"not_fixed": ("a",), "unresolved": ("c",), "breaker": "open"},
            "Run 5, the 2nd of this loop: 1 unresolved, 1 stopped failing without a fix. Stuck: 3 runs in a row "
            "without progress. Only comments, formatting, docstrings or prose changed since the run before.",
        ),
    ],
)
def test_the_state_in_one_line(step, fields, expected):
    assert state_line(progress(LATER, step, **fields)) == expected
    assert next(state_lines(in_loop(LATER, step, **fields), 400)) == expected


@pytest.mark.parametrize(
    ("first", "runs", "expected"),
    [
        *((1, n, f"Run {n} of this loop") for n in (2, 3, 21)),
        *((9, n, f"Run {n + 8}, the {end} of this loop") for n, end in ((2, "2nd"), (3, "3rd"), (4, "4th"))),
        *(
            (9, n, f"the {end} of this")
            for n, end in ((11, "11th"), (13, "13th"), (21, "21st"), (22, "22nd"))
        ),
        *((9, n, f"the {end} of this") for n, end in ((100, "100th"), (101, "101st"), (111, "111th"))),
    ],
)
def test_a_run_goes_by_its_number(first, runs, expected):
    steps = [Step(run=first + n, unresolved=1) for n in range(runs)]
    assert expected in state_line(progress(*steps, unresolved=("a",)))


def test_the_first_run_of_a_loop_has_no_state():
    assert list(state_lines(in_loop(LATER, new=("a",)), 400)) == []
    assert list(state_lines(RED, 400)) == []


def test_nothing_changed():
    assert counts(progress(LATER)) == "no change"


def test_the_words_of_the_breaker_are_no_words_of_the_prompt():
    for state in ("closed", "half_open", "open"):
        line = state_line(progress(LATER, Step(run=5), breaker=state))
        assert "breaker" not in line
        assert "half" not in line


def test_green_says_what_had_been_broken():
    tests = [known(f"t.py::test_{n}", "passed") for n in range(5)] + [known("t.py::gone", "gone")]
    report = in_loop(LATER, Step(run=6, fixed=1), report=GREEN, tests=tests, fixed=("t.py::test_0",))
    assert list(state_lines(report, 400)) == [
        "5 tests that had failed pass after 2 runs: `t.py::test_0`, `t.py::test_1`, `t.py::test_2` and 2 more."
    ]


def test_a_green_subset_speaks_of_what_it_ran():
    tests = [known("t.py::test_0", "passed", ran=6), known("t.py::test_1", "passed", ran=5)]
    report = in_loop(LATER, Step(run=6, is_full=False), report=GREEN, tests=tests)
    assert list(state_lines(report, 400)) == ["1 test that had failed passes after 2 runs: `t.py::test_0`."]


# Signals, and what to do about them

STEPS = (Step(run=1), Step(run=2, edits=edited()), Step(run=3, edits=edited("parse")))


def stuck(*steps, **fields):
    return list(state_lines(in_loop(*(steps or STEPS), **fields), 400))[1:]


def test_while_it_advances_neither_is_said():
    assert stuck() == []


def test_signals_in_a_line_each():
    signals = [
        Signal(kind="no-edit", explanation="nothing in 1"),
        Signal(kind="flaky", is_on=False, explanation="not this one"),
        Signal(kind="regression", tests=("a`b", "c", "d"), explanation="fails\nagain"),
    ]
    assert stuck(signals=signals) == [
        "- No edit: nothing in 1.",
        "- Regression: ``a`b``, `c` and 1 more: fails again.",
    ]


def test_a_signal_about_every_failing_test_does_not_name_them():
    signals = [
        Signal(kind="repeated-failure", tests=("t.py::a", "t.py::b"), explanation="the same in 3 runs")
    ]
    tests = [known("t.py::a"), known("t.py::b"), known("t.py::c", "passed")]
    assert stuck(signals=signals, tests=tests) == [
        "- Repeated failure: all failing tests: the same in 3 runs."
    ]


@pytest.mark.parametrize("kind", sorted(kind for kind, rule in SIGNALS.items() if rule.only_without_progress))
def test_every_way_of_being_stuck_has_an_experiment(kind):
    signals = [Signal(kind=kind, tests=("t.py::test_a",))]
    *_, said = stuck(breaker="half_open", signals=signals)
    assert "{" not in said
    assert said != DEFAULT
    assert len(said) > 40


def test_without_a_signal_there_is_an_experiment_too():
    assert stuck(breaker="half_open") == [DEFAULT.format(edited="`parse` (`src/shop/cart.py`)")]


def test_values_that_follow_the_edits_ask_for_another_experiment():
    steps = (*STEPS[:2], replace(STEPS[2], moved=1))
    signals = [Signal(kind="repeated-failure", runs=(1, 2, 3))]
    assert "The value follows the edits of `parse`" in stuck(*steps, breaker="half_open", signals=signals)[-1]
    assert "does not run in the failing test" in stuck(breaker="half_open", signals=signals)[-1]


@pytest.mark.parametrize(
    ("hits", "moved", "said"),
    [
        (((0, 1),), 0, "`parse` (`src/shop/cart.py`) runs in the failing tests"),
        (((0, 1),), 1, "The value follows the edits of `parse`"),
        (((1, 1),), 0, "`parse` (`src/shop/cart.py`) is not run by the failing tests"),
        (((1, 1),), 1, "`parse` (`src/shop/cart.py`) is not run by the failing tests"),
        (None, 0, "does not run in the failing test, or it is not the cause"),
    ],
)
def test_the_experiment_knows_what_failing_tests_run(hits, moved, said):
    functions = called("parse", 1), called("other", 9)
    failed = {"t.py::a": hits} if hits is not None else {}
    report = report_of(
        observed(failure(verdict(), "t.py::a"), calls=Calls(functions=functions, failed=failed))
    )
    steps = (*STEPS[:2], replace(STEPS[2], moved=moved))
    signals = [Signal(kind="repeated-failure", runs=(1, 2, 3))]
    assert said in stuck(*steps, report=report, breaker="half_open", signals=signals)[-1]
    # Only the tests that the signal is about count.
    signals = [replace(signals[0], tests=("t.py::other",))]
    if hits is not None:
        line = stuck(*steps, report=report, breaker="half_open", signals=signals)[-1]
        assert "`parse` (`src/shop/cart.py`) is not run by `t.py::other`, so edits of it" in line


def test_edits_of_tests_are_no_suspects():
    steps = (Step(run=1), Step(run=2, edits=edited(file="tests/test_a.py")))
    assert stuck(*steps, breaker="half_open")[-1].startswith("Either the edited code is not the cause")


def test_edits_before_the_last_progress_are_not_asked_about():
    steps = (*STEPS, Step(run=4, advanced="fixed", edits=edited("kept")), Step(run=5, edits=edited("tax")))
    assert "`tax`" in stuck(*steps, breaker="half_open")[-1]
    steps = (*steps[:-1], Step(run=5))
    assert "the edited code" in stuck(*steps, breaker="half_open")[-1]


def test_a_person_is_asked_about_the_value_that_the_test_wants():
    tests = [known(want="6", values=("7", "5"))]
    experiment, question = stuck(breaker="open", tests=tests)
    assert experiment.startswith("Either `parse` (`src/shop/cart.py`) is not the cause")
    assert (
        question
        == "For a person: is `6` right in `tests/test_cart.py::test_total`? The code returned `7`, `5`."
    )
    # Where it did not run, as behind -x, its value may be right by now.
    found = in_loop(*STEPS, breaker="open", tests=tests)
    found = replace(found, progress=replace(found.progress, not_run=("tests/test_cart.py::test_total",)))
    assert "does the test ask for the right thing" in [*state_lines(found, 400)][-1]


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("oscillation", "contradict each other"),
        ("whack-a-mole", "contradict each other"),
        ("no-edit", "is an agent working on this?"),
        ("regression", "does the test ask for the right thing"),
    ],
)
def test_the_open_question_goes_by_the_signal(kind, question):
    assert question in stuck(breaker="open", tests=[known()], signals=[Signal(kind=kind)])[-1]


def test_the_catalogue_is_ours_and_names_what_it_may():
    for text in (*EXPERIMENTS.values(), DEFAULT):
        filled = text.format(edited="x", tests="y")
        assert "{" not in filled


# Earlier attempts

HEAD = ["| run | edit | effect |", "|---|---|---|"]


def table(*steps, tokens=400, **fields):
    return list(attempt_lines(in_loop(*steps, **fields), tokens))


def rows(*steps, **fields):
    found = table(*steps, **fields)
    assert not found or found[:2] == HEAD
    return found[2:]


@pytest.mark.parametrize(
    "steps",
    [(), (FIRST,), (FIRST, Step(run=2, unresolved=0, edits=edited()))],
    ids=["no loop", "first run", "nothing fails any more"],
)
def test_nothing_was_tried(steps):
    assert (table(*steps) if steps else list(attempt_lines(RED, 400))) == []


def test_a_row_a_run():
    step = Step(run=2, unresolved=1, fixed=1, edits=edited(diff="-a\n+b\n+c"))
    assert table(FIRST, step) == [*HEAD, "| 2 | `total` | 1 fixed; 1 fails |"]


@pytest.mark.parametrize(
    ("step_edits", "expected"),
    [
        (edited(diff=" x\n-    return a\n+    return b\n y"), "`total`: `return a` → `return b`"),
        (edited(diff="-a\n+b\n+c"), "`total`"),
        (edited(diff="+b"), "`total`"),
        (edited("<module>", diff="-A = 1\n+A = 2"), "`src/shop/cart.py`: `A = 1` → `A = 2`"),
        (edited(diff="-a | b\n+a \\| b"), "`total`: `a \\| b` → `a \\\\\\| b`"),
        (
            edited(diff=f"-{'x' * 99}3\n+{'x' * 99}4"),
            f"`total`: `…{'x' * 16}3` → `…{'x' * 16}4`",
        ),
        (edited(diff="-`\n+" + "x" * 99), "`total`: `` ` `` → `" + "x" * 49 + "…`"),
        (edited("f`|\n|g"), "``f`\\| \\|g``"),
        (edits(Edit(file="a.py", function="f"), Edit(file="b.py", function="g")), "`f`, `g`"),
        (edits(*(Edit(file="a.py", function=f"f{n}") for n in range(4)), omitted=3), "`f0`, `f1` and 5 more"),
        (edits(Edit(file="a.py", function="f", diff="-a\n+b"), omitted=1), "`f` and 1 more"),
        (edits(Edit(file="a.md", is_effective=False)), "only comments, formatting, docstrings or prose"),
        (Edits(kind="none"), "nothing"),
        (Edits(kind="ineffective"), "only comments, formatting, docstrings or prose"),
        (Edits(kind="unknown"), "unknown"),
    ],
)
def test_the_edit_of_a_run(step_edits, expected):
    assert rows(FIRST, Step(run=2, unresolved=2, edits=step_edits)) == [
        f"| 2 | {expected} | no change; 2 fail |"
    ]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step(run=1, fixed=2, new=3, broken=1, unresolved=4), "2 fixed, 1 broken, 2 new; 4 fail"),
        (Step(run=1, changed=1, moved=2, unresolved=1), "1 changed, 2 with other values; 1 fails"),
        (Step(run=1, unresolved=3), "no change; 3 fail"),
        (
            Step(run=1, not_run=3, not_fixed=1, unresolved=0),
            "1 stopped failing without a fix, 3 not run; 0 fail",
        ),
        (Step(run=1, is_killed=True), "killed before its end"),
        (
            Step(run=1, unresolved=1, advanced="elsewhere", elsewhere="my|\npy"),
            "progress in my| py; 1 fails",
        ),
    ],
)
def test_effect(step, expected):
    assert effect(step) == expected


def test_the_last_runs_are_shown_and_the_others_counted():
    steps = [Step(run=n, unresolved=1, edits=edited()) for n in range(2, 12)]
    found = rows(FIRST, *steps)
    assert [row[:4] for row in found[:6]] == ["| 6 ", "| 7 ", "| 8 ", "| 9 ", "| 10", "| 11"]
    assert found[6:] == ["", "4 earlier runs left out."]
    assert rows(FIRST, *steps[:7])[6:] == ["", "1 earlier run left out."]


@pytest.mark.parametrize("tokens", [16, 40, 60, 80, 120, 400])
def test_the_table_has_as_many_rows_as_there_is_room(tokens):
    steps = [Step(run=n, unresolved=1, edits=edited(diff=f"-{'a' * 40}\n+{'b' * 40}")) for n in range(2, 8)]
    found = table(FIRST, *steps, tokens=tokens)
    assert estimate_tokens("\n".join(found)) <= tokens
    shown = [row for row in found[2:] if row.startswith("| ")]
    assert shown == rows(FIRST, *steps)[len(steps) - len(shown) :][: len(shown)]
    assert bool(shown) == (tokens >= 80) or 40 <= tokens < 80
    if shown and len(shown) < len(steps):
        assert found[-1].startswith(f"{len(steps) - len(shown)} earlier run")


def test_the_first_run_is_shown_where_it_is_known_what_was_edited():
    begun = Step(run=1, unresolved=1, edits=edited())
    assert rows(begun, Step(run=2, unresolved=1))[0].startswith("| 1 | `total` |")


def test_a_look_at_the_same_code_is_no_attempt():
    look = Step(run=2, unresolved=2, is_counted=False, edits=Edits(kind="none"))
    assert rows(FIRST, look) == []
    assert rows(FIRST, replace(look, is_killed=True)) == ["| 2 | nothing | killed before its end |"]


def test_the_code_of_an_earlier_run_is_known_again():
    first = Step(run=1, unresolved=1, code="a")
    other = Step(run=2, unresolved=1, code="b", edits=edited())
    back = Step(run=3, unresolved=1, code="a", edits=edited())
    found = rows(first, other, back)
    assert "back to" not in found[0]
    assert found[1] == "| 3 | `total`, back to the code of run 1 | no change; 1 fails |"


def test_the_same_code_twice_in_a_row_is_no_return():
    steps = [Step(run=n, unresolved=1, code="a", edits=Edits(kind="none")) for n in (1, 2, 3)]
    assert not any("back to" in row for row in rows(*steps))


_edit = st.builds(
    Edit, file=any_text, function=any_text, diff=any_text | st.builds("-{}\n+{}".format, any_text, any_text)
)


@settings(max_examples=60)
@given(st.lists(st.lists(_edit, min_size=1, max_size=3), min_size=1, max_size=4))
def test_whatever_was_edited_each_run_is_one_row_of_three_cells(found):
    steps = [Step(run=n, unresolved=1, edits=edits(*each)) for n, each in enumerate(found, 2)]
    lines = table(FIRST, *steps, tokens=4000)
    assert all("\n" not in line for line in lines)
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    kinds = [t.type for t in tokens]
    assert kinds.count("tr_open") == 1 + len(steps)
    assert kinds.count("td_open") == 3 * len(steps)
    assert kinds[0] == "table_open"
    assert kinds[-1] == "table_close"
    cells = [t for t, before in zip(tokens[1:], tokens, strict=False) if before.type == "td_open"]
    assert {c.type for t in cells for c in t.children} <= {"text", "code_inline"}
    assert [t.content.rpartition("; ")[2] for t in cells[2::3]] == ["1 fails"] * len(steps)
