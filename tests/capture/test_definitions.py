import functools
import json

import pytest

from loop_close.capture.objects import unwrap
from loop_close.capture.sites import origin_of, origin_of_member

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
    "found",
    [
        *(None, 1, "text", object(), [], len, print, str.join, "".join, int, Exception, json, json.dumps),
        pytest.raises,
        *(functools.partial(len), property(), property(len), pytest.fixture, pytest.mark.skip, lambda: 1),
        type(lambda: 1),
        *(
            functools.lru_cache(len),
            functools.partial(json.loads),
            NotImplemented,
            ...,
            staticmethod(len),
            {}.get,
        ),
    ],
)
def test_what_is_not_of_the_project(written, found):
    assert origin_of(found, written.project) is None


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


def test_class_made_by_a_function_of_another_project(written, shop):
    made = type("Made", (), {"__module__": shop.__name__})
    assert origin_of(made, written.project) is None


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


touched = []


class Hostile:
    """Whatever is asked of it, it runs code of its own."""

    def __getattr__(self, name):
        touched.append(name)
        raise RuntimeError(name)

    def __getattribute__(self, name):
        touched.append(name)
        raise RuntimeError(name)

    def __eq__(self, other):
        touched.append("__eq__")
        raise RuntimeError

    def __hash__(self):
        touched.append("__hash__")
        raise RuntimeError

    def __bool__(self):
        touched.append("__bool__")
        raise RuntimeError

    __len__ = __bool__

    def __instancecheck__(self, other):
        touched.append("__instancecheck__")
        raise RuntimeError


class Lazy:
    """A proxy that pretends to be what it stands for, and makes it when asked."""

    @property
    def __class__(self):
        touched.append("__class__")
        raise RuntimeError

    @property
    def __dict__(self):
        touched.append("__dict__")
        raise RuntimeError

    @property
    def __wrapped__(self):
        touched.append("__wrapped__")
        raise RuntimeError

    __func__ = fget = func = __wrapped__


class Meta(type):
    def __getattribute__(cls, name):
        touched.append(name)
        raise RuntimeError(name)

    def __instancecheck__(cls, other):
        touched.append("__instancecheck__")
        raise RuntimeError

    def __subclasscheck__(cls, other):
        touched.append("__subclasscheck__")
        raise RuntimeError

    def __eq__(cls, other):
        touched.append("__eq__")
        raise RuntimeError

    __hash__ = type.__hash__


class OfMeta(metaclass=Meta):
    pass


_lru_cache_wrapper = type("_lru_cache_wrapper", (Lazy,), {})
Masked = type("Masked", (property,), {"fget": property(lambda self: touched.append("fget"))})


@pytest.mark.parametrize(
    "make",
    [Hostile, Lazy, lambda: OfMeta, lambda: OfMeta(), _lru_cache_wrapper, lambda: Masked(len)],
    ids=["Hostile", "Lazy", "class", "instance", "_lru_cache_wrapper", "property"],
)
def test_no_code_of_the_program_is_run(written, make):
    found = make()
    touched.clear()
    origin_of(found, written.project)
    assert touched == []


ENGINE = '''
class Named:
    """A descriptor."""


class Engine:
    """It has a size.

    And more.
    """

    name = Named()

    def __init__(self, size):
        """Begin."""
        half = size // 2
        rest = size % 2
        more = half
        less = rest
        self.size = half + more
        self.rest = less
        self.done = True
        self.gone = False
'''


@pytest.mark.parametrize("attribute", ["size", "nowhere"])
def test_attribute_comes_from_its_class_or_the_nearest_base_in_the_project(written, attribute):
    engine = written.load("src/engine.py", ENGINE).Engine
    mine = type("Mine", (dict, engine), {"__module__": "elsewhere"})
    found = [origin_of_member(cls, f"It.{attribute}", written.project) for cls in (engine, mine)]
    assert found[0] == found[1]
    assert (found[0].function, found[0].file, found[0].line) == (f"It.{attribute}", "src/engine.py", 5)
    assert found[0].source.lines[0] == "class Engine:"


def test_class_is_made_by_what_it_inherits(written):
    written.load("src/engine.py", ENGINE)
    text = "from engine import Engine\nclass Mine(Engine): pass\nclass Odd(dict, Engine): pass\nclass Plain: pass\n0"
    module = written.load("tests/test_engine.py", text)
    found = [origin_of(cls, written.project) for cls in (module.Mine, module.Odd, module.Plain)]
    assert [(each.function, each.is_test) for each in found] == [
        ("Mine", True),
        ("Odd", True),
        ("Plain", True),
    ]
    assert found[-1].source.lines[0] == "class Plain: pass"


def test_attribute_of_a_class_that_is_not_the_projects_is_unknown(written):
    assert origin_of_member(ValueError, "ValueError.args", written.project) is None
