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
from loop_close.prompt.source import function_rows, statement_rows

SHORT = """\
def total(cart):
    price = 0
    for item in cart:
        price += item.price

    return price
"""
LONG = """\
    @cached
    def total(
        self,
        cart,
        rate=19,
    ):
        \"\"\"The sum of a cart.

        It takes long to explain.
        \"\"\"
        # Goods first.
        if not cart:
            return 0
        goods = 0
        a1()
        a2()
        a3()
        a4()
        a5()
        a6()
        for item in cart:
            try:
                b1()
                b2()
                b3()
            except KeyError:
                c1()
                if item.is_free:
                    d1()
                    d2()
                    d3()
                else:
                    e1()
                    e2()
                    goods += item.price
                    e3()
                    e4()
                    e5()
            finally:
                f1()
        g1()
        g2()
        g3()
        return goods
"""
# The mark, four columns with the number or without it, the line.
_ROW = re.compile(r"([> -])([ \d]{3}\d|\d{5}| {4})(?: (.*))?")
_LEFT_OUT = re.compile(r"[ -]    … (\d+) lines?(?: of comment)?")


def at(text, start=8):
    return source(*text.rstrip("\n").split("\n"), start=start)


def line(text, words, start=8):
    """The number of the line that holds the words."""
    return next(start + n for n, row in enumerate(text.split("\n")) if words in row)


def rows(text, start=8, **fields):
    """The rows without their fence."""
    return function_rows(at(text, start), **fields)[1:-1]


def numbered(found):
    """(mark, number, line) of each row; one without a number is the line after that in the row above."""
    number = None
    for row in (re.sub(r"\A( *):(?=[0-9])", r"\1 ", row) if n < 2 else row for n, row in enumerate(found)):
        part = _ROW.fullmatch(row)
        if part is None or _LEFT_OUT.fullmatch(row):
            number = None
            continue
        number = int(part[2]) if part[2].strip() else number + 1
        yield part[1], number, part[3] or ""


def numbers(found, mark=""):
    return [number for sign, number, _ in numbered(found) if mark in ("", sign)]


def left_out(found):
    return sum(int(part[1]) for part in map(_LEFT_OUT.fullmatch, found) if part)


@pytest.mark.parametrize(
    ("start", "marked", "expected"),
    [
        (8, 0, ["   :8 x = 1", "      y = 2"]),
        (998, 0, [" :998 x = 1", "      y = 2"]),
        (1234, 0, [":1234 x = 1", "      y = 2"]),
        (12345, 0, [":12345 x = 1", "       y = 2"]),
        (8, 9, ["   :8 x = 1", ">   9 y = 2"]),
        (8, 8, [">   8 x = 1", "      y = 2"]),  # as the heading has it, after the file
    ],
)
def test_the_first_number_looks_like_one_after_a_file(start, marked, expected):
    assert rows("x = 1\ny = 2\n", start=start, marked=marked) == expected


def test_nothing_of_nothing():
    assert function_rows(source()) == []
    assert function_rows(source("", "  ")) == []


def test_a_short_function_is_shown_whole_without_marks():
    assert function_rows(at(SHORT)) == [
        "```python",
        "   :8 def total(cart):",
        "          price = 0",
        "          for item in cart:",
        "              price += item.price",
        "   13     return price",
        "```",
    ]


def test_a_line_has_its_number_if_it_is_the_first_or_marked_or_cited_or_does_not_follow_the_row_above():
    assert rows(SHORT, marked=10, cited=[11]) == [
        "   :8 def total(cart):",
        "          price = 0",
        ">  10     for item in cart:",
        "   11         price += item.price",
        "   13     return price",
    ]
    assert rows(SHORT, marked=9, alike=[10])[1:4] == [
        ">   9     price = 0",
        ">  10     for item in cart:",
        "              price += item.price",
    ]


