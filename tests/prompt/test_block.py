import itertools
import re
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import edited, known, loop, step
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records import (
    SRC,
    TEST,
    any_text,
    failure,
    failures,
    frame,
    in_test,
    observed,
    raised,
    source,
    verdict,
)

from loop_close.calls import Called, Calls, Swallowed
from loop_close.detectors import Detector
from loop_close.judge import report_of
from loop_close.model import Difference, Evidence, RootCause, Site, Suspect
from loop_close.prompt.block import (
    LEGEND,
    LEGENDS,
    LEVELS,
    all_reasons,
    block_lines,
    brief_line,
)
from loop_close.prompt.compose import estimate_tokens
from loop_close.prompt.loop import attempts_at, past_lines
from loop_close.prompt.place import (
    edited_in,
    name_of,
    percent,
    place_in_words,
    probable_place,
    representative,
)

BODY = source("def total(cart):", "    '''Doc.'''", "    tax = 0", "    return tax", start=8)
TESTED = source("def test_total():", "    cart = 1", "    assert total(", "        cart) == 1", start=3)
TOTAL = Suspect(
    file=SRC, line=8, end_line=11, function="total", score=0.62, failed=(3, 3), passed=(1, 806), source=BODY
)
RATES = replace(
    TOTAL,
    line=3,
    end_line=4,
    function="<module>",
    constant="RATES",
    reasons=("RATES is loaded in line 10 of total()",),
    source=source("RATES = {", "}", start=3),
)
TAX = replace(TOTAL, function="tax", line=40, end_line=50, source=None, score=0.2)


def cause_of(*found, suspects=()):
    """The one root cause of failures, with suspects of the test's choice."""
    causes = report_of(observed(*found)).causes
    evidence = tuple(itertools.chain.from_iterable(cause.evidence for cause in causes))
    return replace(causes[0], evidence=evidence, suspects=tuple(suspects))


def block(level, *found, suspects=(), beside=False, advisers=None, shown=(), loop=None, **fields):
    """The block of one root cause; ``beside`` another one."""
    cause = cause_of(*found, suspects=suspects)
    report = replace(report_of(observed(*found, **fields)), causes=(cause,) * (1 + beside), loop=loop)
    return block_lines(1, cause, level, report, advisers or {}, shown)


def text(*args, **fields):
    return "\n".join(block(*args, **fields))


SHOWN = failure(raised(frames=[in_test(source=TESTED), frame(line=10, source=BODY)]))
WRONG = failure(
    replace(verdict(), site=Site(frame=in_test(source=TESTED), statement="assert total(cart) == 1"))
)


# The heading


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (failure(raised()), "## 1. `ValueError` at `src/shop/cart.py:10` in `total()`"),
        (failure(raised(frames=[frame(function="<module>")])), "## 1. `ValueError` at `src/shop/cart.py:10`"),
        (failure(raised(frames=[frame(line=0)])), "## 1. `ValueError` at `src/shop/cart.py` in `total()`"),
        (failure(None, "t.py::x", line=3), "## 1. `test-failure` at `t.py:3`"),
        (failure(None, "", "session"), "## 1. `internal-error`"),
        (failure(raised("a`b\n# c", frames=[])), "## 1. ``a`b # c`` at `tests/test_cart.py`"),
        (
            failure(None, "", "check", tool="mypy", code="arg-type", file="a.py", line=3),
            "## 1. `mypy arg-type` at `a.py:3`",
        ),
    ],
)
@pytest.mark.parametrize("level", range(LEVELS))
def test_without_a_suspect_the_heading_is_the_exception_and_its_location(found, expected, level):
    assert block(level, found, beside=True)[0] == expected


@pytest.mark.parametrize(
    ("suspect", "expected"),
    [
        (TOTAL, "## 1. Probably `total()` at `src/shop/cart.py:8` (62 %)"),
        (replace(TOTAL, score=0.49), "## 1. Possibly `total()` at `src/shop/cart.py:8` (49 %)"),
        (replace(TOTAL, odd=(10, 3, 0)), "## 1. Probably `total()` at `src/shop/cart.py:10` (62 %)"),
        (replace(TOTAL, function="<module>", line=3), "## 1. Probably `src/shop/cart.py:3` (62 %)"),
        (replace(RATES, function="Cart"), "## 1. Probably `RATES` at `src/shop/cart.py:3` (62 %)"),
        (
            replace(TOTAL, line=0, end_line=0, source=None),
            "## 1. Probably `total()` at `src/shop/cart.py` (62 %)",
        ),
        (replace(TOTAL, file="`\n# h.py"), "## 1. Probably `total()` at `` ` # h.py:8 `` (62 %)"),
    ],
)
def test_the_heading_is_the_probable_place_with_its_probability(suspect, expected):
    (heading, *_) = block(3, failure(verdict()), suspects=[suspect], beside=True)
    assert heading == expected


@pytest.mark.parametrize(("odd", "is_said"), [((10, 3, 0), True), ((9, 3, 0), False)])
def test_beside_the_line_that_raised_no_other_line_is_named(odd, is_said):
    exc = raised("TypeError", frames=[in_test(source=TESTED), frame(line=10, source=BODY)])
    lines = block(3, failure(exc), suspects=[replace(TOTAL, odd=odd)])
    assert ("run by 3 failing" in lines[0]) is is_said
    (marked,) = [line for line in lines if line.startswith(">")]
    assert marked.startswith(">  10")


def test_a_decorated_function_is_named_by_the_line_of_its_definition():
    lines = ("@cache", "@call(", "    define=1)", "async  def total(cart):", "    return 0")
    decorated = replace(TOTAL, source=source(*lines, start=TOTAL.line))
    (heading, *_) = block(3, failure(verdict()), suspects=[decorated], beside=True)
    assert heading == "## 1. Probably `total()` at `src/shop/cart.py:11` (62 %)"
    made = replace(TOTAL, source=source("@cache", "x = 1", start=TOTAL.line))
    (heading, *_) = block(3, failure(verdict()), suspects=[made], beside=True)
    assert heading == "## 1. Probably `total()` at `src/shop/cart.py:8` (62 %)"


def test_a_single_cause_has_its_heading_in_the_title_and_says_how_probable():
    lines = block(3, failure(verdict()), suspects=[TOTAL])
    assert lines[0] == "Probability 62 %: called by all 3 failing and 1 of 806 passing tests."
    assert not [line for line in lines if line.startswith("#")]
    assert block(1, failure(verdict()))[0] == "```text"


def test_a_constant_as_the_first_place():
    """Its own lines are shown, and the counts are said of the function that loads it."""
    shown = text(4, failure(verdict()), suspects=[RATES, TAX])
    why = "RATES is loaded in line 10 of total(), called by all 3 failing and 1 of 806 passing tests."
    assert f"Probability 62 %: {why}" in shown
    assert "    3 RATES = {" in shown.replace(">", " ")
    assert "total():" not in shown


def test_a_constant_among_other_places():
    shown = text(
        LEVELS - 1, failure(verdict()), suspects=[replace(TOTAL, score=0.4), replace(RATES, score=0.3)]
    )
    assert "Other places: `src/shop/cart.py:3` `RATES` (30 %)." in shown
    assert "RATES = {" in shown


@pytest.mark.parametrize(
    ("score", "expected"), [(0.0, "1 %"), (0.004, "1 %"), (0.615, "62 %"), (0.99, "99 %"), (1.0, "99 %")]
)
def test_nothing_is_certain(score, expected):
    assert percent(score) == expected


