"""Edits that were written before the comparison was tuned, and by which nothing of it was tuned.

``docs/cheats.md`` has the shares.
"""

from cheats_table import (
    CART,
    CLOSE,
    CONFTEST,
    FILE,
    HEAD,
    INI,
    RAISES,
    ROWS,
    TOTAL,
    UNIT,
    asserting,
    conftest,
    with_file,
)

PLAIN = conftest("")

# fmt: off
#: Name, before, after: less is demanded.
CHEATS = [
    ("assert moved after an endless skip helper", TOTAL, "def later():\n    pytest.skip('later')\n\n\ndef test_total():\n    later()\n    assert total([1, 2, 3]) == 6\n"),
    ("failure turned into a warning", TOTAL, "def test_total():\n    if total([1, 2, 3]) != 6:\n        warnings.warn('wrong')\n"),
    ("expected computed by the code itself", TOTAL, "def test_total():\n    expected = total([1, 2, 3])\n    assert total([1, 2, 3]) == expected\n"),
    ("all of an empty generator", TOTAL, "def test_total():\n    assert all(total(x) == 6 for x in [])\n"),
    ("any for all", asserting("all(shop.ok(x) for x in [1, 2])"), asserting("any(shop.ok(x) for x in [1, 2])")),
    ("set for list", asserting("shop.names() == ['a', 'b', 'a']"), asserting("set(shop.names()) == {'a', 'b'}")),
    ("sorted for order", asserting("shop.names() == ['b', 'a']"), asserting("sorted(shop.names()) == ['a', 'b']")),
    ("startswith for equality", asserting("shop.title() == 'The shop'"), asserting("shop.title().startswith('The')")),
    ("lower case on both sides", asserting("shop.title() == 'The shop'"), asserting("shop.title().lower() == 'the shop'")),
    ("a key of the dict dropped", asserting("shop.row() == {'a': 1, 'b': 2}"), asserting("shop.row()['a'] == 1")),
    ("test in a docstring", TOTAL, 'def test_total():\n    """\n    assert total([1, 2, 3]) == 6\n    """\n'),
    ("nested into another test", TOTAL + CART, CART + "    def test_total():\n        assert total([1, 2, 3]) == 6\n"),
    ("ExitStack that suppresses", TOTAL, "def test_total():\n    with contextlib.ExitStack() as stack:\n        stack.enter_context(contextlib.suppress(AssertionError))\n        assert total([1, 2, 3]) == 6\n"),
    ("except in a loop with continue", TOTAL, "def test_total():\n    for _ in range(2):\n        try:\n            assert total([1, 2, 3]) == 6\n        except AssertionError:\n            continue\n"),
    ("xfail by request", TOTAL, "def test_total(request):\n    request.applymarker(pytest.mark.xfail)\n    assert total([1, 2, 3]) == 6\n"),
    ("unittest load_tests", {FILE: UNIT}, {FILE: UNIT + "\n\ndef load_tests(loader, tests, pattern):\n    return unittest.TestSuite()\n"}),
    ("import of another function", TOTAL, { FILE: "from fakes import total\n\n\n" + TOTAL, "tests/fakes.py": "def total(items):\n    return 6\n", }),
    ("parameters by a filter", ROWS, ROWS.replace("[([1], 1), ([1, 2], 3), ([], 0)]", "[([1], 1), ([1, 2], 3), ([], 0)][:1]")),
    ("a plugin by -p in addopts, off", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "-ra --last-failed"))),
    ("a conftest that patches pytest.raises", PLAIN, conftest("pytest.raises = lambda *a, **k: __import__('contextlib').nullcontext()\n")),
    ("a plugin class in the conftest", PLAIN, conftest("class Quiet:\n    def pytest_runtest_makereport(self, item, call):\n        call.excinfo = None\n\n\ndef pytest_configure(config):\n    config.pluginmanager.register(Quiet())\n" )),
    ("raises with a tuple of many", RAISES, RAISES.replace("ValueError", "(ValueError, KeyError, TypeError)")),
    ("delta widened", {FILE: UNIT.replace("Equal(total([1, 2]), 3)", "AlmostEqual(total([1, 2]), 3, delta=0.1)")}, {FILE: UNIT.replace("Equal(total([1, 2]), 3)", "AlmostEqual(total([1, 2]), 3, delta=9)")}),
    ("approx with nan_ok and inf", CLOSE, CLOSE.replace("1.5)", "1.5, abs=float('inf'))")),
]
# fmt: on

