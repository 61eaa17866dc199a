import inspect
import json.decoder
import re
import textwrap
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from records import any_text, source

from loop_close.prompt import loop, short
from loop_close.prompt import source as source_module
from loop_close.prompt.source import MOST_ROWS, function_rows, statement_rows

SHORT = """\
def total(cart):
    '''The sum.

    Of all lines.
    '''
    price = 0
    for item in cart:
        price += item.price

    return price
"""
_ROW = re.compile(r" *(\d+)([> -]) (.*)")
_LEFT_OUT = re.compile(r"… (\d+) lines?")


def at(text, start=8):
    return source(*text.rstrip("\n").split("\n"), start=start)


def line(text, words, start=8):
    """The number of the line that holds the words."""
    return next(start + n for n, row in enumerate(text.split("\n")) if words in row)


def rows(text, start=8, **fields):
    """The rows without their fence."""
    found = function_rows(at(text, start), **fields)
    return found[1 : found.index("```")]


def numbers(found, mark=""):
    parts = filter(None, map(_ROW.fullmatch, found))
    return [int(part[1]) for part in parts if mark in ("", part[2])]


def left_out(found):
    return sum(int(part[1]) for part in map(_LEFT_OUT.fullmatch, found) if part)


def test_a_function_is_shown_whole_with_its_numbers():
    assert function_rows(at(SHORT), marked=15, ran=[13, 14]) == [
        "```python",
        " 8  def total(cart):",
        " 9      '''The sum.",
        "11      Of all lines.",
        "12      '''",
        "13      price = 0",
        "14      for item in cart:",
        "15>         price += item.price",
        "17-     return price",
        "```",
        "`-`: not run by these failing tests.",
    ]


def test_up_to_forty_lines_nothing_is_left_out():
    text = "def f():\n" + "".join(f"    x{n} = {n}\n" for n in range(MOST_ROWS - 1))
    assert left_out(rows(text)) == 0
    assert left_out(rows(f"{text}    y = 1\n")) == 1


LONG = (
    "    @cached\n    def total(\n        self,\n        cart,\n    ):\n"
    + "".join(f"        a{n}()\n" for n in range(60))
    + "        for item in cart:\n            try:\n"
    + "".join(f"                b{n}()\n" for n in range(60))
    + "            finally:\n                c()\n        return 1\n"
)


def test_of_a_longer_one_what_is_around_the_marked_line_with_the_header():
    marked = line(LONG, "b40()")
    found = rows(LONG, marked=marked)
    assert len(numbers(found)) == MOST_ROWS + 1
    assert numbers(found, ">") == [marked]
    assert numbers(found)[0] == 9
    assert {*range(marked - 15, marked + 15)} <= {*numbers(found)}
    assert left_out(found) + len(numbers(found)) == len(LONG.splitlines())


RUN = """\
def pay(order):
    '''Doc.'''
    global RATE
    x: int
    y: int = 1
    try:
        with lock:
            send(
                order,
                y,
            )
    except KeyError:
        retry()
    if (
        order.late
    ):
        fine = 1
        def later():
            return 2
    while order:
        pass
    return 1
"""


def test_lines_that_no_failing_test_ran_are_marked():
    ran = {line(RUN, words) for words in ("y: int = 1", "order,", "order.late", "return 1", "while")}
    found = rows(RUN, ran=ran, marked=line(RUN, "return 1"))
    assert numbers(found, "-") == [line(RUN, words) for words in ("retry()", "fine = 1", "def later")]
    assert numbers(rows(RUN), "-") == []


KEY = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *(c * 64 for c in "ABCD"), "-----END RSA PRIVATE KEY-----"]
)


def test_credentials_in_source_are_not_shown():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = f'def f():\n    token = "{token}"\n    key = """\n{KEY}\n"""\n    return token\n'
    shown = "\n".join([*rows(text, marked=9), *statement_rows(at(text), 9), *statement_rows(at(text), 11)])
    assert not [secret for secret in (token, "AAAA", "BBBB") if secret in shown]
    assert "return token" in shown


@given(st.lists(any_text, min_size=1, max_size=9), st.integers(0, 12), st.sets(st.integers(1, 12)))
def test_hostile_source_stays_inside_of_its_fence(texts, marked, ran):
    found = function_rows(source(*texts), marked=marked, ran=ran, most=6)
    tokens = MarkdownIt("commonmark").parse("\n".join(found))
    assert [t.type for t in tokens] == ["fence"] * bool(found)
    assert "\x1b" not in "".join(found)
    statement_rows(source(*texts), marked)


REAL = [
    inspect.getsource(module).split("\n")
    for module in (source_module, loop, json.decoder, typing, textwrap, inspect)
]


@st.composite
def slices(draw):
    """Consecutive lines of real modules, whole functions among them."""
    lines = draw(st.sampled_from(REAL))
    begins = [
        n for n, text in enumerate(lines) if text.lstrip().startswith(("def ", "async def", "@", "class "))
    ]
    begin = draw(st.sampled_from(begins) | st.integers(0, len(lines) - 1))
    return source(*lines[begin : begin + draw(st.integers(1, 200))], start=begin + 1)


@settings(max_examples=80)
@given(slices(), st.data())
def test_any_slice_of_real_source_is_bounded_and_counted(found, data):
    inside = st.integers(found.start, found.start + len(found.lines) - 1)
    marked = data.draw(st.just(0) | inside)
    most = data.draw(st.integers(5, 30))
    shown = function_rows(found, marked=marked, ran=data.draw(st.sets(inside, max_size=30)), most=most)[1:]
    kept = numbers(shown)
    assert kept == sorted({*kept})
    assert len(kept) <= most + 20  # a header for each block that the lines are in
    for part in filter(None, map(_ROW.fullmatch, shown)):
        assert part[3] == short(found.lines[int(part[1]) - found.start].rstrip())
    written = sum(bool(text.strip()) for text in found.lines)
    assert len(kept) + left_out(shown) <= written
    is_code = marked and found.lines[marked - found.start].strip()
    assert not is_code or marked in kept or len(kept) + left_out(shown) < written  # it is in the docstring
    assert len(statement_rows(found, marked)) <= 9


TEST = """\
@given(1)
def test_total(cart):
    result = total(
        cart,
        rate=7,
    )

    if (
        result
        and not cart
    ):
        assert result == 1, "no"
    with pytest.raises(ValueError):
        total(None)
    try:
        pay()
    except KeyError as error:
        assert error
    assert cart.total(
        rate=8
    )
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "result = total(",
            ["def test_total(cart):", "    result = total(", "        cart,", "        rate=7,", "    )"],
        ),
        ("and not cart", ["if (", "    result", "    and not cart", "):"]),
        ("assert result", ['    assert result == 1, "no"']),
        ("except KeyError", ["except KeyError as error:"]),
        ("rate=8", ["assert cart.total(", "    rate=8", ")"]),
    ],
)
def test_the_statement_of_a_line_ends_what_is_shown_of_its_test(words, expected):
    found = statement_rows(at(TEST), line(TEST, words))
    assert found[-len(expected) :] == expected
    assert len(found) <= 8
    assert "@given(1)" not in found


def test_what_is_shown_of_a_test_has_no_docstring_and_begins_with_its_name():
    body = "    if cart:\n        assert total(cart)\n"
    text = f"@given(1)\ndef test_total(cart):\n    '''Long.\n\n    Longer.\n    '''\n{body}"
    found = statement_rows(at(text), line(text, "assert"))
    assert found == ["def test_total(cart):", "    if cart:", "        assert total(cart)"]
