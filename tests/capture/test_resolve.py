import ast
import sys

import pytest

from loop_close.capture.sites import FrameLookup

MODULE = """
import functools
import json
from json import loads


def total():
    return 1


def deco(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@deco
def wrapped():
    return 1


class Cart:
    kind = "cart"

    def __init__(self):
        self.items = []
        self.hook = total

    def total(self):
        return self

    @property
    def tax(self):
        raise RuntimeError("run")

    @classmethod
    def make(cls):
        return cls()

    class Row:
        def price(self): ...


class Slots:
    __slots__ = ("a",)


cart = Cart()
number = 1
text = "a"
"""


def look_up(written, method, expression, fixtures=(), **values):
    """The place that ``expression`` names in a frame of the project with these local values."""
    module = sys.modules.get("shop_resolve") or written.load("src/shop_resolve.py", MODULE)
    values = {name: make(module) for name, make in values.items()}
    names = dict(vars(module))
    names["_frame_of_caller"] = sys._getframe
    exec(f"def _frame({', '.join(values)}): return _frame_of_caller()", names)
    frame = names["_frame"](*values.values())
    lookup = FrameLookup(frame, written.project, fixtures)
    found = getattr(lookup, method)(ast.parse(expression, mode="eval").body)
    return found and found.function


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "nothing",
            "len",
            "json",
            "json.loads",
            "loads",
            "number",
            "text",
            "text.strip",
            "text.strip()",
            "1",
            "'a'",
        ),
        *("cart", "cart.items", "cart.items.append", "cart.kind", "cart.gone", "nothing.total", "total.gone"),
        *(
            "Cart.gone",
            "cart.total().x",
            "[total]",
            "total()",
            "total if x else y",
            "lambda: total",
            "cart['a'].b",
        ),
        *("Cart().items", "json().x", "Cart().gone", "cart.__class__", "cart.__dict__"),
    ],
)
def test_what_is_no_definition_of_the_project(written, expression):
    assert look_up(written, "origin", expression) is None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("total", "total"),
        ("wrapped", "wrapped"),
        ("Cart", "Cart.__init__"),
        ("Cart.total", "Cart.total"),
        ("Cart.tax", "Cart.tax"),
        ("Cart.make", "Cart.make"),
        ("Cart.Row", "Cart.Row"),
        ("Cart.Row.price", "Cart.Row.price"),
        ("Cart.Row().price", "Cart.Row.price"),
        ("Cart().total", "Cart.total"),
        ("cart.total", "Cart.total"),
        ("cart.tax", "Cart.tax"),
        ("cart.make", "Cart.make"),
        ("cart.Row", "Cart.Row"),
        ("cart.hook", "total"),
    ],
)
def test_definitions(written, expression, expected):
    assert look_up(written, "origin", expression) == expected


def test_locals_come_before_globals_and_these_before_builtins(written):
    assert look_up(written, "origin", "total", total=lambda m: 1) is None
    assert look_up(written, "origin", "number", number=lambda m: m.total) == "total"
    assert look_up(written, "origin", "len", len=lambda m: m.total) == "total"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("number.real", None),
        ("text.x", None),
        ("json.x", None),
        ("Cart.x", None),
        ("nothing.x", None),
        ("number().x", None),
        ("cart.items", "Cart.items"),
        ("cart.gone", "Cart.gone"),
        ("Cart().items", "Cart.items"),
    ],
)
def test_attribute(written, expression, expected):
    assert look_up(written, "attribute", expression) == expected


@pytest.mark.parametrize(
    ("value", "fixtures", "expected"),
    [
        (lambda m: [], (), None),
        (lambda m: [], ("other",), None),
        (lambda m: m.Cart(), ("data",), None),
        (lambda m: m.total, ("data",), "total"),
        (lambda m: m.Cart, ("data",), "Cart.__init__"),
        (lambda m: [], ("data",), "fixture data"),
        (lambda m: "a", ("data",), "fixture data"),
        (lambda m: None, ("data",), "fixture data"),
    ],
)
def test_fixture_that_gave_mere_data(written, value, fixtures, expected):
    assert look_up(written, "origin", "data", fixtures=fixtures, data=value) == expected


def test_fixture_of_that_name_that_the_function_does_not_have(written):
    assert look_up(written, "origin", "number", fixtures=("number",)) is None


touched = []


class Hostile:
    def __getattr__(self, name):
        touched.append(name)
        raise RuntimeError(name)

    def __getattribute__(self, name):
        touched.append(name)
        raise RuntimeError(name)

    def __call__(self):
        touched.append("__call__")

    def __eq__(self, other):
        touched.append("__eq__")
        raise RuntimeError

    __hash__ = None


class Lazy:
    @property
    def __class__(self):
        touched.append("__class__")
        raise RuntimeError

    @property
    def __dict__(self):
        touched.append("__dict__")
        raise RuntimeError

    @property
    def a(self):
        touched.append("a")
        raise RuntimeError


class Descriptor:
    def __get__(self, *args):
        touched.append("__get__")
        raise RuntimeError


class Holder:
    a = Descriptor()
    b = Lazy()


class Meta(type):
    def __getattr__(cls, name):
        touched.append(name)
        raise RuntimeError

    @property
    def __module__(cls):
        touched.append("__module__")
        raise RuntimeError


OfMeta = Meta("OfMeta", (), {})


@pytest.mark.parametrize(
    "expression", ["x", "x.a", "x.a.b", "x.b.a", "x().a", "x().a.b", "x.a().b", "x['a'].b"]
)
@pytest.mark.parametrize("make", [Hostile, Lazy, Holder, lambda: OfMeta, lambda: OfMeta()], ids=list("HLDMm"))
def test_no_code_of_the_program_is_run(written, make, expression):
    value = make()
    touched.clear()
    look_up(written, "origin", expression, x=lambda m: value)
    if isinstance(ast.parse(expression, mode="eval").body, ast.Attribute):
        look_up(written, "attribute", expression, x=lambda m: value)
    look_up(written, "origin", "x", fixtures=("x",), x=lambda m: value)
    assert touched == []