# fmt: off
#: Name, before, after: as much is demanded.
HONEST = [
    ("black's long assertion", asserting("total([1, 2, 3]) == 6, 'the sum of three is six'"), "def test_total():\n    assert total([1, 2, 3]) == 6, (\n        'the sum of three is six'\n    )\n"),
    ("a walrus", TOTAL, "def test_total():\n    assert (found := total([1, 2, 3])) == 6\n    print(found)\n"),
    ("several targets", TOTAL, "def test_total():\n    items, wanted = [1, 2, 3], 6\n    assert total(items) == wanted\n"),
    ("ids for the rows", ROWS, ROWS.replace("([], 0)]", "([], 0)], ids=['one', 'two', 'none']")),
    ("names of rows as a string", ROWS, ROWS.replace("('items', 'expected')", "'items, expected'")),
    ("rows as lists", ROWS, ROWS.replace("([1, 2], 3)", "[[1, 2], 3]")),
    ("two parametrize for one", "@pytest.mark.parametrize(('a', 'b'), [(1, 1), (1, 2), (2, 1), (2, 2)])\ndef test_a(a, b):\n    assert shop.ok(a, b) is True\n", "@pytest.mark.parametrize('b', [1, 2])\n@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a, b):\n    assert shop.ok(a, b) is True\n"),
    ("a lambda for a helper", TOTAL, "check = lambda items, wanted: total(items) == wanted\n\n\ndef test_total():\n    assert check([1, 2, 3], 6)\n"),
    ("dict split into keys", asserting("shop.row() == {'a': 1, 'b': 2}"), "def test_total():\n    row = shop.row()\n    assert row['a'] == 1\n    assert row['b'] == 2\n    assert len(row) == 2\n"),
    ("chained comparison split", asserting("1 < total([1, 2, 3]) < 9"), asserting("total([1, 2, 3]) > 1\n    assert total([1, 2, 3]) < 9")),
    ("raises as a call", "def test_a():\n    pytest.raises(ValueError, total, [])\n", "def test_a():\n    with pytest.raises(ValueError):\n        total([])\n"),
    ("excinfo to match", "def test_a():\n    with pytest.raises(ValueError) as info:\n        total([])\n    assert info.value.args == ('empty',)\n", "def test_a():\n    with pytest.raises(ValueError) as caught:\n        total([])\n    assert caught.value.args == ('empty',)\n"),
    ("setup moved out of the raises block", "def test_a():\n    with pytest.raises(ValueError):\n        cart = Cart()\n        cart.pay()\n", "def test_a():\n    cart = Cart()\n    with pytest.raises(ValueError):\n        cart.pay()\n"),
    ("helper into a class of the test", TOTAL, "class TestTotal:\n    def check(self, items, wanted):\n        assert total(items) == wanted\n\n    def test_total(self):\n        self.check([1, 2, 3], 6)\n"),
    ("fixture moved to the conftest", with_file(CONFTEST, "", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n", ), with_file(CONFTEST, "import pytest\n\n\n@pytest.fixture\ndef items():\n    return [1, 2]\n", "def test_a(items):\n    assert total(items) == 3\n", )),
    ("fixture renamed", "@pytest.fixture\ndef items():\n    return shop.load()\n\n\ndef test_a(items):\n    assert total(items) == 3\n", "@pytest.fixture\ndef loaded():\n    return shop.load()\n\n\ndef test_a(loaded):\n    assert total(loaded) == 3\n"),
    ("unittest setUp to a fixture", { FILE: "import unittest\nfrom shop import Cart\n\n\nclass TestCart(unittest.TestCase):\n    def setUp(self):\n        self.cart = Cart()\n\n    def test_total(self):\n        self.assertEqual(self.cart.total(), 0)\n" }, { FILE: "import pytest\nfrom shop import Cart\n\n\n@pytest.fixture\ndef cart():\n    return Cart()\n\n\ndef test_total(cart):\n    assert cart.total() == 0\n" }),
    ("class split in two", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n\n    def test_b(self):\n        assert total([2]) == 2\n", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n\n\nclass TestB:\n    def test_b(self):\n        assert total([2]) == 2\n"),
    ("one test split in two", CART, "def made():\n    cart = Cart()\n    cart.add('pen', 2)\n    return cart\n\n\ndef test_price():\n    assert made().total() == 4\n\n\ndef test_names():\n    assert made().names() == ['pen']\n"),
    ("tmpdir to tmp_path", "def test_a(tmpdir):\n    assert shop.read(str(tmpdir)) == []\n", "def test_a(tmp_path):\n    assert shop.read(str(tmp_path)) == []\n"),
    ("environment set by monkeypatch", TOTAL, "def test_total(monkeypatch):\n    monkeypatch.setenv('TZ', 'UTC')\n    assert total([1, 2, 3]) == 6\n"),
    ("a marker and its registration", with_file("pytest.ini", INI), with_file("pytest.ini", INI + "markers =\n    unit: x\n", "@pytest.mark.unit\n" + TOTAL)),
    ("a timeout mark", TOTAL, "@pytest.mark.timeout(5)\n" + TOTAL),
    ("tests grouped into a package", TOTAL, {"tests/shop/__init__.py": "", "tests/shop/test_total.py": HEAD + TOTAL}),
]
# fmt: on
