import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_close.prompt.cause import LEVELS, cause_lines, definition_of, representative
from markdown_it import MarkdownIt
from records import SRC, TEST, failure, failures, frame, in_test, observed, origin, raised, source, verdict

from loop_close.app import close
from loop_close.model import Site
from loop_close.text.budget import estimate_tokens


def cause_of(*found):
    (cause,) = close(observed(*found)).causes
    return cause


def lines(level, *found, **more):
    return cause_lines(1, cause_of(*found), level, **more)


BODY = source("def total(cart):", "    return 0", start=8)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (failure(raised()), "### 1. `ValueError` at `src/shop/cart.py:10` in `total`"),
        (
            failure(raised(frames=[frame(function="<module>")])),
            "### 1. `ValueError` at `src/shop/cart.py:10`",
        ),
        (failure(raised(frames=[frame(line=0)])), "### 1. `ValueError` at `src/shop/cart.py` in `total`"),
        (failure(None, "t.py::x", line=3), "### 1. `test-failure` at `t.py:3`"),
        (failure(None, "", "session"), "### 1. `internal-error`"),
        (failure(raised("a`b\n# c", frames=[])), "### 1. ``a`b # c`` at `tests/test_cart.py`"),
    ],
)
@pytest.mark.parametrize("level", range(LEVELS))
def test_heading(found, expected, level):
    assert lines(level, found)[0] == expected


def test_level_0_is_the_message_and_the_tests_on_one_line():
    assert lines(0, failure(raised(message="no price\nfor tea"))) == [
        "### 1. `ValueError` at `src/shop/cart.py:10` in `total`",
        "`no price for tea` Test: `tests/test_cart.py::test_total`",
    ]
    assert lines(0, failure(None, "", "session", message="  "))[1] == "(no message)"


def test_level_1_is_the_message_as_it_is():
    assert lines(1, failure(raised(message="no price\n  for tea")))[1:] == [
        "```text",
        "no price",
        "  for tea",
        "```",
        "Test: `tests/test_cart.py::test_total`",
    ]


def test_level_2_shows_the_statement():
    at = frame(line=9, source=BODY)
    found = failure(raised(frames=[in_test(), at]))
    text = "\n".join(lines(2, found))
    assert ">   9     return 0" in text
    assert "    8 def total(cart):" in text
    assert "return 0" not in "\n".join(lines(1, found))


def test_level_3_shows_where_the_values_come_from():
    found = failure(verdict(origin(source=BODY)))
    text = "\n".join(lines(3, found))
    assert "`total` at `src/shop/cart.py:8`" in text
    assert "    9     return 0" in text


def test_a_definition_that_stands_in_the_prompt_is_not_shown_again():
    cause = cause_of(failure(verdict(origin(source=BODY))))
    assert definition_of(cause) == (SRC, 8)
    assert "return 0" in "\n".join(cause_lines(1, cause, 3))
    assert "return 0" not in "\n".join(cause_lines(1, cause, 3, [(SRC, 8)]))
    assert definition_of(cause_of(failure(verdict(origin(source=None))))) is None


def test_fixture_that_made_the_value():
    exc = verdict(origin("fixture data", "", line=0))
    assert "`fixture data`" in "\n".join(lines(3, failure(exc)))


def test_chain_and_group_are_shown_at_every_level():
    exc = raised(
        "ExceptionGroup",
        members=(raised("A", "one"), raised("B", "two")),
        cause=raised("C", "three", context=raised("D", "four")),
        omitted_members=4,
    )
    for level in range(LEVELS):
        text = "\n".join(lines(level, failure(exc)))
        for name, message in [("A", "one"), ("B", "two"), ("C", "three"), ("D", "four")]:
            assert f"`{name}` at `src/shop/cart.py:10`: `{message}`" in text
        assert "raised from `C`" in text
        assert "raised while handling `D`" in text
        assert "and 4 more exceptions" in text


