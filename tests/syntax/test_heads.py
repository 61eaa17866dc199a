import textwrap

import pytest

from loop_close.edits import diff_of
from loop_close.syntax import edited_at

LONG = "x" * 300


def lines(text):
    return textwrap.dedent(text).strip("\n").split("\n")


BEFORE = lines("""
def total(cart):
    # The sum.
    goods = 0
    for item in cart:
        goods += item.price
    return goods
""")


def with_line(number, *replacement):
    return [*BEFORE[:number], *replacement, *BEFORE[number + 1 :]]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        *((with_line(number, "    changed = 1"), number) for number in range(6)),
        *((with_line(number), min(number, 4)) for number in range(1, 6)),
        (with_line(2, "    goods = 1", "    tax = 2"), 2),
        ([*with_line(2, "    goods = 1")[:4], "        goods += 2", "    return goods"], 2),
        (with_line(4, f"        goods += {LONG}"), 4),
        ([*BEFORE, "", "    tail = 1"], 6),
        (BEFORE[1:], 0),
        ([*BEFORE[:4], "", *BEFORE[4:]], 4),
    ],
)
def test_the_line_that_was_edited(now, expected):
    assert edited_at(now, diff_of(BEFORE, now)) == expected


def test_what_was_written_anew_begins_at_its_start():
    assert edited_at(BEFORE, diff_of((), BEFORE)) == 0


@pytest.mark.parametrize("diff", ["", "… 5 more lines", " same\n same", "-gone", "-gone\n+other"])
def test_a_diff_that_does_not_tell(diff):
    assert edited_at([*BEFORE, "", ""], diff) is None


def test_edits_since_are_no_trouble():
    diff = diff_of(BEFORE, with_line(2, "    goods = 1"))
    assert edited_at(with_line(2, "    goods = 2"), diff) is None
    assert edited_at(["new = 1", *with_line(2, "    goods = 1")], diff) == 3