@pytest.mark.parametrize(
    ("found", "suspects", "expected"),
    [
        (verdict(), [TOTAL], "probably total() in src/shop/cart.py:8"),
        (verdict(), [replace(TOTAL, score=0.3)], "possibly total() in src/shop/cart.py:8"),
        (verdict(), [replace(TOTAL, function="<module>")], "probably src/shop/cart.py:8"),
        (verdict(), [replace(TOTAL, function="A.__init__")], "probably `A.__init__()` in src/shop/cart.py:8"),
        (verdict(), [replace(TOTAL, file="a<b>.py")], "probably total() in `a<b>.py:8`"),
        (raised(), [], "ValueError at src/shop/cart.py:10"),
        (raised("# `E`"), [], "`` # `E` `` at src/shop/cart.py:10"),
    ],
)
def test_the_cause_in_the_words_of_a_title(found, suspects, expected):
    assert place_in_words(cause_of(failure(found), suspects=suspects), None) == expected


def test_where_to_look_first():
    at = probable_place(cause_of(SHOWN, suspects=[TAX, TOTAL]))
    assert (at.where, at.called, at.score) == (f"{SRC}:40", "tax()", 0.2)
    at = probable_place(cause_of(SHOWN))
    assert (at.where, at.called, at.score) == (f"{SRC}:10", "total()", None)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (failure(raised("KeyError")), "KeyError"),
        (failure(None), "test-failure"),
        (failure(None, message="[XPASS(strict)] bug 12"), "XPASS(strict)"),
        (failure(None, "", "check", tool="ruff", code="F401"), "ruff F401"),
        (failure(None, "", "check", tool="ty"), "ty"),
    ],
)
def test_what_kind_of_thing_went_wrong(found, expected):
    assert name_of(cause_of(found)) == expected


def test_a_cause_in_one_line():
    report = report_of(observed(SHOWN))
    assert brief_line(12, cause_of(SHOWN, suspects=[TOTAL]), report) == (
        "12. Probably `total()` at `src/shop/cart.py:10` (62 %): `ValueError` `bad`. Test: "
        "`tests/test_cart.py::test_total`"
    )


def test_a_cause_in_one_line_names_what_else_its_tests_raise():
    other = replace(failure(raised("KeyError")), nodeid="tests/test_cart.py::test_other")
    line = brief_line(12, cause_of(SHOWN, other, suspects=[TOTAL]), report_of(observed(SHOWN, other)))
    assert line.endswith(
        ": `ValueError` `bad`. 2 tests: `tests/test_cart.py::test_other` and 1 more; also `KeyError`"
    )


def test_level_0_is_the_message_and_the_tests_on_one_line():
    (line,) = block(0, failure(raised(message="no price\nfor tea")))
    assert line == "`ValueError` `no price for tea`. Test: `tests/test_cart.py::test_total`"
    assert block(0, failure(None, "", "session", message="  ")) == ["(no message)."]


# Why


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["called by all 3 failing and 1 of 806 passing tests"]),
        ({"failed": (2, 3)}, ["called by 2 of 3 failing and 1 of 806 passing tests"]),
        ({"failed": (1, 1), "passed": (3, 1480)}, ["called by the failing test and 3 of 1,480 passing ones"]),
        ({"failed": (1, 1), "passed": (0, 0)}, ["called by the failing test"]),
        ({"passed": (0, 0)}, ["called by all 3 failing tests"]),
        ({"failed": (0, 0), "passed": (0, 0), "reasons": ("on the traceback",)}, ["on the traceback"]),
        (
            {"odd": (11, 3, 0), "reasons": ("edited",)},
            [
                "called by all 3 failing and 1 of 806 passing tests",
                "line 11 run by 3 failing and 0 passing tests",
                "edited",
            ],
        ),
    ],
)
def test_reasons_the_counts_first(fields, expected):
    assert list(all_reasons(replace(TOTAL, **fields))) == expected


def test_a_sample_of_the_tests_is_called_one():
    (said,) = all_reasons(TOTAL, is_sample=True, all_failing=4)
    assert said == "called by all 3 recorded failing and 1 of 806 recorded passing tests"
    (said,) = all_reasons(TOTAL, is_sample=True, all_failing=3)
    assert said == "called by all 3 failing and 1 of 806 recorded passing tests"
    (said,) = all_reasons(replace(TOTAL, failed=(1, 1)), is_sample=True)
    assert said == "called by the failing test and 1 of 806 recorded passing ones"


def test_where_subtests_fail_the_failing_tests_have_no_number():
    (said,) = all_reasons(TOTAL, has_subtests=True)
    assert said == "called by all failing and 1 of 806 passing tests"


@pytest.mark.parametrize(
    ("subtests", "shown"),
    [
        (("", "", "(n=1)"), "2 tests and 1 subtest:"),
        (("(n=1)", "(n=2)"), "2 subtests:"),
        (("", ""), "2 tests:"),
    ],
)
def test_subtests_are_counted_apart(subtests, shown):
    cases = [
        replace(failure(WRONG.raised, f"{TEST}::test_{n}"), subtest=name) for n, name in enumerate(subtests)
    ]
    assert any(line.startswith(shown) for line in block(1, *cases))


def test_the_reasons_are_one_sentence():
    suspect = replace(TOTAL, reasons=("returned None in 3 of 4",))
    (_, why, *_) = block(1, WRONG, suspects=[suspect], beside=True)
    assert why == "Called by all 3 of its failing tests and 1 of 806 passing ones; returned None in 3 of 4."


# Its source


def test_the_source_of_the_suspect_without_its_docstring():
    lines = block(2, WRONG, suspects=[replace(TOTAL, odd=(10, 3, 0))])
    assert lines[1:6] == [
        "```python",
        "   :8 def total(cart):",
        ">  10     tax = 0",
        "          return tax",
        "```",
    ]
    assert "Doc" not in text(3, WRONG, suspects=[TOTAL])


@pytest.mark.parametrize("level", [0, 1])
def test_where_there_is_little_room_the_source_is_left_out(level):
    assert "return tax" not in text(level, WRONG, suspects=[TOTAL])


def test_a_suspect_without_a_line_in_question_is_not_marked():
    assert not [line for line in block(3, WRONG, suspects=[TOTAL]) if line.startswith(">")]


def test_without_a_suspect_the_source_of_the_exception_is_shown():
    lines = block(2, SHOWN)
    assert ">  10     tax = 0" in lines
    assert "   :8 def total(cart):" in lines


def test_source_that_another_block_shows_is_not_shown_again():
    assert "return tax" not in text(3, WRONG, suspects=[TOTAL], shown=[(SRC, "total", 8)])
    assert "return tax" in text(3, WRONG, suspects=[TOTAL], shown=[(SRC, "total", 40)])


def test_the_line_that_raised_comes_before_the_one_that_few_passing_tests_ran():
    lines = block(3, SHOWN, suspects=[replace(TOTAL, odd=(11, 3, 0))])
    assert [line for line in lines if line.startswith(">")] == [">  10     tax = 0"]


def ran_by(*tests, omitted=0):
    function = Called(file=SRC, line=8, end_line=11, function="total")
    hits = ((0, 8), (0, 11))
    return Calls(functions=(function,), failed=dict.fromkeys(tests, hits), omitted=omitted)


def test_lines_that_the_failing_tests_did_not_run_are_marked_once_explained():
    lines = block(3, WRONG, suspects=[TOTAL], calls=ran_by(f"{TEST}::test_total"))
    assert "-  10     tax = 0" in lines
    assert "          return tax" in lines
    assert lines.count(LEGEND) == 1