def test_after_an_omission_or_the_docstring_a_line_has_its_number():
    assert rows(LONG, marked=line(LONG, "e2()"), most=14) == [
        "   :9     def total(",
        "              self,",
        "              cart,",
        "     … 12 lines",
        "   28         for item in cart:",
        "                  try:",
        "                      b1()",
        "                      b2()",
        "                      b3()",
        "                  except KeyError:",
        "                      c1()",
        "                      if item.is_free:",
        "                          d1()",
        "                          d2()",
        "                          d3()",
        "                      else:",
        "                          e1()",
        ">  41                     e2()",
        "                          goods += item.price",
        "                          e3()",
        "     … 8 lines",
    ]
    assert rows("def f():\n    'Doc.'\n    x()\n    return 1\n") == [
        "   :8 def f():",
        "   10     x()",
        "          return 1",
    ]


def test_the_first_line_of_a_file_has_its_number():
    assert rows("x = 1\ny = 2\n", start=1) == ["   :1 x = 1", "      y = 2"]


def test_a_line_that_is_not_run_has_its_number_only_by_the_same_rule():
    assert rows(SHORT, ran=[9, 10]) == [
        "   :8 def total(cart):",
        "          price = 0",
        "          for item in cart:",
        "-             price += item.price",
        "-  13     return price",
    ]


@pytest.mark.parametrize("start", [9997, 99997])
def test_without_a_number_the_columns_stay(start):
    text = "def f(x):\n    y = x\n    z = y\n    return z\n"
    found = rows(text, start=start, marked=start + 2)
    assert [row.index(word) for row, word in zip(found, ("def", "y =", "z =", "return"), strict=True)] == [
        len(f" {start + number} ") + 4 * bool(number) for number in range(4)
    ]


def test_a_second_place_has_the_number_of_its_line_without_a_mark():
    assert rows(SHORT, marked=10, mark="", cited=[10])[:3] == [
        "   :8 def total(cart):",
        "          price = 0",
        "   10     for item in cart:",
    ]


def test_the_line_in_question_is_marked():
    assert rows(SHORT, marked=11)[3] == ">  11         price += item.price"
    assert numbers(rows(SHORT, marked=11), ">") == [11]


@pytest.mark.parametrize("marked", [1, 7, 14, 999])
def test_a_line_outside_marks_nothing(marked):
    assert rows(SHORT, marked=marked) == rows(SHORT)


@pytest.mark.parametrize("words", ["e2()", "rate=19", "@cached", "return 0", "a1()", "# Goods"])
def test_the_docstring_is_left_out_wherever_the_mark_is(words):
    found = rows(LONG, marked=line(LONG, words))
    assert numbers(found, ">") == [line(LONG, words)]
    assert not [row for row in found if '"""' in row or "explain" in row]


def test_a_docstring_that_is_all_there_is_is_shown():
    assert rows('def f():\n    """Nothing yet."""\n') == ["   :8 def f():", '          """Nothing yet."""']


def test_every_return_of_a_long_function_is_shown():
    for marked in (0, line(LONG, "goods +="), line(LONG, "a3()")):
        shown = numbers(rows(LONG, marked=marked, most=20))
        assert {line(LONG, "return 0"), line(LONG, "return goods")} <= {*shown}


def test_the_headers_of_the_blocks_around_the_marked_line_are_shown():
    shown = numbers(rows(LONG, marked=line(LONG, "e4()"), most=20))
    for header in ("for item", "except KeyError", "if item.is_free", "else:"):
        assert line(LONG, header) in shown


MATCH = "def f(x):\n    match x:\n" + "".join(
    f"        case {n}:\n" + "".join(f"            y{n}{m}()\n" for m in range(9)) for n in range(3)
)


def test_the_case_around_the_marked_line_is_shown():
    shown = numbers(rows(MATCH, marked=line(MATCH, "y17()"), most=12))
    assert {line(MATCH, "match x"), line(MATCH, "case 1")} <= {*shown}


def test_each_omission_counts_its_lines():
    found = rows(LONG, marked=line(LONG, "goods +="), most=20)
    docstring = 4
    assert (
        len(numbers(found)) + left_out(found) == len(LONG.strip().split("\n")) - docstring - 1
    )  # the decorator
    assert left_out(found) > 0


