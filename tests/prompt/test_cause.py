import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records import SRC, TEST, any_text, failure, failures, frame, in_test, observed, raised, source, verdict

from loop_close.calls import Called, Calls
from loop_close.judge import report_of
from loop_close.model import Difference, Evidence, Observation, Site, SourceResult, Suspect
from loop_close.prompt.cause import all_reasons, root_causes
from loop_close.prompt.compose import estimate_tokens
from loop_close.prompt.place import percent, probable_place
from loop_close.prompt.source import LEGEND
from loop_close.records import NO_LOOP

BODY = source("def total(cart):", "    '''Doc.'''", "    tax = 0", "    return tax", start=8)
TESTED = source("def test_total():", "    cart = 1", "    assert total(", "        cart) == 1", start=3)
TOTAL = Suspect(file=SRC, line=8, end_line=11, function="total", score=0.62, failed=(3, 3), passed=(1, 806))
RATES = replace(
    TOTAL,
    line=3,
    end_line=4,
    function="<module>",
    constant="RATES",
    reasons=("RATES is loaded in line 10 of total()",),
)
TAX = replace(TOTAL, function="tax", line=40, end_line=50, score=0.2)


def cause_of(*found, suspects=(), excerpts=(BODY,)):
    """The one root cause of failures, with suspects of the test's choice."""
    causes = report_of(observed(*found)).causes
    evidence = tuple(itertools.chain.from_iterable(cause.evidence for cause in causes))
    return replace(
        causes[0], evidence=evidence, suspects=tuple(suspects), excerpts=tuple(excerpts)[: len(suspects)]
    )


def block(*found, suspects=(), excerpts=(BODY,), number=1, loop=NO_LOOP, sources=(), **fields):
    """The lines of the first root cause; of one of several with ``number=2``."""
    cause = cause_of(*found, suspects=suspects, excerpts=excerpts)
    report = report_of(observed(*found, **fields))
    report = replace(report, causes=(cause,) * number, loop=loop, sources=tuple(sources))
    found = [each for each in root_causes(report, {}) if each.cause < 2]
    return [line for each in found for line in each.lines if line]


def text(*args, **fields):
    return "\n".join(block(*args, **fields))


SHOWN = failure(raised(frames=[in_test(source=TESTED), frame(line=10, source=BODY)]))
WRONG = failure(
    replace(verdict(), site=Site(frame=in_test(source=TESTED), statement="assert total(cart) == 1"))
)


# The place


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (failure(raised()), "## 1. `ValueError` at `src/shop/cart.py:10`"),
        (failure(raised(frames=[frame(function="<module>")])), "## 1. `ValueError` at `src/shop/cart.py:10`"),
        (failure(None, "", "session"), "## 1. `internal-error`"),
        (failure(raised("a`b\n# c", frames=[])), "## 1. ``a`b # c`` at `tests/test_cart.py`"),
    ],
)
def test_without_a_suspect_the_heading_is_the_exception_and_its_location(found, expected):
    assert block(found, number=2)[0] == expected


@pytest.mark.parametrize(
    ("suspect", "expected"),
    [
        (TOTAL, "## 1. `total()` in `src/shop/cart.py:8` (62 % probable)"),
        (replace(TOTAL, odd=(10, 3, 0)), "## 1. `total()` in `src/shop/cart.py:10` (62 % probable)"),
        (replace(TOTAL, function="<module>", line=3), "## 1. `src/shop/cart.py:3` (62 % probable)"),
        (replace(RATES, function="Cart"), "## 1. `RATES` in `src/shop/cart.py:3` (62 % probable)"),
        (
            replace(TOTAL, line=0),
            "## 1. `total()` in `src/shop/cart.py` (62 % probable)",
        ),
        (replace(TOTAL, file="`\n# h.py"), "## 1. `total()` in `` ` # h.py:8 `` (62 % probable)"),
    ],
)
def test_the_heading_is_the_first_place_with_its_probability(suspect, expected):
    assert block(WRONG, suspects=[suspect], number=2)[0] == expected


