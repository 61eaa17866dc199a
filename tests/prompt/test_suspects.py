from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings
from prompt.test_report_json import VALIDATOR
from records import SRC, any_text, failure, frame, observed, origin, raised, source, verdict

from loop_close.calls import Calls
from loop_close.judge import close
from loop_close.model import Suspect
from loop_close.prompt.report_json import report_document
from loop_close.prompt.suspects import all_reasons, suspect_lines

TOTAL = Suspect(
    file=SRC,
    line=8,
    end_line=20,
    function="total",
    score=0.7,
    reasons=("edited before run 6",),
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
        "- `src/shop/cart.py:8` `total`: 12 and 3, line 11 12 and 0; edited before run 6",
        "- `src/shop/cart.py:40` `tax`: 12 and 7",
        *("```python", "    8 def total(cart):", "    9     line 9", "   10     line 10"),
        *(">  11     line 11", "   12     line 12", "   13     line 13", "```"),
    ]


def test_source_that_stands_above_is_not_shown_again():
    shown = verdict(origin("total", line=8, source=source("def total(cart):", start=8)))
    assert "```python" not in lines(TOTAL, TAX, exc=shown)
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
    edited = replace(plain, reasons=("edited before run 6", "on the traceback"), edited=6)
    assert lines(edited) == ["- `src/shop/cart.py:40` `tax`: edited before run 6; on the traceback"]


def test_changed_since_the_passing_tests_were_counted():
    changed = replace(TAX, passed=(0, 0), reasons=("edited before run 6",))
    assert lines(TOTAL, changed)[2] == "- `src/shop/cart.py:40` `tax`: 12 failing; edited before run 6"


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
        "edited before run 6",
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