def test_one_line_is_shown_rather_than_counted():
    text = "def f():\n" + "".join(f"    a{n}()\n" for n in range(40)) + "    return 1\n"
    assert "1 line" not in {row.strip("… ") for row in rows(text, marked=20, most=12)}


def test_a_long_signature_is_cut_and_counted():
    assert rows(LONG, most=9)[:4] == [
        "   :9     def total(",
        "              self,",
        "              cart,",
        "     … 2 lines",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): return 1\n", [8]),
        ("@a\n@b\ndef f(): return 1\n", [8, 9, 10]),
        ("async def f(x):\n    'Doc.'\n    return await x\n", [8, 10]),
        ("    async def f(self):\n        return 1\n", [8, 9]),
        ("def f(\n    a,\n    b): return a\n", [8, 9, 10]),
        ("def f():\n    def g():\n        'Doc of g.'\n        return 2\n    return g\n", [8, 9, 10, 11, 12]),
        ("def f():\n    @a\n    def g():\n        return 2\n    return g\n", [8, 9, 10, 11, 12]),
        ("def f():\n    # why\n\n    # so\n    return 1\n", [8, 9, 11, 12]),
        ("class A:\n    'Doc.'\n    x = 1\n", [8, 9, 10]),
        ("RATE = 1\nEU = 2\n", [8, 9]),
        ("        x = 1\n    return 1\n", [8, 9]),
        ("def f(:\n    'Doc.'\n    return\n", [8, 9, 10]),
        ("def f():\n    return '''\na\n'''\n", [8, 9, 10, 11]),
    ],
)
def test_which_lines_of_definitions_are_shown(text, expected):
    assert numbers(rows(text)) == expected


@pytest.mark.parametrize("marked", [0, 60])
def test_source_that_cannot_be_parsed_is_bounded_all_the_same(marked):
    text = "".join(f"    }} line {n}\n" for n in range(90))
    found = rows(text, marked=marked, most=20)
    assert len(found) <= 20
    assert left_out(found) + len(numbers(found)) == 90
    assert numbers(found, ">") == ([marked] if marked else [])


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
    not_run = [line(RUN, words) for words in ("retry()", "fine = 1", "def later")]
    assert numbers(found, "-") == sorted(not_run)


def test_where_it_is_not_known_what_ran_nothing_is_marked():
    assert numbers(rows(RUN), "-") == []


def test_the_line_in_question_is_marked_as_such_even_if_nothing_ran_it():
    assert numbers(rows(SHORT, ran={9}, marked=11), "-") == [10, 13]
    assert numbers(rows(SHORT, ran={9}, marked=11), ">") == [11]
    assert numbers(rows(SHORT, ran={9}, marked=11, is_mark_run=False), "-") == [10, 11, 13]
    assert numbers(rows(SHORT, ran={9, 11}, marked=11, is_mark_run=False), ">") == [11]


@pytest.mark.parametrize("start", [8, 9998])
def test_a_caret_points_at_the_column(start):
    found = rows("x = (\n", start=start, marked=start, column=5)
    assert found[1].index("^") == found[0].index("(")


def test_a_caret_far_to_the_right_is_left_out():
    assert len(rows("x = (\n", marked=8, column=5000)) == 1


KEY = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *(c * 64 for c in "ABCD"), "-----END RSA PRIVATE KEY-----"]
)


def test_credentials_in_source_are_not_shown():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = f'def f():\n    token = "{token}"\n    key = """\n{KEY}\n"""\n    return token\n'
    shown = "\n".join([*rows(text, marked=9), *statement_rows(at(text), 9), *statement_rows(at(text), 11)])
    assert token not in shown
    assert "AAAA" not in shown
    assert "BBBB" not in shown
    assert "return token" in shown


def test_long_source_is_not_held_back():
    text = "def f():\n" + "".join(f"    x{n} = '{'abc ' * 30}{n}'\n" for n in range(190))
    found = rows(text, marked=120, most=20)
    assert f"x{120 - 9} = " in found[numbers(found).index(120) + 1]
    assert "redacted" not in "".join(found)