def test_the_line_that_raised_comes_before_the_one_that_few_passing_tests_ran():
    assert probable_place(cause_of(SHOWN, suspects=[replace(TOTAL, odd=(11, 3, 0))])).line == 10
    assert probable_place(cause_of(WRONG, suspects=[replace(TOTAL, odd=(11, 3, 0))])).line == 11


# Why


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["run by 3 of 3 failing and 1 of 806 passing tests"]),
        ({"failed": (1, 1), "passed": (0, 0)}, ["run by 1 of 1 failing test"]),
        ({"failed": (0, 0), "passed": (0, 0), "reasons": ("on the traceback",)}, ["on the traceback"]),
        (
            {"odd": (11, 3, 0), "reasons": ("edited before run 4",)},
            [
                "run by 3 of 3 failing and 1 of 806 passing tests",
                "line 11 by 3 failing and 0 passing",
                "edited before run 4",
            ],
        ),
    ],
)
def test_reasons_the_counts_first(fields, expected):
    assert list(all_reasons(replace(TOTAL, **fields))) == expected


def test_the_reasons_are_one_sentence_and_those_of_a_constant_have_the_counts_of_what_loads_it():
    assert "\nWhy: run by 3 of 3 failing and 1 of 806 passing tests; on it.\n" in text(
        WRONG, suspects=[replace(TOTAL, reasons=("on it",))], number=2
    )
    why = "RATES is loaded in line 10 of total(), run by 3 of 3 failing and 1 of 806 passing tests."
    assert f"Why: {why}" in text(WRONG, suspects=[RATES])


def test_passing_tests_that_run_the_place_are_named():
    guarded = replace(TOTAL, guards=("t.py::a", "t.py::b", "t.py::c", "t.py::d"), passed=(9, 806))
    line = "Also passing here: `t.py::a`, `b`, `c` and 6 more; they run it too."
    assert line in block(WRONG, suspects=[guarded])
    assert "passing here" not in text(WRONG, suspects=[TOTAL])


def test_of_several_sources_where_it_fails_and_where_it_passes():
    cause = cause_of(WRONG)
    red = SourceResult(verdict="red", observation=Observation(source="py311"), causes=(cause.id,))
    seen = Observation(source="py312", outcomes={WRONG.nodeid: "passed"})
    green = SourceResult(verdict="green", observation=seen)
    assert block(WRONG, sources=[red, green])[0] == "Fails on `py311`; passes on `py312`."


def test_what_a_checker_found_in_the_suspect_is_shown_with_it():
    said = failure(None, "", "check", "no attribute x", tool="mypy", code="attr")
    found = tuple(
        Evidence(kind="typecheck-error", snippet="no attribute x", file=SRC, line=9 + n, failure=said)
        for n in range(5)
    )
    cause = replace(cause_of(WRONG, suspects=[TOTAL]), findings=found)
    report = replace(report_of(observed(WRONG)), causes=(cause,))
    lines = [line for each in root_causes(report, {}) for line in each.lines]
    assert lines[1] == "`mypy` at `src/shop/cart.py:9`: `no attribute x`"
    assert "… and 2 more findings there." in lines


# Its source


def ran_by(*tests):
    function = Called(file=SRC, line=8, end_line=11, function="total")
    return Calls(functions=(function,), failed=dict.fromkeys(tests, ((0, 8), (0, 11))))


def test_the_source_of_the_suspect_with_the_lines_that_did_not_run():
    lines = block(WRONG, suspects=[replace(TOTAL, odd=(11, 3, 0))], calls=ran_by(f"{TEST}::test_total"))
    assert lines[1:8] == [
        "```python",
        " 8  def total(cart):",
        " 9      '''Doc.'''",
        "10-     tax = 0",
        "11>     return tax",
        "```",
        LEGEND,
    ]
    for calls in (Calls(), ran_by(f"{TEST}::test_other")):
        assert LEGEND not in block(WRONG, suspects=[TOTAL], calls=calls)


