import pytest
from records import failure

from loop_close import facts

CART = """
class Line:
    def __init__(self, net):
        self.net = net

    @property
    def gross(self):
        return self.net


class Cart:
    def __init__(self):
        self.lines = []
        self.customer = None

    def add(self, net):
        self.lines.append(Line(net))

    def total(self):
        return sum(line.net for line in self.lines)

    def first(self):
        return None


def make(net=1):
    cart = Cart()
    cart.add(net)
    return cart


def find(name):
    return None


def price(name):
    return find(name).net


def root(value):
    if value < 0:
        raise ValueError("negative")
    return value


def require(condition, message):
    if not condition:
        raise ValueError(message)


def pay(amount):
    require(amount > 0, "no amount")


def refund(amount):
    require(amount > 0, "no refund")


def same(value):
    return value
"""


@pytest.fixture
def site(written):
    """Find the site of what a test of some lines raises, told briefly."""
    written.write("src/cart_site.py", CART)

    def find(text, args=()):
        lines = f"import unittest\nimport pytest\nimport cart_site\nfrom cart_site import *\n\n{text}\n"
        found = written.fail(lines, args).site
        return found.statement, [o.function for o in found.origins]

    return find


def test(*lines):
    return "def test_it():\n" + "\n".join(f"    {line}" for line in lines)


test.__test__ = False


@pytest.mark.parametrize(
    ("lines", "origins"),
    [
        # nothing of the project
        (["x = 1", "assert x == 2"], []),
        (["pytest.fail('no')"], []),
        # the call in the assertion
        (["assert same(1) == 2"], ["same"]),
        (["assert make().total() == 2"], ["make"]),
        (["assert not same(1) and make()"], ["same", "make"]),
        (["assert Line(1).gross == 2"], ["Line.gross"]),
        # by way of a variable
        (["x = same(1)", "assert x == 2"], ["same"]),
        (["cart = Cart()", "cart.add(3)", "assert cart.total() == 2"], ["Cart.total"]),
        (["line = Line(1)", "assert line.net == 2"], ["Line.__init__"]),
        (["total = make().total()", "assert round(total) == 2"], ["make"]),
        (["x, y = same((1, 2))", "assert y == 3"], ["same"]),
        (["for x in same([1]):", "    assert x == 2"], ["same"]),
        (["assert all(x == 2 for x in same([1]))"], ["same"]),
        (["if (x := same(1)):", "    assert x == 2"], ["same"]),
        # what should have raised
        (["with pytest.raises(KeyError):", "    same(1)"], ["same"]),
        (["with pytest.raises(KeyError):", "    x = make().total()"], ["make"]),
        (["pytest.raises(KeyError, same, 1)"], ["same"]),
        # an accident in the test itself
        (["find('x').net"], ["find"]),
        (["make().first().net"], ["make"]),
        (["cart = Cart()", "cart.customer.name"], ["Cart.__init__"]),
        (["same(1) + 'a'"], ["same"]),
    ],
)
def test_in_a_test(site, lines, origins):
    assert site(test(*lines))[1] == origins


@pytest.mark.parametrize(
    ("lines", "statement"),
    [
        (["assert same(", "    1", ") == 2, 'no'"], "assert same(1) == 2, 'no'"),
        (["with pytest.raises(KeyError):", "    same(1)"], "with pytest.raises(KeyError):"),
        (["for x in same(1):", "    pass"], "for x in same(1):"),
        (["x = '" + "a" * 400 + "' + 1"], "x = '" + "a" * 295),
    ],
)
def test_statement(site, lines, statement):
    assert site(test(*lines))[0] == statement


def test_error_in_the_code_under_test(site):
    assert site(test("price('x')")) == ("return find(name).net", ["find"])
    assert site(test("root(-1)")) == ("raise ValueError('negative')", [])
    # where a function that checks raises, its call is the place
    assert site(test("pay(0)"))[0] == "require(amount > 0, 'no amount')"
    assert site(test("refund(0)"))[0] == "require(amount > 0, 'no refund')"


HELPERS = """
def equal(a, b):
    assert a == b

def equal_two_deep(a, b):
    equal(a, b)

def check_total(cart, expected):
    actual = cart.total()
    assert actual == expected

def assert_positive(value):
    if value <= 0:
        raise Wrong(f"{value} is not positive")

class Wrong(Exception):
    pass

def unrelated(value):
    assert find("x") is not None
"""


