import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.edits import diff_of
from loop_close.syntax import body_line, body_start, edited_at

LONG = "x" * 300


def lines(text):
    return textwrap.dedent(text).strip("\n").split("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): return 1", 0),
        ("def f():\n    return 1", 1),
        ("def f():\n    # why\n    return 1", 2),
        ("def f():\n    'It.'\n    return 1", 2),
        ("def f():\n    'It.'\n    # why\n    return 1", 2),
        ("def f():\n    '''It.\n\n    More.\n    '''\n\n    return 1", 6),
        ("def f():\n    'It.'", 1),
        ("def f():\n    'It.'; return 1", 1),
        ("def f():\n    f'It.'\n    return 1", 1),
        ("@a\n@b\ndef f(\n    x,\n):\n    'It.'\n    return 1", 6),
        ("async def f():\n    'It.'\n    return 1", 2),
        ("    def f():\n        'It.'\n        return 1", 2),
        ("\tdef f():\n\t\t'''It.\nMore.'''\n\t\treturn 1", 3),
        ("def f():\n    'It.'\n    @a\n    def g(): ...", 2),
        ("def f():\n    '''It.", 0),
        ("    return 1", 0),
        ("return 1\n", 0),
        ("class A:\n    'It.'\n    def f(self):\n        return 1", 0),
        ("class A:\n    def f(self):\n        return 1", 0),
        ("", 0),
        ("\x00", 0),
        ("   ", 0),
    ],
)
def test_lines_above_the_body(text, expected):
    assert body_start(text.split("\n")) == expected


def test_no_lines():
    assert body_start([]) == 0


@given(st.lists(st.text(max_size=20), max_size=8))
def test_whatever_the_lines_are(some):
    assert 0 <= body_start(some) <= len(some)


@pytest.mark.parametrize(
    "text", ["def f():\n    'a'\n    1\n", "def f():\n    'a'; 1\n", "def f():\n    1\n"]
)
def test_the_body_line_of_a_tree(text):
    (function,) = ast.parse(text).body
    assert text.split("\n")[body_line(function) - 1].strip() in ("1", "'a'; 1")


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
        ([*BEFORE[:4], "", *BEFORE[4:]], 4),
    ],
)
def test_the_line_that_was_edited(now, expected):
    assert edited_at(now, diff_of(BEFORE, now)) == expected


def test_nothing_is_left_above():
    assert edited_at(BEFORE[1:], diff_of(BEFORE, BEFORE[1:])) == 0


def test_what_was_written_anew_begins_at_its_start():
    assert edited_at(BEFORE, diff_of((), BEFORE)) == 0


@pytest.mark.parametrize("diff", ["", "… 5 more lines", " same\n same", "-gone", "-gone\n+other"])
def test_a_diff_that_does_not_tell(diff):
    assert edited_at([*BEFORE, "", ""], diff) is None


def test_edits_since_are_no_trouble():
    diff = diff_of(BEFORE, with_line(2, "    goods = 1"))
    assert edited_at(with_line(2, "    goods = 2"), diff) is None
    assert edited_at(["new = 1", *with_line(2, "    goods = 1")], diff) == 3


@given(
    st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abcd"), min_size=1, max_size=8)
)
def test_a_place_is_one_of_the_lines(before, after):
    found = edited_at(after, diff_of(before, after))
    assert found is None or 0 <= found < len(after)