@pytest.mark.parametrize(("score", "is_shown"), [(0.31, True), (0.3, False)])
def test_other_places_are_named_from_five_percent_on_and_shown_from_half_of_the_first_on(score, is_shown):
    other, body = replace(TAX, score=score, odd=(41, 3, 1)), source("def tax():", "    return 7", start=40)
    lines = block(WRONG, suspects=[TOTAL, other], excerpts=[BODY, body])
    assert f"Other places: `{SRC}:41` `tax` ({percent(score)})." in lines
    assert "Other places" not in "".join(block(WRONG, suspects=[TOTAL, replace(other, score=0.04)]))
    assert ("41>     return 7" in lines) == is_shown


# The proof


def test_one_test_with_its_statement_and_what_it_got():
    assert block(WRONG) == [
        "Shown by `tests/test_cart.py::test_total` (line 5):",
        *("```python", "def test_total():", "    cart = 1", "    assert total(", "        cart) == 1"),
        *("E  assert 0 == 1", "```"),
    ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (replace(SHOWN, phase="teardown"), "Shown by `tests/test_cart.py::test_total` (teardown, line 5):"),
        (replace(SHOWN, subtest="(n=1)"), "Shown by `tests/test_cart.py::test_total` `(n=1)` (line 5):"),
        (
            failure(raised("E", "no", [frame("tests/conftest.py", "db", 4)]), phase="setup"),
            "Shown by `tests/test_cart.py::test_total` (setup, `tests/conftest.py:4`):",
        ),
    ],
)
def test_the_test_that_shows_it_is_named_with_its_phase_and_line(found, expected):
    assert expected in block(found)


def test_a_helper_that_failed_is_shown_below_the_statement_of_the_test():
    helper = frame(
        "tests/helpers.py", "check", 8, source=source("def check(found):", "    assert found", start=7)
    )
    lines = block(failure(raised(frames=[in_test(source=TESTED), replace(helper, is_test=True)])))
    assert lines[0] == "Shown by `tests/test_cart.py::test_total` (line 5):"
    assert lines[5:8] == ["        cart) == 1", "# tests/helpers.py:8", "assert found"]


def test_a_decorator_of_tests_is_not_the_test():
    wrapper = replace(frame("tests/conftest.py", "deco.<locals>.wrapper", 4), is_test=True)
    lines = block(failure(raised(frames=[wrapper, in_test(source=TESTED)])))
    assert lines[0] == "Shown by `tests/test_cart.py::test_total` (line 5):"
    assert lines[2:7] == [
        "def test_total():",
        "    cart = 1",
        "    assert total(",
        "        cart) == 1",
        "E  ValueError: bad",
    ]


def test_helpers_that_call_each_other_the_last_one_is_shown():
    helpers = [
        replace(
            frame("tests/helpers.py", name, line, source=source(f"raise {name}", start=line)), is_test=True
        )
        for name, line in (("even", 3), ("odd", 7), ("even", 2))
    ]
    lines = block(failure(raised(frames=[in_test(source=TESTED), *helpers])))
    assert "# tests/helpers.py:2" in lines
    assert "raise even" in lines


def test_a_message_in_lines_its_first_ones_and_the_last():
    lines = block(failure(raised(message="\n".join(f"line {n}" for n in range(20)), frames=[])))
    assert lines[2:4] == ["ValueError: line 0", "line 1"]
    assert lines[8:11] == ["line 6", "… 12 more lines", "line 19"]
    assert block(failure(None, "", "session", message="  "))[1] == "(no message)"


def test_where_values_differ_the_differences_take_the_place_of_the_diff():
    differences = (
        Difference(path='["a"]', left="3", right="4"),
        Difference(path='["b"]', left="", right="7"),
    )
    exc = verdict(message="assert {'a': 3} == {'a': 4}\n  diff\n  more", differences=differences)
    lines = block(failure(exc))
    assert lines[2:5] == [
        "assert {'a': 3} == {'a': 4}",
        'left["a"]: 3 != 4',
        'only in the right value: ["b"] = 7',
    ]


# What is beside it