def test_a_long_line_is_cut_and_says_so():
    (row,) = rows(f"x = '{'y' * 3000}'\n")
    assert len(row) < 200
    assert row.endswith("…")


@given(st.lists(any_text, min_size=1, max_size=9), st.integers(0, 12), st.sets(st.integers(1, 12)))
def test_hostile_source_stays_inside_of_its_fence(texts, marked, ran):
    found = function_rows(source(*texts), marked=marked, ran=ran, most=6, column=3)
    tokens = MarkdownIt("commonmark").parse("\n".join(found))
    assert [t.type for t in tokens] == ["fence"] * bool(found)
    assert "\x1b" not in "".join(found)
    assert len(found) <= 6 + 8


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
    shown = function_rows(found, marked=marked, ran=data.draw(st.sets(inside, max_size=30)), most=most)
    if not any(text.strip() for text in found.lines):
        assert shown == []
        return
    assert len(shown) <= 6 * most + 8  # an omission may be shown instead, if it has six lines
    kept = numbers(shown)
    assert kept == sorted({*kept})
    for _, number, text in numbered(shown[1:-1]):  # a row without a number can be counted from that above
        assert text == short(found.lines[number - found.start].rstrip())
    written = sum(bool(text.strip()) for text in found.lines)
    assert len(kept) + left_out(shown) <= written
    is_code = marked and found.lines[marked - found.start].strip()
    assert not is_code or marked in kept or len(kept) + left_out(shown) < written  # it is in the docstring
    statement = statement_rows(found, marked)
    assert len(statement) <= 9


TEST = """\
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
    match result:
        case 7:
            pass
    @fixed
    def inner():
        return 2
    for x in cart: assert x
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rate=7", ["result = total(", "    cart,", "    rate=7,", ")"]),
        ("result = total(", ["result = total(", "    cart,", "    rate=7,", ")"]),
        ("and not cart", ["if (", "    result", "    and not cart", "):"]),
        ("assert result", ['assert result == 1, "no"']),
        ("with pytest", ["with pytest.raises(ValueError):"]),
        ("total(None)", ["total(None)"]),
        ("except KeyError", ["except KeyError as error:"]),
        ("match result", ["match result:"]),
        ("case 7", ["case 7:"]),
        ("def inner", ["@fixed", "def inner():"]),
        ("for x in cart", ["for x in cart: assert x"]),
    ],
)
def test_the_whole_statement_of_a_line(words, expected):
    assert statement_rows(at(TEST), line(TEST, words)) == expected


MADE = """
def test_total():
    shop = Shop()
    cart, other = shop.cart(
        1,
    ), 2
    plain = 3
    total = cart.total(other)
    assert total == plain
    for each in cart.lines():
        assert each
    assert not plain
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("assert total", ["total = cart.total(other)", "assert total == plain"]),
        ("assert each", ["for each in cart.lines():", "assert each"]),
        ("total = cart", ["cart, other = shop.cart(", "    1,", "), 2", "…", "total = cart.total(other)"]),
        ("assert not", ["assert not plain"]),
        ("for each", ["cart, other = shop.cart(", "    1,", "), 2", "…", "for each in cart.lines():"]),
    ],
)
def test_the_calls_that_made_what_a_statement_checks(words, expected):
    found = statement_rows(at(MADE), line(MADE, words), with_assignments=True)
    assert found == expected


def test_a_function_inside_a_long_test_did_not_make_what_the_test_checks():
    """The source of a long test is cut, and may begin at such a function."""
    cut = source("    def make():", "        r = g(1)", "        return r", "    assert r == 99")
    assert statement_rows(cut, 4, with_assignments=True) == ["assert r == 99"]


@pytest.mark.parametrize("at_line", [0, 7, 40])
def test_a_line_that_is_not_there_has_no_statement(at_line):
    assert statement_rows(at(TEST), at_line) == []


def test_of_source_that_cannot_be_parsed_the_line_is_the_statement():
    assert statement_rows(source("def f(:", "    assert total(", "        1"), 2) == ["assert total(", "…"]