@pytest.mark.parametrize("calls", [None, Calls(), ran_by(f"{TEST}::test_other", omitted=1)])
def test_where_it_is_not_known_what_ran_nothing_is_marked(calls):
    lines = block(3, WRONG, suspects=[TOTAL], calls=calls)
    assert not [line for line in lines if line.startswith("- ")]
    assert LEGEND not in lines


PLAIN = ("def total(cart):", *(f"    line({n})" for n in range(9, 20)))
BEFORE, GONE, SINCE = (edited(diff=diff) for diff in ("+    line(11)", "+gone", "+    line(13)"))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ({6: BEFORE}, 3),
        ({6: BEFORE, 7: SINCE}, 3),
        ({6: GONE, 7: SINCE}, 5),
        ({6: GONE, 7: BEFORE, 8: SINCE}, 5),
        ({6: GONE, 7: SINCE, 8: GONE}, 5),
        ({6: GONE}, None),
        ({5: BEFORE}, None),
        ({6: edited(diff="+    line(11)", file="b.py")}, None),
        ({6: edited("tax", diff="+    line(11)")}, None),
        ({6: edited(diff="+    line(11)", is_effective=False)}, None),
    ],
)
def test_the_line_that_was_edited(steps, expected):
    so_far = loop(step(4), *(step(run, edits=edits) for run, edits in steps.items()))
    suspect = replace(TOTAL, edited=6)
    assert edited_in(PLAIN, suspect, so_far) == expected
    assert edited_in(PLAIN, suspect, None) is None
    assert edited_in(PLAIN, replace(suspect, edited=0), so_far) is None


@pytest.mark.parametrize("odd", [(0, 0, 0), (15, 3, 0)])
def test_the_edited_line_is_marked_whatever_the_counts_say(odd):
    """It may decide in which line the failing tests go on."""
    suspect = replace(TOTAL, edited=6, odd=odd, source=source(*PLAIN, start=8))
    lines = block(3, WRONG, suspects=[suspect], loop=loop(step(6, edits=BEFORE), step(7)))
    assert [int(line[1:5]) for line in lines if line.startswith(">")] == [11]
    assert any(LEGENDS["edited"] in line for line in lines)


def test_where_lines_were_removed_the_next_one_is_marked_as_such():
    context = "\n".join(f" {line}" for line in PLAIN[2:3])
    removed = edited(diff=f"{context}\n-    gone(11)\n {PLAIN[3]}")
    suspect = replace(TOTAL, edited=6, source=source(*PLAIN, start=8))
    lines = block(3, WRONG, suspects=[suspect], loop=loop(step(6, edits=removed), step(7)))
    assert [line.partition(" ")[2].strip() for line in lines if line.startswith(">")] == [f"11 {PLAIN[3]}"]
    assert any(LEGENDS["removed"] in line for line in lines)


def test_a_syntax_error_has_a_caret():
    broken = source("def total(:", "    return 0", start=8)
    exc = raised(
        "SyntaxError",
        "invalid syntax",
        [frame(line=8, function="", source=broken)],
        details={"path": SRC, "line": "8", "column": "11", "text": "def total(:"},
    )
    lines = block(2, failure(exc, TEST, "collect"))
    (marked,) = [n for n, line in enumerate(lines) if line.startswith(">")]
    assert lines[marked + 1].index("^") == lines[marked].index(":")


@pytest.mark.parametrize("column", ["", "x", "0", "9" * 5000, "\u0665"])
def test_odd_columns_cost_nothing(column):
    exc = raised("SyntaxError", "bad", details={"path": SRC, "line": "8", "column": column, "text": "x"})
    assert block(3, failure(exc))


# The proof


def test_the_whole_failing_statement_with_what_it_got():
    lines = block(3, WRONG, suspects=[TOTAL])
    first = lines.index("Shown by `tests/test_cart.py:5` `test_total`:")
    assert lines[first + 1 : first + 6] == [
        "```python",
        "assert total(",
        "    cart) == 1",
        "E  assert 0 == 1",
        "```",
    ]


def test_an_exception_has_its_type():
    assert "E  ValueError: bad" in block(3, SHOWN)
    assert "E  ValueError" in block(3, failure(replace(SHOWN.raised, message=" ")))


def test_a_place_that_the_heading_names_is_not_named_again():
    assert text(3, WRONG, beside=True).count("tests/test_cart.py:5") == 1


def test_of_a_test_without_source_the_message_is_shown():
    assert block(3, failure(raised(message="no price\n  for tea")))[:6] == [
        "Shown by `tests/test_cart.py:5`:",
        "```text",
        "ValueError: no price",
        "  for tea",
        "```",
        "Test: `tests/test_cart.py::test_total`",
    ]


def test_the_values_of_the_names_in_the_statement():
    names = (("cart", "None"), ("rate", "'`'"), *((f"x{n}", str(n)) for n in range(9)))
    exc = replace(WRONG.raised, site=replace(WRONG.raised.site, values=names))
    assert "With `cart = None`, ``rate = '`'``, `x0 = 0`, `x1 = 1`, `x2 = 2`." in block(3, failure(exc))
    assert "With" not in text(2, failure(exc))
    assert "With" not in text(3, WRONG)


def test_the_call_that_made_the_checked_value_is_shown_where_no_traceback_shows_it():
    tested = source("def test_total():", "    found = total(cart)", "    assert found == 1", start=3)
    wrong = replace(verdict(), site=Site(frame=in_test(line=5, source=tested), statement="assert found == 1"))
    wrong = replace(wrong, frames=(in_test(line=5, source=tested),))
    lines = block(3, failure(wrong))
    assert lines[lines.index("```python") + 1 :][:2] == ["found = total(cart)", "assert found == 1"]
    assert "found = total(cart)" not in block(2, failure(wrong))
    inner = replace(wrong, frames=(*wrong.frames, frame(line=10, source=BODY)))
    assert "found = total(cart)" not in block(3, failure(inner))


@pytest.mark.parametrize(
    ("passed", "partial", "expected"),
    [
        (0, {}, "no passing one."),
        (1, {}, "1 passing one."),
        (2, {}, "2 passing ones."),
        (2, {"cut": 2}, "at least 2 passing ones."),
        (0, {"cut": 2}, ""),
        (0, {"passed_over": 2}, ""),
    ],
)
def test_in_how_many_tests_an_exception_was_swallowed(passed, partial, expected):
    tests = frozenset([f"{TEST}::test_total"])
    swallowed = Swallowed(SRC, 14, "total", "KeyError", caught=f"{SRC}:16", failed=tests, passed=passed)
    calls = Calls(failed=dict.fromkeys(tests, ()), passed=900, swallowed=(swallowed,))._replace(**partial)
    (line,) = [line for line in block(3, WRONG, calls=calls) if line.startswith("Swallowed")]
    assert line.endswith(f"; in 1 failing test{f' and {expected}' if expected else '.'}")


HELPER = frame(
    "tests/helpers.py", "check", 9, source=source("def check(x):", "    assert x == 1", start=8), is_test=True
)