def test_where_it_was_raised_and_what_called_that_where_it_is_not_the_place():
    inner = frame("src/shop/tax.py", "rate", 3, source=source("def rate():", "    return T[1]", start=2))
    exc = raised(frames=[in_test(), frame(line=10), inner])
    lines = block(failure(exc), suspects=[TOTAL])
    called = "called from `src/shop/cart.py:10` in `total`."
    assert f"Traceback: `src/shop/tax.py:3` in `rate`: `return T[1]`; {called}" in lines
    place = replace(TOTAL, file="src/shop/tax.py", line=2, function="rate", odd=(3, 1, 0))
    assert f"C{called[1:]}" in block(failure(exc), suspects=[place])


def test_the_chain_and_the_members_are_listed_with_their_places():
    inner = raised("KeyError", "'eu'", [frame(line=3)], context=raised("OSError", " ", [frame(line=4)]))
    exc = raised("ExceptionGroup", "two", members=(inner, raised("TypeError", "no", [])), omitted_members=3)
    lines = block(failure(exc))
    assert "- holds `KeyError` at `src/shop/cart.py:3`: `'eu'`" in lines
    assert "  - raised while handling `OSError` at `src/shop/cart.py:4`" in lines
    assert "- holds `TypeError`: `no`" in lines
    assert "- and 3 more exceptions" in lines


def test_other_exceptions_of_the_same_cause():
    def at(line, function="total", type="KeyError", message="'eu'"):
        return raised(type, message, [in_test(), frame(SRC, function, line)])

    found = [at(3), at(4), at(9, "tax"), at(5, type="TypeError"), at(6, type="OSError", message="`\n# h")]
    tests = [failure(exc, f"{TEST}::test_{n}") for n, exc in enumerate(found)]
    (line,) = [line for line in block(*tests) if line.startswith("Also ")]
    assert line.count(" at `src/shop/cart.py:") == 2
    assert line.endswith(", and 1 more kind.")
    assert "Also" not in text(*tests[:2])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["test_x"], "1 more failing: `test_x`"),
        (["test_x[1]", "test_x[2]", "test_y"], "3 more failing: `test_x` (2 cases), `test_y`"),
        (
            [f"test_{n}[1]" for n in "uvwxy"],
            "5 more failing: `test_u`, `test_v` and 3 more",
        ),
    ],
)
def test_the_other_tests_are_named_and_counted(names, expected):
    others = [failure(raised(), f"{TEST}::{name}") for name in names]
    again = replace(SHOWN, phase="teardown")  # is no other test
    assert block(SHOWN, again, *others)[-1] == expected
    assert "more failing" not in text(SHOWN, again)


def test_of_what_is_no_test_the_other_places_are_shown():
    found = [
        failure(None, "", "check", "no", tool="mypy", code="x", file="a.py", line=n) for n in range(1, 7)
    ]
    assert block(*found)[-1] == "Also at `a.py:2`, `a.py:3`, `a.py:4` and 2 more."


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
    guards=st.lists(any_text, max_size=2).map(tuple),
)
excerpts_ = st.lists(any_text, max_size=5).map(lambda rows: source(*rows, start=8))


@settings(max_examples=60)
@given(failures, st.lists(suspects_, max_size=3), st.lists(excerpts_, max_size=2), st.integers(1, 2))
def test_any_cause(found, suspects, excerpts, number):
    lines = block(found, suspects=suspects, excerpts=excerpts, number=number)
    assert all("\n" not in line for line in lines)
    shown = "\n".join(lines)
    tokens = MarkdownIt("commonmark").enable("table").parse(f"{shown}\n\n# end\n")
    headings = [b.content for a, b in itertools.pairwise(tokens) if a.type == "heading_open"]
    assert headings[number - 1 :] == ["end"]
    assert estimate_tokens(shown) <= 4000
    assert {t.type for t in tokens}.isdisjoint(
        {"html_block", "code_block", "table_open", "blockquote_open", "hr"}
    )
    inline = {c.type for t in tokens for c in t.children or ()}
    assert inline <= {"text", "code_inline", "softbreak", "hardbreak"}
