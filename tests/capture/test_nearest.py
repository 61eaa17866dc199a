import pytest

from loop_close.capture.exceptions import describe
from loop_close.capture.nearest import nearest
from loop_close.facts import import_cycle

WORDS = [
    *("total", "title", "price", "customer", "parse_date", "parse_datetime", "get_price", "to_dict", "name"),
    *("amount", "save", "gross", "dates", "id", "_hidden", "__init__", "load_config", "BLUE", "timeout"),
]


@pytest.mark.parametrize(
    "wanted",
    [
        *("", "x", "qty", "game", "same", "cross", "cost", "costume", "tax", "pi"),
        *("hidden", "init", "total", "set_items", "to_json", "a" * 101, "_", "__", "名前"),
    ],
)
def test_nothing_is_near(wanted):
    assert nearest(wanted, WORDS) == ()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("totl", ("total",)),
        ("getPrice", ("get_price",)),
        ("price_get", ("get_price",)),
        ("parse_dat", ("parse_date",)),
        ("ammount", ("amount",)),
        ("load_config_file", ("load_config",)),
        ("BLEU", ("BLUE",)),
    ],
)
def test_near(wanted, expected):
    assert nearest(wanted, WORDS) == nearest(wanted, reversed(WORDS)) == expected


class Text(str):
    def lower(self):
        raise RuntimeError("asked")

    __len__ = __hash__ = lower


def test_what_is_no_name_is_passed_over():
    assert nearest("total", [1, None, Text("totals"), b"totals", "", "t" * 500, "totals"]) == ("totals",)


SHOP = """
from enum import Enum

class Color(Enum):
    BLUE = 1

class Base:
    inherited_thing = 1

class Slotted:
    __slots__ = ("weight",)

class Cart(Base):
    currency = "EUR"

    def __init__(self, lines=(), *, discount=0):
        self.lines = lines
        self.customer = None

    def total(self):
        return totl

    def gross(self):
        return tax()

    def tax(self):
        return 1

    @property
    def price(self):
        raise RuntimeError("asked")

    def __getattr__(self, name):
        raise AttributeError(f"no {name}")

    def __dir__(self):
        raise RuntimeError("asked")

def parse_date(text, /, form, strict=False, **more):
    return text

"""
HEAD = "import os\nimport near_shop\nfrom near_shop import *\n\n"
FILE = "src/near_shop.py"


@pytest.fixture
def found(written):
    """(nearest, home) of what a test of some lines raises."""
    written.write(FILE, SHOP)

    def find(*lines, head=HEAD):
        raised = written.fail(head + "def test_it():\n" + "".join(f"    {line}\n" for line in lines))
        return raised.nearest, raised.details.get("home")

    return find


@pytest.mark.parametrize(
    "line",
    [
        *("1 / 0", "raise AttributeError('no totl')", "raise NameError('x')", "None.total", "(5).totl"),
        *("raise ImportError('cannot import name')", "{'total': 1}['totl']"),
    ],
)
def test_nothing_is_told(found, line):
    assert found(line) == ((), None)


@pytest.mark.parametrize(
    ("line", "expected", "home"),
    [
        # variables
        ("nothing_like_it", (), "tests/test_1.py"),
        ("near_shp", ("near_shop",), "tests/test_1.py"),
        ("pritn(1)", ("print",), "tests/test_1.py"),
        ("Carts()", ("Cart",), "tests/test_1.py"),
        ("Cart().total()", (), FILE),
        ("Cart().gross()", ("self.tax",), None),
        # attributes
        ("Cart().custmer", ("customer",), FILE),
        ("Slotted().wieght", ("weight",), FILE),
        ("Cart().prices", ("price",), FILE),
        ("Color.BLEU", ("BLUE",), FILE),
        ("'a'.titel()", ("title",), None),
        ("near_shop.parse_dat", ("parse_date",), FILE),
        # members of modules
        ("from near_shop import parse_dat", ("parse_date",), FILE),
        ("from os import getcwdd", ("getcwd", "getcwdb"), None),
        ("import near_shp", ("near_shop",), None),
        ("import xml.etre", ("xml.etree",), None),
        ("import nothing_like_it", (), None),
    ],
)
def test_told(found, line, expected, home):
    assert found(line) == (expected, home)


HOSTILE = """
class Meta(type):
    def __prepare__(name, bases, **more):
        return Space()
    def __getattribute__(cls, name):
        print("asked", name)
        return type.__getattribute__(cls, name)

class Space(dict):
    def keys(self):
        raise SystemExit("asked")
    __iter__ = items = values = get = keys

class Proxy:
    def __getattribute__(self, name):
        if name == "totl":
            raise AttributeError("no")
        raise SystemExit("asked")

class Shadow:
    @property
    def __dict__(self):
        raise SystemExit("asked")
    @property
    def __class__(self):
        raise SystemExit("asked")
    total = 1
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Proxy().totl"], ()),
        (["Shadow().totl"], ("total",)),
        (["self = Shadow()", "totl"], ()),
        (["class A(metaclass=Meta):", "    total = 1", "    totl"], ()),
    ],
)
def test_code_of_the_program_is_not_run(written, lines, expected):
    text = HOSTILE + "def test_it():\n" + "".join(f"    {line}\n" for line in lines)
    raised = written.fail(text)
    assert raised.type in ("AttributeError", "KeyError", "NameError")
    assert raised.nearest == expected


def test_modules_of_a_package(written):
    written.write("src/near_pkg/__init__.py", "")
    written.write("src/near_pkg/dates.py", "from near_pkg.prices import nothing\n")
    written.write("src/near_pkg/prices.py", "")
    written.write("src/near_pkg/data.txt", "")

    def told(line):
        raised = written.fail(f"def test_it():\n    {line}\n")
        return raised.nearest, raised.details.get("home")

    assert told("import near_pkg.date") == (("near_pkg.dates",), "src/near_pkg/date.py")
    assert told("import near_pkg.nothing_like_it") == ((), "src/near_pkg/nothing_like_it.py")
    assert told("from near_pkg import price") == (("prices",), "src/near_pkg/__init__.py")
    assert told("import near_pkg; near_pkg.dates") == (("near_pkg.dates",), None)
    assert told("import near_pkg.dates") == ((), "src/near_pkg/prices.py")


def test_module_in_a_package_that_fails_to_load(written):
    written.write("src/near_pkg2/__init__.py", "from near_pkg2 import dats\nimport near_pkg2.prics\n")
    written.write("src/near_pkg2/dates.py", "")
    raised = written.fail("def test_it():\n    import near_pkg2\n")
    assert (raised.nearest, import_cycle(raised)) == ((), ("src/near_pkg2/__init__.py",))


def test_import_cycle(written):
    written.write("src/near_a.py", "from near_b import B\nclass A: pass\n")
    written.write("src/near_b.py", "from near_a import A\nclass B: pass\n")
    raised = written.fail("def test_it():\n    import near_a\n")
    assert import_cycle(raised) == ("src/near_a.py", "src/near_b.py")
    assert (raised.nearest, "home" in raised.details) == ((), False)


class FixtureLookupError(LookupError):
    argname = "databse"
    msg = None

    def __init__(self, listed):
        self.listed = listed

    def formatrepr(self):
        if self.listed is None:
            raise RuntimeError("asked")
        return self

    @property
    def errorstring(self):
        return self.listed


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (None, ()),
        ("", ()),
        ("fixture 'databse' not found\n available fixtures: cache, database\n use ...", ("database",)),
    ],
)
def test_fixture(written, listed, expected):
    assert describe(FixtureLookupError(listed), written.project).nearest == expected
