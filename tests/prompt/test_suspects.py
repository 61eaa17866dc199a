from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings
from loop_close.prompt.cause import cause_lines, shown_of
from loop_close.prompt.suspects import all_reasons, edited_in, suspect_lines
from prompt.test_report_json import VALIDATOR
from records import (
    SRC,
    any_text,
    edited,
    failure,
    frame,
    observed,
    origin,
    progress,
    raised,
    source,
    verdict,
)

from loop_close.calls import Calls
from loop_close.judge import close
from loop_close.memory import Step
from loop_close.model import Suspect
from loop_close.prompt.report_json import report_document
from loop_close.text.budget import estimate_tokens

TOTAL = Suspect(
    file=SRC,
    line=8,
    end_line=20,
    function="total",
    score=0.7,
    reasons=("edited right before this began to fail",),
    failed=(12, 12),
    passed=(3, 1480),
    odd=(11, 12, 0),
    source=source("def total(cart):", *(f"    line {n}" for n in range(9, 16)), start=8),
)
TAX = replace(
    TOTAL, function="tax", line=40, reasons=(), passed=(7, 1480), odd=(0, 0, 0), source=None, score=0.1
)


def reported(*suspects, exc=None, more=(), **fields):
    report = close(observed(failure(exc or verdict()), **fields))
    (cause,) = report.causes
    return replace(report, causes=(replace(cause, suspects=suspects), *more))


def lines(*suspects, **fields):
    return list(suspect_lines(reported(*suspects, **fields), 300))


def test_nothing_to_say():
    assert lines() == []


def test_the_first_with_its_odd_line_and_the_others():
    assert lines(TOTAL, TAX) == [
        "Called by how many of the 12 failing and 1,480 passing tests:",
        "- `src/shop/cart.py:8` `total`: 12 and 3 (line 11: 12 and 0); edited right before this began to fail",
        "- `src/shop/cart.py:40` `tax`: 12 and 7",
        *("```python", "    8 def total(cart):", "    9     line 9", "   10     line 10"),
        *(">  11     line 11", "   12     line 12", "   13     line 13", "```"),
    ]


#: A function as long as those that go wrong, from line 8 on.
LONG = (
    *("def total(", "    cart,", "    rate=19,", "):"),
    *('    """The sum of a cart.', "", "    It is long to explain, and no help at all.", '    """', ""),
    *("    # Goods.", "    goods = 0", "    for item in cart:", "        goods += item.price"),
    *("    tax = goods * rate", "    return goods + tax"),
)
PLAIN = ("def total(cart):", *(f"    line({n})" for n in range(9, 20)))
SHORT = ("    def total(cart):", "        'The sum.'", "        return 1")


def shown(lines_of_source, diff="", **fields):
    """The source in the section, for a suspect that was edited in that way if at all."""
    suspect = replace(
        TOTAL,
        **{"odd": (0, 0, 0), **fields},
        edited=6 if diff else 0,
        source=source(*lines_of_source, start=8),
    )
    loop = progress(Step(run=6, unresolved=1, edits=edited(diff=diff)), Step(run=7, unresolved=1))
    found = list(suspect_lines(replace(reported(suspect, TAX), progress=loop), 300))
    return found[found.index("```python") + 1 : -1]


def test_nothing_is_marked_where_no_line_is_in_question():
    assert shown(PLAIN) == ["    8 def total(cart):", *(f"{n:5}     line({n})" for n in range(9, 14))]


def test_a_long_signature_and_the_docstring_are_left_out():
    assert shown(LONG) == [
        *("    8 def total(", "     …", "   17     # Goods.", "   18     goods = 0"),
        *("   19     for item in cart:", "   20         goods += item.price"),
    ]


def test_the_docstring_is_left_out_around_an_odd_line_too():
    assert shown(SHORT, odd=(10, 12, 0)) == ["    8     def total(cart):", "     …", ">  10         return 1"]
    assert not [row for row in shown(LONG, odd=(18, 12, 0)) if '"""' in row]


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        (
            LONG,
            "         goods += item.price\n-    tax = 0\n+    tax = goods * rate\n     return goods + tax",
            21,
        ),
        (LONG, "-    cart\n+    cart,\n     rate=19,", 9),
        (LONG, "     goods = 0\n-    tax = 0\n     for item in cart:", 19),
        (PLAIN, "     line(10)\n+    line(11)\n     line(12)", 11),
        (PLAIN, "-def total(cat):\n+def total(cart):\n     line(9)", 8),
        (SHORT, "         'The sum.'\n-        return 2\n+        return 1", 10),
    ],
)
def test_the_edited_line_is_marked_and_the_definition_shown(text, diff, expected):
    rows = shown(text, diff)
    assert [int(row[1:5]) for row in rows if row.startswith(">")] == [expected]
    assert rows[0][6:] == text[0]
    assert not [row for row in rows if '"""' in row or "'The sum.'" in row]


def test_an_edit_that_is_not_to_be_found_marks_nothing():
    assert shown(LONG, "-    gone\n+    other") == shown(LONG)


def test_an_odd_line_comes_before_an_edited_one():
    assert [r for r in shown(PLAIN, "+    line(11)", odd=(15, 12, 0)) if r.startswith(">")] == [
        ">  15     line(15)"
    ]


def test_a_line_of_a_module_is_marked():
    rows = shown(("EU = 1", "RATE = 2", "WORLD = 3"), "+RATE = 2", function="<module>", line=9, end_line=0)
    assert rows == ["    8 EU = 1", ">   9 RATE = 2", "   10 WORLD = 3"]


def test_lines_that_are_cut_out_of_a_long_function():
    assert shown(PLAIN[3:])[0] == "    8     line(11)"