@pytest.mark.parametrize(
    ("ids", "frames", "shown", "tests"),
    [
        # Others fail too: of which one is it?
        (
            ("test_total[a]", "test_total[b]"),
            (),
            "Shown by `tests/test_cart.py:5` `test_total[a]`:",
            "2 tests: `tests/test_cart.py::test_total` (2 cases)",
        ),
        # Its id is not named again.
        (
            ("test_total[a]", "test_zero"),
            (),
            "Shown by `tests/test_cart.py:5` `test_total[a]`:",
            "Other test: `tests/test_cart.py::test_zero`",
        ),
        (
            ("test_total[a]", "test_total[b]"),
            (HELPER,),
            "Shown by `tests/helpers.py:9` `check` in `test_total[a]`:",
            "2 tests: `tests/test_cart.py::test_total` (2 cases)",
        ),
        # That of one failing test is in the list of tests.
        (
            ("test_total[a]",),
            (),
            "Shown by `tests/test_cart.py:5` `test_total`:",
            "Test: `tests/test_cart.py::test_total[a]`",
        ),
    ],
)
def test_of_several_cases_that_of_the_proof_is_named(ids, frames, shown, tests):
    exc = raised("KeyError", "'eu'", [in_test(source=TESTED), *frames, frame(line=10, source=BODY)])
    cases = [failure(exc, nodeid=f"{TEST}::{name}") for name in ids]
    lines = block(3, *cases, suspects=[TOTAL])
    assert shown in lines
    assert tests in lines


def test_the_case_is_named_where_the_heading_is_the_place():
    cases = [failure(WRONG.raised, nodeid=f"{TEST}::test_total[{n}]") for n in "ab"]
    assert "Shown by `test_total[a]`:" in block(2, *cases)
    assert "Shown by" not in "".join(block(1, *cases))
    assert "Shown by" not in "".join(block(3, cases[0]))


@pytest.mark.parametrize(
    ("case", "values", "is_evident"),
    [
        ("[b-3]", (("kind", "'b'"), ("n", "3")), True),
        ("[b-3]", (("n", "3"),), False),
        ("[case1]", (("case", "{'a': 1}"),), False),
        (" (n=3, kind='b')", (("n", "3"), ("kind", "'b'")), True),
        (" (n=3)", (("n", "4"),), False),
        (" [number] (n=3)", (("n", "3"),), False),
    ],
)
def test_a_case_that_the_values_tell_is_not_named(case, values, is_evident):
    exc = replace(WRONG.raised, site=replace(WRONG.raised.site, values=values))
    parameters, _, subtest = case.partition(" ")
    cases = [
        replace(failure(exc, nodeid=f"{TEST}::test_total{parameters}"), subtest=subtest),
        failure(nodeid=f"{TEST}::test_zero"),
    ]
    cause = cause_of(*cases)
    cause = replace(cause, evidence=tuple(sorted(cause.evidence, key=lambda e: e.failure.nodeid)))
    report = replace(report_of(observed(*cases)), causes=(cause,))
    named = f"Shown by `test_total{case}`:"
    assert (named in block_lines(1, cause, 3, report, {})) == (not is_evident)
    assert named in block_lines(1, cause, 2, report, {})  # without the values


def test_a_long_case_is_cut_and_its_id_stays_in_the_list():
    exc = raised("KeyError", "'eu'", [in_test(source=TESTED), frame(line=10, source=BODY)])
    long = f"{TEST}::test_total[{'a' * 90}]"
    lines = block(3, failure(exc, nodeid=long), failure(exc, nodeid=f"{TEST}::test_zero"), suspects=[TOTAL])
    assert f"Shown by `tests/test_cart.py:5` `test_total[{'a' * 48}…`:" in lines
    assert f"2 tests: `{long}`, `test_zero`" in lines


def test_the_subtest_of_the_proof_is_named():
    cases = [replace(failure(WRONG.raised), subtest=f"(n={n})") for n in (1, 2)]
    lines = block(3, *cases)
    assert "Shown by `test_total (n=1)`:" in lines
    hostile = [replace(each, subtest="`\n# h\x1b[1m password='hunter2secret'") for each in cases]
    shown = "\n".join(block(3, *hostile))
    assert "\n# h" not in shown
    assert "hunter2secret" not in shown


def test_that_no_function_stands_out_is_said_with_their_number():
    called = tuple(Called(file=SRC, line=n, end_line=n, function=f"f{n}") for n in range(1, 4))
    calls = Calls(functions=called, failed={f"{TEST}::test_total": ((0, 1), (2, 3))})
    said = "None of the 2 functions that this test ran stands out."
    assert said in block(1, WRONG, calls=calls)
    assert said not in block(1, WRONG, calls=calls, suspects=[TOTAL])
    assert said not in block(1, failure(raised("NameError", frames=[in_test(source=TESTED)])), calls=calls)
    assert said not in block(1, WRONG)


@pytest.mark.parametrize(("number", "each"), [(1, 120), (2, 110), (3, 73), (4, 55), (9, 50)])
def test_long_values_share_the_room(number, each):
    names = tuple((f"x{n}", "y" * 500) for n in range(number))
    exc = replace(WRONG.raised, site=replace(WRONG.raised.site, values=names))
    (shown,) = [line for line in block(3, failure(exc)) if line.startswith("With ")]
    found = re.findall("`(x[^`]*)`", shown)
    assert [len(value) for value in found] == [each] * min(number, 5)


def test_of_a_large_object_only_the_class_is_shown():
    small = "Cart(lines=[Line(), Line()], owner='me', paid=False)"
    names = (("cart", f"Cart(lines=[{'Line(), ' * 20}])"), ("small", small))
    exc = replace(WRONG.raised, site=replace(WRONG.raised.site, values=names))
    (shown,) = [line for line in block(3, failure(exc)) if line.startswith("With ")]
    assert shown == f"With `cart = Cart(…)`, `small = {small}`."
    own = replace(
        exc, site=replace(exc.site, values=(("self", names[0][1]),))
    )  # the class is in the name of the test
    assert not [line for line in block(3, failure(own)) if line.startswith("With ")]


TWO = (("got", "'" + "x" * 199 + "3'"), ("want", "'" + "x" * 199 + "4'"))


@pytest.mark.parametrize(
    ("statement", "path", "names"),
    [
        ("assert got == want", "", ["got", "want"]),
        # The message has the first difference.
        ("assert got == want", "[80:140]", []),
        ("self.assertEqual(got, want)", "[80:140]", []),
        # Other values are compared.
        ("assert parse(got) == parse(want)", '["a"]', ["got", "want"]),
        ("not Python", '["a"]', ["got", "want"]),
    ],
)
def test_long_values_are_cut_around_what_differs(statement, path, names):
    site = replace(WRONG.raised.site, statement=statement, values=TWO)
    found = (Difference(path=path, left="'x3'", right="'x4'"),)
    shown = text(3, failure(replace(WRONG.raised, site=site, differences=found)))
    ends = {"got": "3'", "want": "4'"}
    said = ", ".join(f"`{name} = …{'x' * 20}{ends[name]}`" for name in names)
    assert (f"With {said}." in shown) if said else ("With" not in shown)


def test_in_one_line_long_values_are_cut_around_what_differs():
    left, right = (f"b'{r'xff' * 40}{end}'" for end in "12")
    found = Difference(path="[180:240]", left=left, right=right)
    said = text(0, failure(replace(WRONG.raised, differences=(found,))))
    assert re.search(r"left\[180:240\]: …\w+1' != …\w+2'", said)


def test_a_credential_stays_hidden_where_values_are_cut_around_what_differs():
    values = tuple((name, f"'{'x' * 199} <redacted {n}>'") for n, name in enumerate(("one", "two"), 1))
    values += (("key", f"'{'x' * 199} sk-{'aB3dE5' * 12}'"), ("password", f"'{'x' * 200}3'"))
    shown = text(3, failure(replace(WRONG.raised, site=replace(WRONG.raised.site, values=values))))
    assert re.search("`one = …x+ <redacted 1>'`, `two = …x+ <redacted 2>'`", shown)
    assert "aB3" not in shown
    assert "`password = '<redacted 1>'`" in shown