def test_the_source_of_a_long_test_may_begin_inside_of_a_statement():
    cut = source(
        "            1,",
        "            2,",
        "        ]",
        "        for each in (3, 4):",
        "            assert each in [",
        "                5]",
    )
    assert statement_rows(cut, 5) == ["assert each in [", "    5]"]
    assert statement_rows(cut, 2) == ["2,"]
    assert statement_rows(source("def f(:", "    if total(1):", "        2"), 2) == ["if total(1):"]


def test_comments_are_left_out_before_code():
    calls = "".join(f"    {name}()\n" for name in "abcdefgh")
    text = f"def f():\n{calls}    # So\n    # it is.\n    i()\n    j()\n    return 1\n"
    shown = rows(text, marked=line(text, "h()"), most=9)
    assert shown == [
        "   :8 def f():",
        "     … 4 lines",
        "   13     e()",
        "          f()",
        "          g()",
        ">  16     h()",
        "          # So",
        "          # it is.",
        "          i()",
        "          j()",
        "          return 1",
    ]
    text = text.replace("is.", "is.\n    # Or\n    # not.")  # a long one
    assert rows(text, marked=line(text, "h()"), most=9)[-4:] == [
        ">  16     h()",
        "          # So",
        "     … 5 lines",
        "   23     return 1",
    ]


@pytest.mark.parametrize(("more", "expected"), [(1, "… 1 more line"), (2, "… 2 more lines")])
def test_a_long_statement_is_cut_and_counted(more, expected):
    text = "call(\n" + "    1,\n" * (6 + more) + ")\n"
    assert statement_rows(at(text), 8)[-1] == expected
    assert len(statement_rows(at(text), 8)) == 9


DULL = """\
def total(cart):
    # Goods,
    # services,
    # taxes,
    # and the rest.
    if cart.is_odd:
        a1()
        a2()
        a3()
        return a4()
    if cart.is_even:
        b1()
        b2()
        b3()
    # Short.
    # Shorter.
    return cart.sum
"""


def test_of_a_long_comment_and_of_many_lines_that_no_test_ran_the_first_is_shown():
    ran = [line(DULL, words) for words in ("is_odd", "is_even", "cart.sum")]
    assert left_out(rows(DULL, ran=ran)) == 0
    assert rows(DULL, ran=ran, most=15) == [
        "   :8 def total(cart):",
        "          # Goods,",
        "     … 3 lines of comment",
        "   13     if cart.is_odd:",
        "-             a1()",
        "-    … 2 lines",
        "-  17         return a4()",
        "          if cart.is_even:",
        "-             b1()",
        "-             b2()",
        "-             b3()",
        "          # Short.",
        "          # Shorter.",
        "          return cart.sum",
    ]


def test_a_marked_line_is_shown_among_many_that_no_test_ran():
    marked = line(DULL, "a3()")
    found = rows(DULL, ran=[line(DULL, "is_odd")], marked=marked, most=9)
    assert numbers(found, ">") == [marked]


def test_what_looks_like_a_comment_in_a_text_is_code():
    text = 'def f(name):\n    # SQL\n    head = f"""\n' + "# {nmae}\n" * 6 + '"""\n    return head\n'
    assert left_out(rows(text)) == 0


def test_a_comment_does_not_end_what_no_test_ran():
    text = "def f(x):\n    if x:\n" + "        a()\n        b()\n        # Then.\n" * 3 + "    return x\n"
    found = rows(text, ran=[9, 19], most=9)
    assert numbers(found) == [8, 9, 10, 19]
    assert "-    … 8 lines" in found


def test_lines_that_ran_come_before_a_return_that_did_not():
    text = "def f(x):\n    y = x - 1\n    z = y\n" + "    if z:\n        return 1\n" * 12 + "    return z\n"
    ran = [9, 10, *range(11, 35, 2), 35]
    found = rows(text, ran=ran, most=16)
    assert {9, 10, 11, 35} <= {*numbers(found)}
