import ast
import collections
import dataclasses
import datetime
import enum
import fractions
import io
import sys
import types
import unittest.mock
import zoneinfo
from pathlib import PurePosixPath
from typing import Any

import hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.capture import ProjectCode
from loop_close.capture.objects import Names
from loop_close.capture.sites import origin_of
from loop_close.capture.values import Texts

TEXTS = Texts(ProjectCode(__file__.rpartition("/")[0]))
Point = collections.namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Mode(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Line:
    qty: int
    secret_note: str = dataclasses.field(default="", repr=False)


class Cart:
    rate = 2

    def __init__(self, lines=(), owner=None):
        self._total = 0
        self.lines = [*lines]
        self.owner = owner

    @property
    def total(self):
        raise AssertionError("nobody may ask")

    def __repr__(self):
        raise AssertionError("nobody may ask")


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1


class Empty:
    pass


class Words(str):
    pass


class BrokenError(ValueError):
    pass


def waiting():
    yield 1


class Fraction:
    """Not that of the standard library."""

    def __init__(self):
        self.part = 1

    def __repr__(self):
        raise AssertionError


# A time zone without a database of them: one offset, "UTC", in the format of RFC 8536.
ZONE = zoneinfo.ZoneInfo.from_file(
    io.BytesIO(b"TZif" + bytes(35) + b"\1" + bytes(3) + b"\4" + bytes(6) + b"UTC\0"), key="Here"
)


VALUES: list[tuple[Any, str]] = [
    (None, "None"),
    (True, "True"),
    (-3, "-3"),
    ("it's", '"it\'s"'),
    (1 << 99_999, "<int of 100000 bits>"),
    ("a" * 500, f"'{'a' * 500}'"),
    ("a" * 5_000 + "b" * 5_000, f"'{'a' * 4_000}'…'{'b' * 4_000}'"),
    (Words("a"), "'a'"),
    (range(3), "range(0, 3)"),
    (fractions.Fraction(1, 3), "Fraction(1, 3)"),
    (Fraction(), "Fraction(part=1)"),
    (datetime.time(9, tzinfo=ZONE), "datetime.time(9, 0, tzinfo=zoneinfo.ZoneInfo(key='Here'))"),
    (PurePosixPath("a/b"), "PurePosixPath('a/b')"),
    ((1,), "(1,)"),
    ({}, "{}"),
    ({"a": 1, 2: [3]}, "{'a': 1, 2: [3]}"),
    (set(), "set()"),
    ({"b", "a", "c"}, "{'a', 'b', 'c'}"),
    ({*range(200)}, "<set of 200 items>"),
    (collections.deque([1]), "deque([1])"),
    (collections.OrderedDict(a=1), "OrderedDict({'a': 1})"),
    ([*range(20)], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …]"),
    ([[[1]], [2]], "[[[…]], [2]]"),
    (Point(1, [2]), "Point(x=1, y=[2])"),
    (Line(1, "hidden"), "Line(qty=1)"),
    (types.SimpleNamespace(a=1), "SimpleNamespace(a=1)"),
    (Cart([Line(1)], Cart()), "Cart(lines=[Line(…)], owner=Cart(lines=[], owner=None, _total=0), _total=0)"),
    (Slotted(), "Slotted(a=1)"),
    (Color.RED, "Color.RED"),
    (Level.LOW, "Level.LOW"),
    (Mode.A | Mode.B, None),
    (BrokenError("no", 3), "BrokenError('no', 3)"),
    (waiting(), "<generator>"),
    # what has nothing to show
    (Empty(), "<Empty>"),
    (Cart, "<type>"),
    (ast, "<module>"),
    (unittest.mock.Mock(), "<Mock>"),
    (ProjectCode("."), "<ProjectCode>"),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=map(str, range(len(VALUES))))
def test_text(value, text):
    assert text is None or TEXTS.of(value) == text


@pytest.mark.parametrize(
    ("value", "label", "text"),
    [
        ("hunter2", "x", "'hunter2'"),
        ("hunter2", "password", "'<redacted 1>'"),
        ("hunter2", 'config["password"]', "'<redacted 1>'"),
        ({"password": "hunter2"}, "x", "{'password': '<redacted 1>'}"),
        (types.SimpleNamespace(password="hunter2"), "x", "SimpleNamespace(password='<redacted 1>')"),
        ("sk-" + "aB3dE5" * 8, "x", "'<redacted 1>'"),
        (["x" * 100, "sk-" + "aB3dE5" * 8], "x", f"['{'x' * 100}', '<redacted 1>']"),
        ("\x1b[31mred\u202e\n", "x", "'\\x1b[31mred\\u202e\\n'"),
        ("<a at 0x7f1234567890>", "x", "'<a at 0x…>'"),
        (PurePosixPath("/tmp/pytest-of-me/pytest-12/test_x0/a"), "x", "PurePosixPath('<tmp>/a')"),
    ],
)
def test_text_is_safe(value, label, text):
    assert Texts(TEXTS._project).of(value, label) == text


@pytest.mark.parametrize("kind", [*hostile.instances()])
def test_no_code_of_the_program_runs(kind):
    found = hostile.instances()
    x = value = found[kind]
    names = Names(sys._getframe())
    assert names.value(ast.Name("x")) is x
    for each in (value, [value], {"a": value}, (value, 1), types.SimpleNamespace(a=value), Cart([value])):
        assert TEXTS.of(each)
    for text in (
        "x",
        "x.held",
        "x.field",
        "x.a",
        "x['a']",
        "x[0]",
        "x[5]",
        "x.held.y",
        "x.__class__",
        "x.keys",
    ):
        node = ast.parse(text, mode="eval").body
        names.data(node)
        origin_of(names.value(node), TEXTS._project)
    assert hostile.ran == []


SHOP = """
class Cart:
    def __init__(self):
        self.lines, self.owner = [1, 2], None
    def total(self):
        return 3
    def find(self, key, default=None):
        return self.lines[key] + default

def make():
    return Cart()

def build(name, extra_kwargs):
    return name.upper() + extra_kwargs["a"]

def mean(values, size):
    return sum(v / size for v in values)
"""


@pytest.fixture
def shown(written):
    """The values that are shown for what a test of some lines raises."""
    written.write("src/shop_values.py", SHOP)

    def find(*lines):
        body = "\n".join(f"    {line}" for line in lines)
        head = "import pytest\nimport shop_values\nfrom shop_values import *\n"
        return written.fail(f"{head}\ndef test_it():\n{body}\n").site.values

    return find


CART = "Cart(lines=[1, 2], owner=None)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # nothing that helps
        (["assert 1 == 2"], []),
        (["assert make() is None"], []),
        (["raise ValueError"], []),
        (["assert all(x > 1 for x in [1])"], []),
        (["assert (lambda x: x)(0)"], []),
        (["def down(n):", "    return down(n + 1)", "down(0)"], []),
        # names, attributes and items
        (["x = 3", "assert x == 4"], [("x", "3")]),
        (["cart = make()", "assert cart.total() == 4"], [("cart", CART)]),
        (
            ["cart = make()", "assert cart.lines[0] == cart.owner"],
            [("cart.lines[0]", "1"), ("cart.owner", "None")],
        ),
        (["cart, n = make(), 1", "assert cart.lines[n] == 1"], [("cart.lines", "[1, 2]"), ("n", "1")]),
        (["d = {'a': {'b': 1}}", "assert d['a']['b'] == 2"], [("d['a']['b']", "1")]),
        (["xs = [1]", "assert all(x > 1 for x in xs)"], [("xs", "[1]")]),
        (["assert (x := 3) == 4"], [("x", "3")]),
        (["d, v = None, 2", "d['a'] = v"], [("d", "None"), ("v", "2")]),
        (["x = 3", "assert False, f'bad {x}'"], [("x", "3")]),
        (["v = 3", "with pytest.raises(KeyError):", "    str(v)"], [("v", "3")]),
        (["password = 'hunter2'", "assert password == 'x'"], [("password", "'<redacted 1>'")]),
        (["a = b = c = d = e = f = g = 0", "assert a + b + c + d + e + f + g"], [(n, "0") for n in "abcdef"]),
        # long ones around what differs in them
        (
            ["xs = 'a' * 200 + '3'", "ys = 'a' * 200 + '4'", "assert xs == ys"],
            [("xs", f"…{'a' * 20}3'"), ("ys", f"…{'a' * 20}4'")],
        ),
        # in the code under test
        (["build('x', None)"], [("name", "'x'"), ("extra_kwargs", "None")]),
        (["make().find(0)"], [("self.lines", "[1, 2]"), ("key", "0"), ("default", "None")]),
        (["mean([1, 2], 0)"], [("v", "1"), ("size", "0")]),
    ],
)
def test_values_of_the_names_in_a_statement(shown, lines, expected):
    assert [*shown(*lines)] == expected


def test_self_is_shown_in_the_code_under_test_alone(written):
    text = """
class Shop:
    def __init__(self):
        self.x = 1
    def bad(self):
        return self.get() + None
    def get(self):
        return 1

"""
    written.write("src/shop_selves.py", text)
    call = "import shop_selves\ndef test_it():\n    shop_selves.Shop().bad()\n"
    assert written.fail(call).site.values == (("self", "Shop(x=1)"),)
    inside = text + "def test_it():\n    Shop().bad()\n"
    assert written.fail(inside).site.values == ()


@given(
    st.recursive(
        st.none()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st.sampled_from([Color.RED, Level.LOW]),
        lambda inner: (
            st.lists(inner, max_size=20)
            | st.dictionaries(st.text(), inner)
            | st.tuples(inner)
            | st.builds(Cart, st.lists(inner), inner)
            | st.frozensets(st.integers() | st.text())
        ),
    )
)
def test_any_text_is_bounded_and_on_one_line(value):
    text = TEXTS.of(value)
    assert 0 < len(text) <= 100_000
    assert "\n" not in text
    assert TEXTS.of(value) == text