@pytest.mark.parametrize(
    ("message", "row"),
    [
        (f"assert '{'x' * 200}3' in '{'x' * 200}4'", f"assert …{'x' * 20}3' in …{'x' * 20}4'"),
        (f"assert '{'x' * 200}3' == 'y'", f"assert '{'x' * 144}… == 'y'"),
        (f"assert {'x' * 200}", f"assert {'x' * 152}…"),
    ],
)
def test_both_sides_of_a_long_comparison_are_shown(message, row):
    rows = block(3, failure(replace(WRONG.raised, message=message)))
    assert f"E  {row}" in rows
    assert max(map(len, rows)) <= 163


def test_values_are_bounded_and_safe():
    site = replace(
        WRONG.raised.site,
        values=(("a", "x" * 9000), ("b", "\n# h\x1b[1m"), ("password", "password='hunter2secret'")),
    )
    shown = text(3, failure(replace(WRONG.raised, site=site)))
    assert len(shown) < 1200
    assert "\n# h" not in shown
    assert "hunter2secret" not in shown


def test_where_values_differ_takes_the_place_of_a_long_message():
    found = (
        Difference(path='["lines"][17].qty', left="3", right="4"),
        Difference(path='["x"]', left="", right="5"),
        Difference(path='["y"]', left="6", right=""),
        Difference(path="", left="a\nb", right="```"),
    )
    exc = replace(WRONG.raised, message="assert {...} == {...}\n" + "  diff\n" * 90, differences=found)
    lines = block(3, failure(exc))
    first = lines.index("E  assert {...} == {...}")
    assert lines[first + 1 : first + 5] == [
        'E  left["lines"][17].qty: 3 != 4',
        'E  only in the right value: ["x"] = 5',
        'E  only in the left value: ["y"] = 6',
        "E  left: a b != ```",
    ]
    assert "diff" not in "\n".join(lines)


def test_a_long_message_is_cut_and_says_so():
    for level in range(1, LEVELS):
        shown = text(level, failure(raised(message="a line of a message\n" * 400)))
        assert "more lines" in shown
        assert len(shown) < 1500
    assert "… 1 more line\n" in text(1, failure(raised(message="a\nb\nc\nd")))


TRACEBACK = "Traceback (most recent call last):\n"


@pytest.mark.parametrize(
    ("expected", "got", "shown"),
    [
        ("1", "2", ["Expected: 1", "Got: 2"]),
        ("a\nb\nc", "a\nx\nc", ["Expected, line 2: b", "Got, line 2: x"]),
        ("a\nb", "a", ["Expected, line 2: b", "Got, line 2: (no such line)"]),
        ("a", "a\nb", ["Expected, line 2: (no such line)", "Got, line 2: b"]),
        ("a\n<BLANKLINE>\nb", "a\n\nx", ["Expected, line 3: b", "Got, line 3: x"]),
        ("one\n  two", "one\ntwo", ["Expected, line 2: '  two'", "Got, line 2: 'two'"]),
        ("[1,  2]\n[3]", "[1, 2]\n[4]", ["Expected, line 2: [3]", "Got, line 2: [4]"]),
        (
            "x\n" + "y" * 300 + "left",
            "x\n" + "y" * 300 + "right",
            [f"Expected, line 2: …{'y' * 20}left", f"Got, line 2: …{'y' * 20}right"],
        ),
        ("y" * 300 + "left", "y" * 300 + "right", [f"Expected: …{'y' * 20}left", f"Got: …{'y' * 20}right"]),
        ("[<x at 0x...>\n89", "[<x at 0x1>\n90", ["Expected: [<x at 0x...> … 89", "Got: [<x at 0x1> … 90"]),
        (
            f"{TRACEBACK}    ...\nValueError: bad",
            f'{TRACEBACK}  File "x.py", line 1, in f\nValueError: worse',
            ["Expected: ValueError: bad", "Got: ValueError: worse"],
        ),
    ],
)
def test_of_a_doctest_what_differs_is_shown(expected, got, shown):
    parts = [("Expected:", expected), ("Got:", got)]
    said = [f"{head}\n{textwrap.indent(body, '    ', lambda line: True)}" for head, body in parts]
    message = "\n".join(["for x in y:", "    print(x)", *said])
    lines = block(3, failure(raised("DocTestFailure", message)))
    at = lines.index("    print(x)")
    assert lines[at - 1 : at + 1 + len(shown)] == ["DocTestFailure: for x in y:", "    print(x)", *shown]
    assert "Expected:\n" in text(3, failure(raised("AssertionError", message)))


@pytest.mark.parametrize("rest", ["", "\n", "\nGot:\n", "Got:"])
def test_a_doctest_whose_message_was_cut_costs_nothing(rest):
    assert "Expected" in text(3, failure(raised("DocTestFailure", f"f()\nExpected:\n{rest}")))


def test_where_an_exception_came_from_is_said_once():
    inner = frame(
        "src/shop/tax.py", "rate", 30, source=source("def rate():", "    raise KeyError('eu')", start=29)
    )
    exc = raised("KeyError", "'eu'", [in_test(source=TESTED), frame(line=10), inner])
    assert "Raised at `src/shop/tax.py:30` in `rate`: `raise KeyError('eu')`" in block(
        2, failure(exc), suspects=[TOTAL]
    )
    assert "Raised at" not in text(3, SHOWN, suspects=[TOTAL])
    assert "Raised at" not in text(3, WRONG, suspects=[TOTAL])


def test_chain_and_group_are_shown_at_every_level_but_the_first():
    exc = raised(
        "ExceptionGroup",
        members=(raised("A", "one"),),
        cause=raised("C", "three", context=raised("D", "four")),
        omitted_members=4,
    )
    for level in range(1, LEVELS):
        shown = text(level, failure(exc))
        for relation, name, message in [
            ("holds", "A", "one"),
            ("raised from", "C", "three"),
            ("raised while handling", "D", "four"),
        ]:
            assert f"- {relation} `{name}` at `src/shop/cart.py:10`: `{message}`" in shown
        assert "- and 4 more exceptions" in shown


def test_tries_that_fail_alike_are_one_row():
    tries = raised(
        "OSError", "down", context=raised("OSError", "down", context=raised("OSError", "down", []))
    )
    tried = text(3, failure(raised(context=tries)))
    assert tried.count("raised while handling `OSError` at `src/shop/cart.py:10`: `down` (2 times)\n") == 1


def test_many_members_are_counted_and_each_shown_once():
    exc = raised("ExceptionGroup", members=tuple(raised(f"E{n}") for n in range(20)), context=raised("E0"))
    shown = text(1, failure(exc))
    assert shown.count("- holds") + int(shown.split("- and ")[1].split()[0]) == 20
    assert shown.count("`E0`") == 1
    one = raised("ExceptionGroup", members=tuple(raised(f"E{n}") for n in range(4)))
    assert "- and 1 more exception\n" in text(1, failure(one))


def test_other_places_are_one_line():
    lines = block(2, WRONG, suspects=[TOTAL, TAX, replace(TAX, function="`x\n# y", line=0, score=0.05)])
    (others,) = [line for line in lines if line.startswith("Other places")]
    assert others == (
        "Other places: `src/shop/cart.py:40` `tax` (20 %), `src/shop/cart.py` `` `x # y `` (5 %)."
    )
    assert "Other places" not in text(3, WRONG, suspects=[TOTAL])
    assert "Other places" not in text(1, WRONG, suspects=[TOTAL, TAX])


