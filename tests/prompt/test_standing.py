import pytest
from loop_close.prompt.standing import counts, effect, standing_lines
from records import edited, known, progress

from loop_close.memory import Edit, Edits, Step


def standing(*args, is_green=False, **fields):
    return " ".join(standing_lines(progress(*args, **fields), is_green=is_green))


FIRST = Step(run=4, unresolved=2)


@pytest.mark.parametrize(
    ("step", "fields", "expected"),
    [
        (
            Step(run=5, unresolved=1, advanced="fixed", edits=edited()),
            {"fixed": ("a", "b"), "unresolved": ("c",)},
            "Run 5, the 2nd of this loop: 2 fixed, 1 unresolved. Progress: more was fixed than broken.",
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
            "No progress: 3 runs in a row without progress (breaker half_open).",
        ),
        (
            Step(run=5, unresolved=1, edits=Edits(kind="ineffective")),
            {"not_fixed": ("a",), "unresolved": ("c",), "breaker": "open"},
            "Run 5, the 2nd of this loop: 1 unresolved, 1 skipped or gone. Stuck: 3 runs in a row without progress "
            "(breaker open). Only comments, formatting, docstrings or prose changed since the run before.",
        ),
    ],
)
def test_one_line_of_a_red_run(step, fields, expected):
    assert standing(FIRST, step, **fields) == expected


@pytest.mark.parametrize(
    ("first", "runs", "expected"),
    [
        *((1, n, f"Run {n} of this loop") for n in (2, 3, 21)),
        *(
            (9, n, f"Run {n + 8}, the {text} of this loop")
            for n, text in ((2, "2nd"), (3, "3rd"), (4, "4th"))
        ),
        *(
            (9, n, f"the {text} of this")
            for n, text in ((11, "11th"), (13, "13th"), (21, "21st"), (22, "22nd"))
        ),
        *((9, n, f"the {text} of this") for n, text in ((100, "100th"), (101, "101st"), (111, "111th"))),
    ],
)
def test_a_run_goes_by_its_number(first, runs, expected):
    steps = [Step(run=first + n, unresolved=1) for n in range(runs)]
    assert expected in standing(*steps, unresolved=("a",))


def test_the_first_run_has_something_to_say_after_a_green_one_only():
    assert standing(FIRST, new=("a",)) == ""
    assert standing(FIRST, new=("a",), green=3) == "Run 3 was green."
    unedited = Step(run=4, unresolved=1, edits=Edits(kind="none"))
    assert standing(unedited, new=("a",), green=3).endswith(
        "No file of the project changed since the run before."
    )


@pytest.mark.parametrize(
    ("edits", "omitted", "expected"),
    [
        ([Edit(file="a.py", function="f")], 0, "; edited since: `a.py:f`."),
        (
            [Edit(file="a.py", function="<module>"), Edit(file="b.toml")],
            0,
            "; edited since: `a.py`, `b.toml`.",
        ),
        ([Edit(file="a.py", function="f"), Edit(file="b.md", is_effective=False)], 0, ": `a.py:f`."),
        (
            [Edit(file="a.py", function=f"f{n}") for n in range(5)],
            0,
            ": `a.py:f0`, `a.py:f1`, `a.py:f2` and 2 more.",
        ),
        ([Edit(file="a.py", function=f"f{n}") for n in range(2)], 7, ": `a.py:f0`, `a.py:f1` and 7 more."),
        ([], 0, "Run 3 was green."),
    ],
)
def test_the_first_run_says_what_was_edited_since_the_green_one(edits, omitted, expected):
    step = Step(run=4, unresolved=1, edits=Edits(kind="effective", edits=tuple(edits), omitted=omitted))
    assert standing(step, new=("a",), green=3).endswith(expected)


def test_green_says_what_had_been_broken():
    tests = [known(f"t.py::test_{n}", "passed") for n in range(5)] + [known("t.py::gone", "gone")]
    last = Step(run=6, unresolved=0, fixed=1)
    assert standing(FIRST, last, tests=tests, fixed=("t.py::test_0",), is_green=True) == (
        "5 tests that had failed pass after 2 runs: `t.py::test_0`, `t.py::test_1`, `t.py::test_2` and 2 more."
    )


def test_a_green_subset_speaks_of_what_it_ran():
    tests = [known("t.py::test_0", "passed", ran=6), known("t.py::test_1", "passed", ran=5)]
    last = Step(run=6, unresolved=0, is_full=False)
    assert standing(FIRST, last, tests=tests, is_green=True) == (
        "1 test that had failed pass after 2 runs: `t.py::test_0`."
    )


def test_nothing_moved():
    assert counts(progress(FIRST)) == "nothing moved"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step(run=1, fixed=2, new=3, broken=1, unresolved=4), "2 fixed, 1 broken, 2 new; 4 failing after it"),
        (Step(run=1, changed=1, moved=2, unresolved=3), "1 changed, 2 with other values; 3 failing after it"),
        (Step(run=1, unresolved=3), "no failure moved; 3 failing after it"),
        (Step(run=1, is_killed=True), "killed before its end"),
    ],
)
def test_effect(step, expected):
    assert effect(step) == expected