def test_many_members_are_counted():
    exc = raised("ExceptionGroup", members=tuple(raised(f"E{n}") for n in range(20)))
    text = "\n".join(lines(1, failure(exc)))
    assert text.count("- holds") + int(text.split("- and ")[1].split()[0]) == 20


@pytest.mark.parametrize(
    ("nodeids", "expected"),
    [
        (["t.py::a"], "Test: `t.py::a`"),
        (["t.py::a[1]"], "Test: `t.py::a[1]`"),
        (["t.py::a[1]", "t.py::a[2]"], "2 tests: `t.py::a` (2 cases)"),
        (["t.py::b", "t.py::a"], "2 tests: `t.py::a` and 1 more"),
        ([f"t.py::{c}" for c in "abcdefgh"], "8 tests: `t.py::a` and 7 more"),
        (["t.py::a", "t.py::b[1]", "t.py::b[2]"], "3 tests: `t.py::a` and 2 more"),
        (["t.py::a[`]"], "Test: ``t.py::a[`]``"),
    ],
)
def test_tests(nodeids, expected):
    assert lines(1, *(failure(raised(), n) for n in nodeids))[-1] == expected


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (["call", "call"], "2 tests: "),
        (["setup", "setup"], "2 tests (setup): "),
        (["teardown"], "Test (teardown): "),
        (["setup", "call"], "2 tests: "),
    ],
)
def test_phase_is_told_where_it_is_not_the_test_itself(phases, expected):
    found = [failure(raised(), f"t.py::{n}", phase) for n, phase in enumerate(phases)]
    assert lines(1, *found)[-1].startswith(expected)


def test_other_wordings():
    found = [failure(raised(message=f"no {n}"), f"t.py::test[{n}]") for n in range(9)]
    assert not any(line.startswith("Also") for line in lines(1, *found))
    for level in range(2, LEVELS):
        (also,) = [line for line in lines(level, *found) if line.startswith("Also: ")]
        told = also.count("`no ")
        assert f"{8 - told} more wordings" in also
    assert "Also: `no 1` and 7 more wordings" in lines(3, *found)
    assert "Also: 1 more wording" in lines(2, *found[:2])
    assert "Also: `no 1`" in lines(3, *found[:2])


def test_one_wording_has_no_others():
    found = [failure(raised(message="no"), f"t.py::test[{n}]") for n in range(9)]
    assert not any(line.startswith("Also") for line in lines(3, *found))


def test_long_message_is_cut_and_says_so():
    for level in range(1, LEVELS):
        text = "\n".join(lines(level, failure(raised(message="a line of a message\n" * 400))))
        assert "more lines" in text
        assert len(text) < 1500


def test_representative_is_the_first():
    found = [failure(raised(), f"t.py::{n}") for n in "cab"]
    assert representative(cause_of(*found)).nodeid == "t.py::a"


def test_hidden_frames_and_callers():
    inner, outer = frame(line=30, function="pay"), frame(line=20, function="order", source=BODY)
    site = Site(frame=inner, statement="raise")
    exc = raised(
        frames=[in_test(source=source("def test_total():", "    order()", start=4)), outer, inner], site=site
    )
    text = "\n".join(lines(2, failure(exc)))
    assert "Called from `order` (`src/shop/cart.py:20`)" in text
    assert f"{TEST}:5" in text


@settings(max_examples=60)
@given(failures, st.integers(0, LEVELS - 1))
def test_any_cause_at_any_level(found, level):
    made = lines(level, found)
    assert all("\n" not in line for line in made)
    text = "\n".join(made)
    tokens = MarkdownIt("commonmark").parse(f"{text}\n\n# end\n")
    headings = [b.content for a, b in itertools.pairwise(tokens) if a.type == "heading_open"]
    assert len(headings) == 2
    assert headings[1] == "end"
    assert estimate_tokens(text) <= 4000
    assert "html_block" not in {t.type for t in tokens}