@pytest.mark.parametrize(
    ("lines", "statement", "origins"),
    [
        # the helper has an origin of its own, or what fails there was not handed in
        (["check_total(make(), 2)"], "assert actual == expected", ["Cart.total"]),
        (["unrelated(1)"], "assert find('x') is not None", ["find"]),
        # it judges what it is given: the call is what matters
        (["equal(same(1), 2)"], "equal(same(1), 2)", ["same"]),
        (["equal_two_deep(same(1), 2)"], "equal_two_deep(same(1), 2)", ["same"]),
        (["assert_positive(same(-1))"], "assert_positive(same(-1))", ["same"]),
        (["def inner(x):", "    assert x", "inner(same(0))"], "inner(same(0))", ["same"]),
    ],
)
def test_helper(site, lines, statement, origins):
    assert site(HELPERS + test(*lines)) == (statement, origins)


def test_hidden_helper_is_passed_over(site):
    helper = "def helper(x):\n    __tracebackhide__ = True\n    y = 1\n    assert y == 2\n"
    assert site(helper + test("helper(same(1))")) == ("helper(same(1))", ["same"])


@pytest.mark.parametrize(
    ("line", "origins"),
    [
        ("self.assertEqual(same(1), 2)", ["same"]),
        ("self.assertIn(1, self.made.lines)", []),
        ("self.assertEqual(self.cart.total(), 5)", ["Cart.total"]),
        ("self.assertRaises(KeyError, same, 1)", ["same"]),
    ],
)
def test_unittest(site, line, origins):
    text = f"""
class Case(unittest.TestCase):
    def setUp(self):
        self.cart = make()
        self.made = unittest.mock.Mock(lines=[])
    def test_one(self):
        {line}

def test_it():
    import unittest.mock
    Case("test_one").debug()
"""
    assert site(text) == (line, origins)


def test_error_while_a_module_is_imported(written):
    written.write("src/cart_site.py", CART)
    found = written.fail("def test_it():\n    import broken_module\n")
    assert found.type == "ModuleNotFoundError"
    written.write("src/broken_module.py", "from cart_site import find\n\nX = find('x').net\n")
    site = written.fail("def test_it():\n    import broken_module\n").site
    assert (site.statement, site.frame.function) == ("X = find('x').net", "<module>")
    assert [o.function for o in site.origins] == ["find"]


def test_code_without_source(written):
    text = "def test_it():\n    exec(compile('def f():\\n  1 / 0\\nf()', '<made up>', 'exec'))\n"
    found = written.fail(text)
    assert found.site.statement.startswith("exec(")
    path = written.write("src/gone_source.py", "def f():\n    return None.x\n")
    module = written.load("src/gone_source.py")
    path.unlink()
    found = written.fail(f"import {module.__name__}\ndef test_it():\n    gone_source.f()\n")
    assert (found.site.statement, found.site.frame.function) == ("", "f")
    assert not found.site.frame.source.lines


AGAIN = """
import concurrent.futures

def fail(error):
    raise error

def fail_deep(error):
    fail(error)

def caught(value):
    try:
        price(value)
    except AttributeError as error:
        raise error

def made(value):
    error = ValueError(value)
    raise error
"""


@pytest.mark.parametrize(
    ("line", "statement", "innermost"),
    [
        ("made(1)", "raise error", "made"),
        ("fail(ValueError(1))", "fail(ValueError(1))", "test_it"),
        ("fail_deep(ValueError(1))", "fail(error)", "fail_deep"),
        # the traceback is kept: the place where it was raised first
        ("caught(1)", "return find(name).net", "price"),
        (
            "concurrent.futures.ThreadPoolExecutor().submit(price, 1).result()",
            "return find(name).net",
            "price",
        ),
    ],
)
def test_helper_that_only_raises_again_is_not_the_place(written, line, statement, innermost):
    written.write("src/cart_site.py", CART)
    written.write("src/raise_again.py", f"from cart_site import *\n{AGAIN}")
    found = written.fail("from raise_again import *\nimport concurrent.futures\n" + test(line))
    assert found.site.statement == statement
    assert facts.innermost(found).function == innermost
    assert facts.failure_place(failure(found))[2] == innermost


def test_origins_are_found_in_linear_time(site):
    wide = ", ".join(["x"] * 2_000)
    assert site(test("x = same(1)", f"y = [{wide}]", "assert y == [1]"))[1] == []  # two assignments back
    assert site(test("x = same(1)", f"assert [{wide}] == [1]"))[1] == ["same"]
    assert site(test(f"x = [{wide.replace('x', 'same(1)')}]", f"assert [{wide}] == [1]"))[1] == ["same"]
    assert site(test(f"assert {' + '.join(['same(1)'] * 100)} == 1"))[1] == ["same"]
