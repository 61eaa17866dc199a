import functools

import pytest

from loop_close.capture.objects import unwrap
from loop_close.capture.sites import origin_of

MODULE = '''
import abc
import contextlib
import functools
from dataclasses import dataclass


def plain():
    return 1


def empty():
    """Nothing yet."""


def told():
    """One line.

    And more.
    """
    x = 1
    return x


def deco(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def bare(function):
    def hidden(*args):
        return function(*args)

    return hidden


@deco
def wrapped():
    return 1


@deco
@deco
def twice():
    return 1


@bare
def unnamed():
    return 1


@functools.lru_cache
def cached():
    return 1


@functools.singledispatch
def generic(x):
    return 1


@contextlib.contextmanager
def managed():
    yield 1


class Cart:
    def __init__(self):
        self.items = []

    def total(self):
        return 1

    @property
    def tax(self):
        return 1

    @functools.cached_property
    def once(self):
        return 1

    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def parse():
        return 1

    @functools.cache
    def cached(self):
        return 1

    @deco
    def wrapped(self):
        return 1

    class Row:
        pass


@dataclass
class Price:
    net: int = 0


class Child(Cart):
    pass


partial = functools.partial(plain)
'''


@pytest.fixture
def shop(written):
    written.write("src/shop_definitions.py", MODULE)
    return written.load("src/shop_definitions.py")


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("plain", "plain"),
        ("partial", "plain"),
        ("wrapped", "wrapped"),
        ("twice", "twice"),
        ("unnamed", "bare.<locals>.hidden"),
        ("cached", "cached"),
        ("generic", "generic"),
        ("managed", "managed"),
        ("Cart", "Cart.__init__"),
        ("Price", "Price"),
        ("Cart.Row", "Cart.Row"),
        ("Cart.total", "Cart.total"),
        ("Cart().total", "Cart.total"),
        ("Child().total", "Cart.total"),
        ("vars(Cart)['tax']", "Cart.tax"),
        ("vars(Cart)['once']", "Cart.once"),
        ("Cart.make", "Cart.make"),
        ("vars(Cart)['make']", "Cart.make"),
        ("Cart().make", "Cart.make"),
        ("vars(Cart)['parse']", "Cart.parse"),
        ("Cart.parse", "Cart.parse"),
        ("Cart.cached", "Cart.cached"),
        ("Cart.wrapped", "Cart.wrapped"),
        ("Cart().wrapped", "Cart.wrapped"),
        ("functools.partial(Cart().total)", "Cart.total"),
    ],
)
def test_functions_and_classes_of_the_project(written, shop, expression, function):
    found = origin_of(eval(expression, vars(shop)), written.project)
    assert (found.file, found.function) == ("src/shop_definitions.py", function)
    text = MODULE.lstrip("\n").splitlines()[found.line - 1]
    assert text.lstrip().startswith(
        ("@", f"def {function.rpartition('.')[2]}", f"class {function.rpartition('.')[2]}")
    )
    assert found.source.lines[0] == text
    assert not found.is_empty


def test_function_without_a_body(written, shop):
    empty = origin_of(shop.empty, written.project)
    assert empty.is_empty
    assert empty.source.lines == ("def empty():", '    """Nothing yet."""')


def test_functions_that_read_the_same_in_two_files_are_two(written):
    both = [written.load(f"src/{name}.py", "def total(x):\n    return x\n") for name in ("one", "two")]
    assert both[0].total.__code__ == both[1].total.__code__
    assert [origin_of(m.total, written.project).file for m in both] == ["src/one.py", "src/two.py"]


@pytest.mark.parametrize("depth", [1, 9, 50])
def test_wrappers_around_wrappers_end(depth):
    found = len
    for _ in range(depth):
        found = functools.partial(lambda: 1) if found is len else staticmethod(found)
    unwrap(found)


def test_function_that_wraps_itself():
    def f(): ...

    f.__wrapped__ = f
    assert unwrap(f) is f