def test_the_file_of_other_places_is_said_once():
    others = [TAX, replace(TAX, function="rate", line=60, score=0.1), replace(TAX, file="src/a.py")]
    assert (
        "Other places: `src/shop/cart.py:40` `tax` (20 %), `:60` `rate` (10 %), `src/a.py:40` `tax` (20 %)."
        in (block(2, WRONG, suspects=[TOTAL, *others]))
    )


def test_lines_that_the_block_names_have_their_numbers():
    body = source("def total(cart):", *(f"    a{n}()" for n in range(9)), start=8)
    suspect = replace(TOTAL, end_line=17, source=body, odd=(12, 3, 0))
    exc = raised(frames=[in_test(source=TESTED), frame(line=10, source=body)])
    lines = block(4, failure(exc), suspects=[suspect])
    assert [line[:5] for line in lines if line.endswith("()")] == [
        *("     ", ">  10", "     ", "   12"),
        *["     "] * 5,
    ]
    swallowed = Swallowed(
        SRC, 14, "total", "KeyError", caught=f"{SRC}:16", failed=frozenset([f"{TEST}::test_total"])
    )
    calls = Calls(failed={f"{TEST}::test_total": ()}, passed=9, swallowed=(swallowed,))
    lines = block(4, failure(exc), suspects=[suspect], calls=calls)
    said = "Swallowed exception: `KeyError` at `src/shop/cart.py:14` in `total`, caught at `:16`; in 1 failing test"
    assert f"{said} and no passing one." in lines
    assert [line[2:5] for line in lines if line.endswith("()") and line[4] != " "] == [
        " 10",
        " 12",
        " 14",
        " 16",
    ]


def test_a_line_that_the_message_names_has_its_number():
    text = "rows = [\n    1,\n    f(2,\n    3,\n]"
    exc = raised(
        "SyntaxError",
        "closing parenthesis ']' does not match opening parenthesis '(' on line 10 (cart.py, line 12)",
        [frame(function="<module>", line=12, source=source(*text.split("\n"), start=8))],
        details={"text": "]"},
    )
    lines = block(3, failure(exc))
    assert [line[:6].strip() for line in lines[1:6]] == [":8", "", "10", "", ">  12"]


def test_a_line_that_is_the_place_of_another_cause_has_its_number():
    first, second = (
        cause_of(SHOWN, suspects=[TOTAL]),
        cause_of(WRONG, suspects=[replace(TOTAL, odd=(11, 1, 0))]),
    )
    report = replace(report_of(observed(SHOWN, WRONG)), causes=(first, second))
    assert "   11     return tax" in block_lines(1, first, 3, report, {})
    alone = replace(report, causes=(first, first))
    assert "          return tax" in block_lines(1, first, 3, alone, {})


def test_an_other_place_that_raised_the_exception_or_called_the_first_says_so():
    inner = frame(SRC, "tax.<locals>.<genexpr>", 43, source=source("    (1 / n for n in x)", start=43))
    exc = raised(frames=[in_test(source=TESTED), frame(line=10, source=BODY), inner])
    shown = text(2, failure(exc), suspects=[TOTAL, TAX])
    assert "Other places: `src/shop/cart.py:43` `tax` (20 %; raised here: `(1 / n for n in x)`)." in shown
    assert "Raised at" not in shown
    shown = text(2, failure(exc), suspects=[TAX, TOTAL])
    assert "Other places: `src/shop/cart.py:10` `total` (62 %; calls it here: `tax = 0`)." in shown
    assert "Called at" not in shown
    for level, suspects in ((1, [TOTAL, TAX]), (2, [TOTAL])):
        assert "Raised at `src/shop/cart.py:43` in `tax" in text(level, failure(exc), suspects=suspects)


def test_other_places_stand_before_functions_that_are_less_likely():
    inner = frame("src/shop/tax.py", "rate", 30, source=source("    raise KeyError('eu')", start=30))
    exc = raised("KeyError", "'eu'", [in_test(source=TESTED), frame(line=10), inner])
    shown = text(3, failure(exc), suspects=[TOTAL, TAX])
    assert (
        shown.index("Shown by")
        < shown.index("Other places: ")
        < shown.index("Raised at `src/shop/tax.py:30`")
    )


def test_advice_is_given_where_it_fits_every_failure_of_the_kind():
    adviser = Detector(
        id="x",
        kind="odd-thing",
        label="odd thing",
        priority=1,
        description="d",
        hint="Do\n# this.",
        detect=lambda observation: (),
    )
    # What it calls its findings is said for detectors of others only.
    assert "Do # this." in block(2, WRONG, advisers={"test-failure": adviser})
    assert "Do # this." not in text(1, WRONG, advisers={"test-failure": adviser})
    assert "Do # this." not in text(2, WRONG, advisers={"timeout": adviser})


# Its tests


@pytest.mark.parametrize(
    ("nodeids", "few", "more"),
    [
        (["t.py::a"], "Test: `t.py::a`", None),
        (["t.py::a[1]"], "Test: `t.py::a[1]`", None),
        (["t.py::a[1]", "t.py::a[2]"], "2 tests: `t.py::a` (2 cases)", None),
        (["t.py::b", "t.py::a"], "2 tests: `t.py::a` and 1 more", "2 tests: `t.py::a`, `b`"),
        (["t.py::b", "s.py::a"], "2 tests: `s.py::a` and 1 more", "2 tests: `s.py::a`, `t.py::b`"),
        (
            [f"t.py::{c}" for c in "abcdefgh"],
            "8 tests: `t.py::a` and 7 more",
            "8 tests: `t.py::a`, `b` and 6 more",
        ),
        (
            ["t.py::a", "t.py::b[1]", "t.py::b[2]"],
            "3 tests: `t.py::a` and 2 more",
            "3 tests: `t.py::a`, `b` (2 cases)",
        ),
        (["t.py::a[`]"], "Test: ``t.py::a[`]``", None),
    ],
)
def test_each_test_once_and_cases_counted(nodeids, few, more):
    found = [failure(raised(), nodeid) for nodeid in nodeids]
    assert block(1, *found)[-1] == few
    assert block(3, *found)[-1] == (more or few)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], None),
        (["test_x"], "Other test: `tests/test_cart.py::test_x`"),
        (["test_x", "test_y"], "Other tests: `tests/test_cart.py::test_x` and 1 more"),
        (["test_x[1]", "test_x[2]"], "Other tests: `tests/test_cart.py::test_x` (2 cases)"),
        (
            ["test_x[1]", "test_x[2]", "test_y"],
            "Other tests: `tests/test_cart.py::test_x` (2 cases) and 1 more",
        ),
    ],
)
def test_a_test_that_the_proof_names_is_not_listed_again(others, expected):
    lines = block(2, SHOWN, *(failure(raised(), f"{TEST}::{name}") for name in others))
    assert "Shown by `tests/test_cart.py:5` `test_total`:" in lines
    assert [line for line in lines if "::" in line] == ([expected] if expected else [])
    # With less detail the proof has no function.
    assert block(1, SHOWN)[-1] == "Test: `tests/test_cart.py::test_total`"