def test_the_section_keeps_to_its_bound():
    wide = (
        "def total(",
        *(f"    {'x' * 300}{n}=1," for n in range(9)),
        "):",
        *("    y = 1" for _ in range(9)),
    )
    suspect = replace(TOTAL, odd=(0, 0, 0), source=source(*wide, start=8))
    assert estimate_tokens("\n".join(lines(suspect, *[TAX] * 4))) < 300


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
    loop = progress(Step(run=4), *(Step(run=run, edits=edits) for run, edits in steps.items()))
    suspect = replace(TOTAL, edited=6)
    assert edited_in(PLAIN, suspect, loop) == expected
    assert edited_in(PLAIN, suspect, None) is None
    assert edited_in(PLAIN, replace(suspect, edited=0), loop) is None


@pytest.mark.parametrize(
    ("start", "rows", "odd", "is_above"),
    [(9, 4, 12, True), (9, 4, 13, False), (11, 4, 10, False), (11, 4, 14, True), (9, 1, 0, True)],
)
def test_source_that_stands_above_is_not_shown_again(start, rows, odd, is_above):
    body = source(*(f"    line {start + n}" for n in range(rows)), start=start)
    shown = verdict(origin("total", line=8, source=source("def total(cart):", start=8), body=body))
    first = replace(TOTAL, odd=(odd, 12, 0) if odd else (0, 0, 0))
    assert ("```python" not in lines(first, TAX, exc=shown)) == is_above


def test_of_what_stands_above_no_more_counts_than_has_room():
    body = source(*(f"    line {n}" for n in range(11, 30)), start=11)
    shown = verdict(origin("total", line=8, source=source("def total(cart):", start=8), body=body))
    (cause,) = close(observed(failure(shown))).causes
    assert [n for n in range(40) if n in shown_of(cause)] == [0, 8, *range(11, 17)]
    assert len([row for row in cause_lines(1, cause, 3) if row.lstrip()[:2].isdecimal()]) == 6


def test_failing_tests_beyond_the_bound_are_those_of_the_cause():
    calls = Calls(passed=1480, failed={"tests/test_cart.py::test_total": ()}, omitted=686)
    report = reported(TOTAL, TAX, calls=calls)
    (cause,) = report.causes
    more = tuple(
        replace(cause.evidence[0], failure=failure(verdict(), nodeid=f"tests/test_cart.py::test_{n}"))
        for n in range(27)
    )
    report = replace(report, causes=(replace(cause, evidence=(*cause.evidence, *more)),))
    assert "12 failing (27 more were not looked at) and 1,480 passing" in next(suspect_lines(report, 300))


def test_place_that_was_raised_from_is_not_shown_again():
    assert "```python" not in lines(TOTAL, TAX, exc=raised(frames=[frame(function="total", line=9)]))


def test_the_place_that_was_told_is_no_news():
    exc = raised(frames=[frame(function="total", line=9)])
    assert lines(TOTAL, exc=exc) == []
    assert lines(TAX, exc=exc) != []


def test_several_causes_are_told_apart():
    report = reported(TOTAL, TAX)
    (cause,) = report.causes
    two = replace(report, causes=(cause, replace(cause, suspects=(TAX, TOTAL, TAX, TAX))))
    found = list(suspect_lines(two, 300))
    assert found[0] == "Of 1, called by how many of the 12 failing and 1,480 passing tests:"
    assert [line for line in found if line.startswith("Of 2")] != []
    assert len([line for line in found if line.startswith("- ")]) == 2 + 3


def test_without_counts():
    plain = replace(TAX, failed=(0, 0), passed=(0, 0), reasons=("on the traceback",))
    assert lines(plain) == []  # the traceback is told
    edited = replace(plain, reasons=("edited right before this began to fail", "on the traceback"), edited=6)
    assert lines(edited) == [
        "- `src/shop/cart.py:40` `tax`: edited right before this began to fail; on the traceback"
    ]


def test_changed_since_the_passing_tests_were_counted():
    changed = replace(TAX, passed=(0, 0), reasons=("edited right before this began to fail",))
    assert (
        lines(TOTAL, changed)[2]
        == "- `src/shop/cart.py:40` `tax`: 12 failing; edited right before this began to fail"
    )


def test_counts_of_an_earlier_run():
    (heading, *_) = lines(TOTAL, TAX, calls=Calls(remembered=1480))
    assert (
        heading == "Called by how many of the 12 failing and 1,480 passing tests (counted in an earlier run):"
    )


@pytest.mark.parametrize("is_asked", [True, False])
def test_why_nothing_was_counted(is_asked):
    found = lines(why_no_calls="Python 3.11 has no sys.monitoring", asks_for_calls=is_asked)
    assert bool(found) == is_asked
    assert not found or found[0].endswith("tests: `Python 3.11 has no sys.monitoring`.")


def test_reasons_by_themselves():
    assert list(all_reasons(TOTAL)) == [
        "called by 12 of 12 failing and 3 of 1480 passing tests",
        "line 11 run by 12 failing and 0 passing tests",
        "edited right before this began to fail",
    ]


@settings(max_examples=30)
@given(any_text, any_text)
def test_hostile_names(file, function):
    suspect = replace(TAX, file=file, function=function)
    (_, line) = lines(suspect)
    assert "\n" not in line
    assert line.startswith("- `")


def test_the_report_has_them():
    report = reported(TOTAL, TAX)
    document = report_document(report, "")
    jsonschema.validate(document, VALIDATOR.schema)
    assert [s["function"] for s in document["root_causes"][0]["suspects"]] == ["total", "tax"]
    assert document["suspects"] == [
        {"cause": report.causes[0].id, **document["root_causes"][0]["suspects"][0]}
    ]
    assert document["root_causes"][0]["suspects"][0]["score"] == 0.7