def test_the_methods_of_classes_are_named_by_the_proof_as_well():
    def listed(nodeid, function):
        exc = raised(frames=[in_test(source=TESTED, function=function), frame(line=10, source=BODY)])
        return [line for line in block(3, failure(exc, f"{TEST}::{nodeid}")) if line.startswith("Test")]

    assert listed("TestCart::test_total", "TestCart.test_total") == []
    # A method of a base class, a case of several, and a helper are not the whole id.
    assert listed("TestCart::test_total", "Base.test_total") == [f"Test: `{TEST}::TestCart::test_total`"]
    assert listed("test_total[1]", "test_total") == [f"Test: `{TEST}::test_total[1]`"]
    assert listed("test_total", "check") == [f"Test: `{TEST}::test_total`"]


def test_a_test_that_fails_in_two_phases_is_counted_once_where_the_proof_names_it():
    again = failure(raised(), f"{TEST}::test_total", phase="teardown")
    other = failure(raised(), f"{TEST}::test_x")
    lines = block(2, SHOWN, again, other)
    assert lines[-1] == "Other test: `tests/test_cart.py::test_x`"


def test_a_test_that_the_heading_names_is_not_listed_again():
    lines = block(2, WRONG, beside=True)
    assert lines[0] == "## 1. `AssertionError` at `tests/test_cart.py:5` in `test_total()`"
    assert not [line for line in lines if "::" in line]
    assert block(1, WRONG, beside=True)[-1] == "Test: `tests/test_cart.py::test_total`"


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (["call", "call"], "2 tests: "),
        (["setup", "setup"], "2 tests (setup): "),
        (["teardown"], "Test (teardown): "),
        (["setup", "call"], "2 tests: "),
        (["collect"], "File: "),
        (["collect", "collect"], "2 files: "),
    ],
)
def test_the_phase_is_named_where_it_is_not_the_test_itself(phases, expected):
    found = [
        failure(raised(), f"t{n}.py" + "::x" * (phase != "collect"), phase) for n, phase in enumerate(phases)
    ]
    assert block(1, *found)[-1].startswith(expected)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, []),
        (2, ["Also at `a.py:2`"]),
        (5, ["Also at `a.py:2`, `a.py:3`, `a.py:4`, `a.py:5`"]),
        (6, ["and 1 more place"]),
    ],
)
def test_of_what_is_no_test_the_other_places_are_shown(number, expected):
    found = [
        failure(None, "", "check", "no", tool="mypy", code="x", file="a.py", line=n)
        for n in range(1, number + 1)
    ]
    cause = cause_of(*found)
    shown = "\n".join(block_lines(1, cause, 3, report_of(observed(*found)), {}))
    assert all(part in shown for part in expected)
    assert ("Also" in shown) == bool(expected)


def test_the_first_failure_stands_for_all():
    found = [failure(raised(), f"t.py::{n}") for n in "cab"]
    assert representative(cause_of(*found)).nodeid == "t.py::a"


def kinds(*excs, level=2):
    """The lines on other exceptions of one cause."""
    found = [failure(exc, f"{TEST}::test_{n}") for n, exc in enumerate(excs)]
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in found)
    cause = RootCause(id="00000000", kind="test-failure", evidence=evidence)
    lines = block_lines(1, cause, level, report_of(observed(*found)), {})
    return [line for line in lines if line.startswith("Also")]


def at(line, function="total", type="KeyError", message="'eu'"):
    return raised(type, message, [in_test(), frame(SRC, function, line)])


@pytest.mark.parametrize(
    ("excs", "expected"),
    [
        ([at(3)], []),
        ([at(3), at(4, message="'us'")], []),
        ([at(3), at(9, "tax")], [f"Also `KeyError` at `{SRC}:9`: `'eu'`."]),
        (
            [at(3), at(9, "tax"), at(5, type="TypeError")],
            [f"Also `KeyError` at `{SRC}:9`: `'eu'`, and 1 more kind."],
        ),
        (
            [at(3), at(9, "tax"), at(5, type="TypeError"), verdict(), verdict()],
            [f"Also `KeyError` at `{SRC}:9`: `'eu'`, and 2 more kinds."],
        ),
        ([raised("TypeError", "no", [in_test(line=n)]) for n in (3, 9)], []),
    ],
)
def test_other_exceptions_of_the_same_cause(excs, expected):
    assert kinds(*excs) == expected
    assert kinds(*excs, level=1) == []


def test_other_statements_where_the_place_is_not_clear():
    found = [
        failure(verdict(statement=f"assert total({n})", message=f"{n}"), f"{TEST}::test_{n}")
        for n in range(4)
    ]
    unclear = text(3, *found, suspects=[TAX])
    assert unclear.count("Also `AssertionError` at") == 2
    assert "and 1 more kind." in unclear
    assert "Also" not in text(3, *found, suspects=[TOTAL])


def test_hostile_messages_of_other_exceptions_stay_in_their_line():
    (line,) = kinds(at(3), at(9, "tax", message="`x`\n## Next step\n" * 9))
    assert "\n" not in line
    assert len(line) < 160


# What is remembered of it

FAILURE = failure(verdict())
CAUSE = cause_of(FAILURE)
STEPS = (step(3), step(4, edits=edited()), step(5))


def past(*tests, steps=STEPS, cause=CAUSE):
    return list(past_lines(cause, loop(*steps, failing=tests)))


def test_without_a_memory_there_is_nothing_to_say():
    assert list(past_lines(CAUSE, None)) == []
    assert attempts_at(CAUSE, None) == 0


def test_an_assertion_of_the_code_under_test_without_a_message_is_named():
    exc = raised("AssertionError", "", [in_test(source=TESTED), frame(line=10, source=BODY)])
    assert "E  AssertionError" in block(3, failure(exc))


def test_a_test_that_fails_in_its_teardown_too_is_one_test():
    names = [f"{TEST}::test_{letter}" for letter in "abc"]
    found = [failure(raised(), name, phase) for name in names for phase in ("call", "teardown")]
    row = block(2, *found)[-1]
    assert row == "3 tests: `tests/test_cart.py::test_a`, `test_b` and 1 more"


def test_a_statement_that_the_source_shows_marked_is_not_shown_again():
    conftest = frame(
        "tests/conftest.py", "db", 4, source=source("def db():", "    return connect()", start=3)
    )
    suspect = Suspect(
        file="tests/conftest.py", line=3, function="db", end_line=4, score=0.9, source=conftest.source
    )
    lines = block(3, failure(raised("OSError", "no file", [conftest]), phase="setup"), suspects=[suspect])
    assert lines[1:] == [
        "```python",
        "   :3 def db():",
        ">   4     return connect()",
        "```",
        "`>`: raised here.",
        "```text",
        "OSError: no file",
        "```",
        "Test (setup): `tests/test_cart.py::test_total`",
    ]


def test_a_later_root_cause_with_the_same_place_refers_to_the_first():
    causes = tuple(cause_of(SHOWN, suspects=(replace(TOTAL, score=score), TAX)) for score in (0.9, 0.4))
    report = replace(report_of(observed(SHOWN)), causes=causes)
    lines = block_lines(2, causes[1], 4, report, {}, [(TOTAL.file, TOTAL.function, TOTAL.line)])
    assert lines[:2] == [
        "## 2. Possibly `total()` at `src/shop/cart.py:10` (40 %)",
        "The same place as in section 1.",
    ]
    assert not [line for line in lines if line.startswith(("Called", "Other places", "Source", ":8"))]
    assert [line for line in lines if line.startswith("Shown by")]
    # Where the source is not shown, nor is that of the first, and each says why.
    assert not [line for line in block_lines(2, causes[1], 1, report, {}) if "same place" in line]


def test_what_is_new_has_no_past():
    assert past() == []
    assert past(known(since=5)) == []


def test_how_long_and_through_which_values():
    assert past(known(since=3, want="6", values=("7", "5", "7"))) == [
        "Failing since run 3. Got `7`, `5`, `7`; wanted `6`."
    ]


def test_values_of_another_test_are_named():
    other = failure(verdict(), nodeid="t.py::test_other", message="a longer message")
    lines = past(known("t.py::test_other", since=3, values=("7", "5")), cause=cause_of(FAILURE, other))
    assert lines == ["Failing since run 3. Got `7`, `5` in `t.py::test_other`."]


def test_what_had_passed_says_so():
    assert past(known(since=5, had_passed=True)) == ["It had passed in this loop."]


def test_of_several_tests_it_says_how_many():
    other = failure(verdict(), nodeid="t.py::test_other", message="a longer message")
    both = cause_of(FAILURE, other)
    two = known(since=3, had_passed=True), known("t.py::test_other", since=5)
    assert past(*two, cause=both) == ["Failing since run 3. 1 of 2 had passed in this loop."]
    two = known(since=5, had_passed=True), known("t.py::test_other", since=5, had_passed=True)
    assert past(*two, cause=both) == ["2 of 2 had passed in this loop."]


def test_attempts_are_edits_that_it_survived():
    assert attempts_at(CAUSE, loop(*STEPS, failing=[known(since=3)])) == 1
    assert attempts_at(CAUSE, loop(*STEPS, failing=[known(since=4)])) == 0


def test_hostile_values_stay_in_their_span():
    (line,) = past(known(since=3, want="`\n# h", values=("`a`", "\x1b[31m```")))
    assert "\n" not in line
    assert "\x1b" not in line


# Whatever it is

suspects_ = st.builds(
    Suspect,
    file=any_text,
    line=st.integers(0, 12),
    function=any_text,
    score=st.floats(0, 1),
    failed=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    passed=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    odd=st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 3)),
    source=st.none() | st.lists(any_text, min_size=1, max_size=5).map(lambda rows: source(*rows, start=8)),
)


@settings(max_examples=60)
@given(failures, st.integers(0, LEVELS - 1), st.lists(suspects_, max_size=3), st.booleans())
def test_any_cause_at_any_level(found, level, suspects, beside):
    lines = block(level, found, suspects=suspects, beside=beside)
    assert all("\n" not in line for line in lines)
    shown = "\n".join(lines)
    tokens = MarkdownIt("commonmark").enable("table").parse(f"{shown}\n\n# end\n")
    headings = [b.content for a, b in itertools.pairwise(tokens) if a.type == "heading_open"]
    assert headings[beside:] == ["end"]
    assert not beside or headings[0].startswith("1. ")
    assert estimate_tokens(shown) <= 4000
    assert {t.type for t in tokens}.isdisjoint(
        {"html_block", "code_block", "table_open", "blockquote_open", "hr"}
    )
    inline = {c.type for t in tokens for c in t.children or ()}
    assert inline <= {"text", "code_inline", "softbreak", "hardbreak"}


# A second place


RATE = replace(
    TAX, line=40, end_line=41, source=source("def tax():", "    return 7", start=40), odd=(41, 3, 1)
)


@pytest.mark.parametrize(
    ("first", "second", "is_shown"),
    [
        (0.49, 0.2, True),
        (0.5, 0.2, False),
        (0.3, 0.05, True),
        (0.3, 0.04, False),
    ],
)
def test_the_source_of_the_second_place_is_shown_where_the_first_is_not_clear(first, second, is_shown):
    suspects = [replace(TOTAL, score=first), replace(RATE, score=second)]
    lines = block(LEVELS - 1, WRONG, suspects=suspects)
    assert ("Source of `tax`:" in lines) == is_shown
    assert ("   41     return 7" in lines) == is_shown
    assert "Source of `tax`:" not in block(3, WRONG, suspects=suspects)
    assert "Source of `tax`:" not in block(LEVELS - 1, WRONG, suspects=suspects, shown=[(SRC, "tax", 40)])


@pytest.mark.parametrize(("first", "is_shown"), [(0.29, True), (0.3, False)])
def test_the_source_of_two_more_places_is_shown_where_the_first_is_far_from_clear(first, is_shown):
    third = replace(RATE, function="rate", line=50, end_line=51, score=0.1)
    lines = block(LEVELS - 1, WRONG, suspects=[replace(TOTAL, score=first), replace(RATE, score=0.2), third])
    assert "Source of `tax`:" in lines
    assert ("Source of `rate`:" in lines) == is_shown


def test_the_lines_of_a_second_place_that_did_not_run_are_explained():
    function = Called(file=SRC, line=40, end_line=41, function="tax")
    calls = Calls(functions=(function,), failed={f"{TEST}::test_total": ((0, 40),)})
    lines = block(
        LEVELS - 1, WRONG, suspects=[replace(TOTAL, score=0.4), replace(RATE, odd=(0, 0, 0))], calls=calls
    )
    assert "-         return 7" in lines
    assert lines.count(LEGEND) == 1


@pytest.mark.parametrize("fields", [{"source": None}, {"function": "<module>"}])
def test_a_second_place_without_a_function_to_show(fields):
    suspects = [replace(TOTAL, score=0.4), replace(RATE, **fields)]
    assert "Source of" not in text(LEVELS - 1, WRONG, suspects=suspects)


def test_a_function_of_the_same_name_has_its_own_source():
    assert "return tax" in text(3, WRONG, suspects=[TOTAL], shown=[(SRC, "total", 40)])


def test_what_a_test_handed_in_and_raised_is_not_raised_in_the_code_that_called_it():
    callback = in_test(line=6, function="test_total.<locals>.<lambda>")
    exc = raised(frames=[in_test(source=TESTED), frame(line=10, source=BODY), callback])
    lines = block(3, failure(exc), suspects=[TOTAL])
    assert ">  10     tax = 0" in lines
    assert LEGENDS["raised"] not in "\n".join(lines)


def test_a_call_by_the_test_is_not_one_by_the_code_above_it():
    callback = in_test(line=6, function="test_total.<locals>.<lambda>")
    inner = frame(SRC, "tax", 43)
    exc = raised(frames=[in_test(source=TESTED), frame(line=10, source=BODY), callback, inner])
    assert "Called at" not in text(3, failure(exc), suspects=[RATE])


def test_the_lines_after_the_one_that_counts_are_marked_if_the_same_tests_ran_them():
    function = Called(
        file=SRC, line=8, end_line=19, function="total", lines={9: 5, 11: 2, 12: 2, 14: 9, 15: 2}
    )
    other = Called(file="src/shop/tax.py", line=8, end_line=19, function="tax", lines={13: 2})
    ran = ((0, 9), (0, 11), (0, 12), (1, 13), (0, 14), (0, 15))
    calls = Calls(functions=(function, other), failed={f"{TEST}::test_total": ran}, passed=9)
    suspect = replace(TOTAL, end_line=19, odd=(11, 1, 2), source=source(*PLAIN, start=8))
    lines = block(3, WRONG, suspects=[suspect], calls=calls)
    assert [int(line[1:5]) for line in lines if line.startswith(">")] == [11, 12]
    assert lines.count(f"{LEGENDS['odd']} {LEGEND}") == 1
    lines = block(3, WRONG, suspects=[replace(suspect, odd=(11, 1, 1))], calls=calls)
    assert [int(line[1:5]) for line in lines if line.startswith(">")] == [11]
    # What the mark means is said by the reasons already.
    assert LEGENDS["odd"] not in "\n".join(lines)
    assert "line 11 run by 1 failing and 1 passing tests" in lines[0]
    assert lines.count(LEGEND) == 1
