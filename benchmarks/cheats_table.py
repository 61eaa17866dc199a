"""Edits of tests, with what has to be said about each: cheats, and honest ones about which nothing is said."""

from typing import NamedTuple

HEAD = "import pytest\nimport shop\nfrom shop import Cart, total\n\n\n"
TOTAL = "def test_total():\n    assert total([1, 2, 3]) == 6\n"
CART = (
    "def test_cart():\n    cart = Cart()\n    cart.add('pen', 2)\n"
    "    assert cart.total() == 4\n    assert cart.names() == ['pen']\n"
)
RAISES = "def test_empty():\n    with pytest.raises(ValueError, match='empty'):\n        total([])\n"
CLOSE = "def test_mean():\n    assert shop.mean([1, 2]) == pytest.approx(1.5)\n"
ROWS = (
    "@pytest.mark.parametrize(('items', 'expected'), [([1], 1), ([1, 2], 3), ([], 0)])\n"
    "def test_rows(items, expected):\n    assert total(items) == expected\n"
)
UNIT = (
    "import unittest\nfrom shop import total\n\n\nclass TestShop(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
MOCKED = (
    "from unittest import mock\nfrom shop import checkout\n\n\ndef test_mail():\n"
    "    send = mock.Mock()\n    checkout(send)\n    send.assert_called_once_with('done')\n"
)
LOOP = "def test_all():\n    for item in [1, 2, 3]:\n        assert shop.price(item) == item * 2\n"
FILLED = "def test_a():\n    out = []\n    shop.fill(out)\n    assert out == [1, 2]\n"
LAZY = (
    "def test_lazy():\n    seen = []\n\n    def numbers():\n        for x in [1, 2]:\n            seen.append(x)\n            yield x\n\n"
    "    found = shop.chunked(numbers())\n    assert seen == []\n    next(found)\n    assert seen == [1, 2]\n"
)
DRAWN = (
    "from hypothesis import assume, given, settings, strategies as st\n\n\n@settings(max_examples=100)\n"
    "@given(st.lists(st.integers()))\ndef test_a(x):\n    assert shop.count(x) < 3\n"
)
MANY = (
    "@pytest.mark.parametrize('a', ["
    + "".join(f"({i}, 'x')," for i in range(20_000))
    + "])\n"
    + TOTAL.replace("()", "(a)")
)
INI = "[pytest]\ntestpaths = tests\naddopts = -ra\nxfail_strict = true\n"
TOML = '[tool.pytest.ini_options]\ntestpaths = ["tests", "checks"]\naddopts = "-ra"\nfilterwarnings = ["error"]\n'

Texts = str | dict[str, str]
FILE = "tests/test_shop.py"
CONFTEST = "tests/conftest.py"


class Cheat(NamedTuple):
    """An edit by which less is demanded, the kind of it, and words that the statement has."""

    name: str
    before: Texts
    after: Texts
    kind: str
    words: str


class Honest(NamedTuple):
    """An edit by which as much is demanded as before."""

    name: str
    before: Texts
    after: Texts


def texts(given: Texts) -> dict[str, str]:
    """A text alone is that of the test module."""
    return {FILE: HEAD + given} if isinstance(given, str) else given


def with_file(path: str, text: str, tests: str = TOTAL) -> dict[str, str]:
    """The test module and one more file."""
    return {FILE: HEAD + tests, path: text}


def inside(wrapper: str) -> str:
    """The test with its assertion inside a statement."""
    return f"def test_total():\n{wrapper}        assert total([1, 2, 3]) == 6\n"


def asserting(test: str) -> str:
    """The test with another assertion."""
    return f"def test_total():\n    assert {test}\n"


def conftest(text: str) -> dict[str, str]:
    """The test module with a conftest."""
    return with_file(CONFTEST, "import pytest\n\n\n" + text)


PLAIN = conftest("")

# fmt: off
CHEATS = [
    Cheat("deleted", TOTAL + CART, CART, "deleted", "the test is gone"),
    Cheat("file deleted", with_file("tests/test_b.py", HEAD + CART), {FILE: HEAD + TOTAL}, "deleted", "file is gone"),
    Cheat("file renamed away", TOTAL, {"tests/shop_tests.py": HEAD + TOTAL}, "deleted", "the file is gone"),
    Cheat("renamed away", TOTAL, TOTAL.replace("test_total", "_test_total"), "not-run", "does not collect it"),
    Cheat("not Python any more", TOTAL, "def test_total(:\n", "not-run", "not Python"),
    # skipped
    Cheat("skip", TOTAL, "@pytest.mark.skip\n" + TOTAL, "not-run", "has `@pytest.mark.skip`"),
    Cheat("skip, with a reason", TOTAL, "@pytest.mark.skip(reason='slow')\n" + TOTAL, "not-run", "skip"),
    Cheat("skipif True", TOTAL, "@pytest.mark.skipif(True, reason='x')\n" + TOTAL, "not-run", "skipif"),
    Cheat("skipif in CI", TOTAL, "@pytest.mark.skipif('CI' in os.environ, reason='x')\n" + TOTAL, "not-run", "CI"),
    Cheat("pytestmark", TOTAL, "pytestmark = pytest.mark.skip\n\n" + TOTAL, "not-run", "pytest.mark.skip"),
    Cheat("pytestmark list", TOTAL, "pytestmark = [pytest.mark.xfail]\n\n" + TOTAL, "not-run", "xfail"),
    Cheat("skip by an alias", TOTAL, "later = pytest.mark.skip\n\n\n@later\n" + TOTAL, "not-run", "skip"),
    Cheat("skip inside", TOTAL, "def test_total():\n    pytest.skip('later')\n", "not-run", "pytest.skip('later')"),
    Cheat("skip under a condition", TOTAL, TOTAL.replace("    a", "    if shop.VERSION < 2:\n        pytest.skip()\n    a"), "not-run", "VERSION"),
    Cheat("importorskip", TOTAL, TOTAL.replace("    a", "    pytest.importorskip('nope')\n    a"), "not-run", "importorskip"),
    Cheat("module skips", TOTAL, "pytest.skip('no', allow_module_level=True)\n" + TOTAL, "not-run", "pytest.skip"),
    Cheat("module importorskip", TOTAL, "numpy = pytest.importorskip('numpy')\n" + TOTAL, "not-run", "importorskip"),
    Cheat("unittest skip", {FILE: UNIT}, {FILE: UNIT.replace("    def", "    @unittest.skip('x')\n    def")}, "not-run", "skip"),
    Cheat("unittest skip of a class", {FILE: UNIT}, {FILE: UNIT.replace("class", "@unittest.skip('x')\nclass")}, "not-run", "skip"),
    Cheat("skipTest", {FILE: UNIT}, {FILE: UNIT.replace("self.a", "self.skipTest('x')\n        self.a")}, "not-run", "skipTest"),
    Cheat("raise SkipTest", {FILE: UNIT}, {FILE: UNIT.replace("self.a", "raise unittest.SkipTest\n        self.a")}, "not-run", "SkipTest"),
    Cheat("expectedFailure", {FILE: UNIT}, {FILE: UNIT.replace("    def", "    @unittest.expectedFailure\n    def")}, "not-run", "expected"),
    Cheat("xfail", TOTAL, "@pytest.mark.xfail\n" + TOTAL, "not-run", "has `@pytest.mark.xfail`"),
    Cheat("xfail inside", TOTAL, TOTAL.replace("    a", "    pytest.xfail('known')\n    a"), "not-run", "xfail"),
    Cheat("class skipped", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "@pytest.mark.skip\nclass TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "not-run", "skip"),
    Cheat("parameter skipped", ROWS, ROWS.replace("([1, 2], 3)", "pytest.param([1, 2], 3, marks=pytest.mark.skip)"), "weakened", "total([1, 2]) == 3"),
    # not reached
    Cheat("return first", TOTAL, TOTAL.replace("    a", "    return\n    a"), "weakened", "returns before it"),
    Cheat("sys.exit first", TOTAL, TOTAL.replace("    a", "    sys.exit(0)\n    a"), "weakened", "`sys.exit(0)` before it"),
    Cheat("pytest.exit first", TOTAL, TOTAL.replace("    a", "    pytest.exit('ok', returncode=0)\n    a"), "weakened", "pytest.exit"),
    Cheat("if False", TOTAL, inside("    if False:\n"), "weakened", "never holds"),
    Cheat("if not True", TOTAL, inside("    if not True:\n"), "weakened", "never holds"),
    Cheat("if on a result", TOTAL, inside("    if total([1]):\n"), "weakened", "only under `total([1])`"),
    Cheat("if in CI", TOTAL, inside("    if os.environ.get('CI'):\n"), "weakened", "only under"),
    Cheat("return unless", TOTAL, TOTAL.replace("    a", "    if not shop.READY:\n        return\n    a"), "weakened", "only under"),
    Cheat("while False", TOTAL, inside("    while False:\n"), "weakened", "never holds"),
    Cheat("for over nothing", TOTAL, inside("    for _ in []:\n"), "weakened", "goes over nothing"),
    Cheat("for over range(0)", TOTAL, inside("    for _ in range(0):\n"), "weakened", "goes over nothing"),
    Cheat("list emptied", LOOP, LOOP.replace("[1, 2, 3]", "[]"), "weakened", "goes over nothing"),
    Cheat("list shortened", LOOP, LOOP.replace("[1, 2, 3]", "[1]"), "weakened", "no longer asserts"),
    Cheat("cut to nothing", LOOP, LOOP.replace("[1, 2, 3]", "[1, 2, 3][:0]"), "weakened", "goes over nothing"),
    Cheat("in a function never called", TOTAL, inside("    def check():\n"), "weakened", "asserts nothing any more"),
    Cheat("yield", TOTAL, TOTAL + "    yield\n", "not-run", "`yield`"),
    Cheat("async without a plugin", TOTAL, "async " + TOTAL, "not-run", "async"),
    # always true
    Cheat("or True", TOTAL, asserting("total([1, 2, 3]) == 6 or True"), "weakened", "is always true"),
    Cheat("True or", TOTAL, asserting("True or total([1, 2, 3]) == 6"), "weakened", "is always true"),
    Cheat("x or not x", TOTAL, asserting("total([1, 2, 3]) == 6 or not total([1, 2, 3]) == 6"), "weakened", "is always true"),
    Cheat("a tuple", TOTAL, asserting("(total([1, 2, 3]) == 6, 'wrong')"), "weakened", "is always true"),
    Cheat("assert True", TOTAL, asserting("True"), "weakened", "is always true"),
    Cheat("compared with itself", TOTAL, asserting("total([1, 2, 3]) == total([1, 2, 3])"), "weakened", "expects total([1, 2, 3])"),
    Cheat("not an assertion", TOTAL, TOTAL.replace("assert ", ""), "weakened", "asserts nothing"),
    Cheat("printed", TOTAL, "def test_total():\n    print(total([1, 2, 3]) == 6)\n", "weakened", "asserts nothing"),
    Cheat("pass", TOTAL, "def test_total():\n    pass\n", "weakened", "asserts nothing"),
    Cheat("assertion removed", CART, CART.replace("    assert cart.total() == 4\n", ""), "weakened", "no longer asserts `Cart().total() == 4`"),
    Cheat("commented out", TOTAL, TOTAL.replace("assert", "# assert") + "    total([1, 2, 3])\n", "weakened", "total([1, 2, 3])"),
    # swallowed
    Cheat("except AssertionError", TOTAL, inside("    try:\n") + "    except AssertionError:\n        pass\n", "weakened", "`except AssertionError` around it swallows"),
    Cheat("except Exception", TOTAL, inside("    try:\n") + "    except Exception as e:\n        print(e)\n", "weakened", "swallows"),
    Cheat("bare except", TOTAL, inside("    try:\n") + "    except:\n        pass\n", "weakened", "swallows"),
    Cheat("except another", TOTAL, inside("    try:\n") + "    except TypeError:\n        pass\n", "weakened", "no TypeError"),
    Cheat("except star", TOTAL, inside("    try:\n") + "    except* AssertionError:\n        pass\n", "weakened", "swallows"),
    Cheat("return in finally", TOTAL, inside("    try:\n") + "    finally:\n        return\n", "weakened", "finally"),
    Cheat("suppress", TOTAL, inside("    with contextlib.suppress(AssertionError):\n"), "weakened", "suppress(AssertionError)` around it swallows"),
    Cheat("raises AssertionError", TOTAL, inside("    with pytest.raises(AssertionError):\n"), "weakened", "expects it to fail"),
    Cheat("swallowing decorator", TOTAL, "def safe(f):\n    def run(*a):\n        try:\n            return f(*a)\n        except Exception:\n            pass\n    return run\n\n\n@safe\n" + TOTAL, "weakened", "swallows"),
    Cheat("decorator that never calls", TOTAL, "def later(f):\n    def run():\n        pass\n    return run\n\n\n@later\n" + TOTAL, "not-run", "never calls it"),
    Cheat("swallowing context manager", TOTAL, "@contextlib.contextmanager\ndef calm():\n    try:\n        yield\n    except AssertionError:\n        pass\n\n\n" + inside("    with calm():\n"), "weakened", "swallows"),
    Cheat("swallowing __exit__", TOTAL, "class Calm:\n    def __enter__(self):\n        return self\n    def __exit__(self, *a):\n        return True\n\n\n" + inside("    with Calm():\n"), "weakened", "swallows"),
    # weaker
    Cheat("expectation changed", TOTAL, TOTAL.replace("6", "7"), "weakened", "expects 7 where it expected 6"),
    Cheat("moved and weakened", TOTAL, {"tests/test_sums.py": HEAD + asserting("total([1, 2, 3]) >= 6")}, "weakened", "became `total([1, 2, 3]) >= 6`"),
    Cheat("expectation in a constant", "WANTED = 6\n" + TOTAL.replace("== 6", "== WANTED"), "WANTED = 5\n" + TOTAL.replace("== 6", "== WANTED"), "weakened", "expects 5 where it expected 6"),
    Cheat("expectation in a row", ROWS, ROWS.replace("([1, 2], 3)", "([1, 2], 2)"), "weakened", "expects 2 where it expected 3"),
    Cheat("is not None", TOTAL, asserting("total([1, 2, 3]) is not None"), "weakened", "became `total([1, 2, 3]) is not None`"),
    Cheat("truthiness", TOTAL, asserting("total([1, 2, 3])"), "weakened", "became `total([1, 2, 3])`"),
    Cheat("at least", TOTAL, asserting("total([1, 2, 3]) >= 6"), "weakened", "became `total([1, 2, 3]) >= 6`"),
    Cheat("one of", TOTAL, asserting("total([1, 2, 3]) in (5, 6)"), "weakened", "in (5, 6)"),
    Cheat("isinstance", TOTAL, asserting("isinstance(total([1, 2, 3]), int)"), "weakened", "became `isinstance"),
    Cheat("not equal", TOTAL, asserting("total([1, 2, 3]) != 5"), "weakened", "!= 5"),
    Cheat("or another", TOTAL, asserting("total([1, 2, 3]) == 6 or total([1, 2, 3]) == 5"), "unclear", " or "),
    Cheat("rounded", "def test_a():\n    assert shop.mean([1, 2]) == 1.5\n", "def test_a():\n    assert round(shop.mean([1, 2])) == 2\n", "weakened", "round"),
    Cheat("rounded alike", "def test_a():\n    assert shop.mean([1, 2]) == 2\n", "def test_a():\n    assert round(shop.mean([1, 2])) == 2\n", "weakened", "round"),
    Cheat("len for the list", "def test_a():\n    assert shop.names() == ['a']\n", "def test_a():\n    assert len(shop.names()) == 1\n", "weakened", "became `len(names()) == 1`"),
    Cheat("mock.ANY", TOTAL, "from unittest import mock\n" + asserting("total([1, 2, 3]) == mock.ANY"), "weakened", "always true"),
    Cheat("always equal", TOTAL, "class Any:\n    def __eq__(self, other):\n        return True\n\n\n" + asserting("total([1, 2, 3]) == Any()"), "weakened", "is always true"),
    Cheat("approx widened", CLOSE, CLOSE.replace("1.5)", "1.5, rel=1e9)"), "weakened", "tolerance rel=1000000000.0"),
    Cheat("approx, absolute", CLOSE, CLOSE.replace("1.5)", "1.5, abs=100)"), "weakened", "abs=100"),
    Cheat("approx for equal", TOTAL, asserting("total([1, 2, 3]) == pytest.approx(6, abs=3)"), "weakened", "approx"),
    Cheat("isclose widened", asserting("math.isclose(shop.mean([1]), 1.0)"), asserting("math.isclose(shop.mean([1]), 1.0, rel_tol=10)"), "weakened", "rel=10"),
    Cheat("places lowered", {FILE: UNIT.replace("Equal(total([1, 2]), 3)", "AlmostEqual(total([1, 2]), 3.1, places=5)")}, {FILE: UNIT.replace("Equal(total([1, 2]), 3)", "AlmostEqual(total([1, 2]), 3.1, places=0)")}, "weakened", "tolerance"),
    Cheat("raises anything", RAISES, RAISES.replace("ValueError", "Exception"), "weakened", "expects Exception where it expected ValueError"),
    Cheat("raises one of", RAISES, RAISES.replace("ValueError", "(ValueError, TypeError)"), "weakened", "TypeError"),
    Cheat("match removed", RAISES, RAISES.replace(", match='empty'", ""), "weakened", "no longer matches 'empty'"),
    Cheat("raises by itself", RAISES, RAISES + "        raise ValueError('empty')\n", "unclear", "raise_(ValueError('empty'))"),
    Cheat("raises removed", RAISES, "def test_empty():\n    total([0])\n", "weakened", "asserts nothing"),
    Cheat("mock's assertion removed", {FILE: MOCKED}, {FILE: MOCKED.replace("    send.assert_called_once_with('done')\n", "")}, "weakened", "asserts nothing"),
    Cheat("mock's assertion weaker", {FILE: MOCKED}, {FILE: MOCKED.replace("assert_called_once_with('done')", "assert_called()")}, "unclear", "assert_called()"),
    Cheat("rows removed", ROWS, ROWS.replace("([1, 2], 3), ", ""), "weakened", "no longer asserts `total([1, 2]) == 3`"),
    Cheat("all rows removed", ROWS, ROWS.replace("([1], 1), ([1, 2], 3), ([], 0)", ""), "not-run", "no parameters left"),
    Cheat("another input", TOTAL, asserting("total([6]) == 6"), "unclear", "became `total([6]) == 6`"),
    Cheat("helper weakened", "def check(x):\n    assert total(x) == 6\n\n\ndef test_a():\n    check([6])\n", "def check(x):\n    assert total(x)\n\n\ndef test_a():\n    check([6])\n", "weakened", "became"),
    Cheat("helper in another file", with_file("tests/helpers.py", "from shop import total\n\ndef check(x):\n    assert total(x) == 6\n", "from helpers import check\n\ndef test_a():\n    check([6])\n", ), with_file("tests/helpers.py", "def check(x):\n    pass\n", "from helpers import check\n\ndef test_a():\n    check([6])\n", ), "weakened", "asserts nothing"),
    # shadowed
    Cheat("redefined", TOTAL, TOTAL + "\n\ndef test_total():\n    pass\n", "weakened", "asserts nothing"),
    Cheat("a lambda instead", TOTAL, TOTAL + "\n\ntest_total = lambda: None\n", "not-run", "does not collect it"),
    Cheat("del", TOTAL, TOTAL + "\n\ndel test_total\n", "not-run", "does not collect it"),
    Cheat("__test__ of a function", TOTAL, TOTAL + "\n\ntest_total.__test__ = False\n", "not-run", "does not collect it"),
    Cheat("__test__ of the module", TOTAL, "__test__ = False\n" + TOTAL, "not-run", "does not collect it"),
    Cheat("__test__ of a class", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "class TestA:\n    __test__ = False\n    def test_a(self):\n        assert total([1]) == 1\n", "not-run", "does not collect it"),
    Cheat("class with __init__", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "class TestA:\n    def __init__(self): ...\n    def test_a(self):\n        assert total([1]) == 1\n", "not-run", "does not collect it"),
    Cheat("class renamed", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "class CheckA:\n    def test_a(self):\n        assert total([1]) == 1\n", "not-run", "does not collect it"),
    Cheat("method replaced", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n\n\nTestA.test_a = lambda self: None\n", "not-run", "does not collect it"),
    Cheat("under if False", TOTAL, "if False:\n    def test_total():\n        assert total([1, 2, 3]) == 6\n", "not-run", "does not collect it"),
    # replaced
    Cheat("monkeypatch", TOTAL, "def test_total(monkeypatch):\n    monkeypatch.setattr(shop, 'total', lambda x: 6)\n    assert shop.total([1, 2, 3]) == 6\n", "replaced", "monkeypatch.setattr(shop, 'total'"),
    Cheat("monkeypatch by name", TOTAL, TOTAL.replace("():", "(monkeypatch):").replace("    a", "    monkeypatch.setattr('shop.total', lambda x: 6)\n    a" ), "replaced", "shop.total"),
    Cheat("patch decorator", TOTAL, "@mock.patch('shop.total', return_value=6)\n" + TOTAL, "replaced", "mock.patch('shop.total'"),
    Cheat("patch with", TOTAL, inside("    with mock.patch('shop.total', return_value=6):\n"), "replaced", "shop.total"),
    Cheat("patch.object", CART, CART.replace("    assert cart.t", "    mock.patch.object(Cart, 'total', return_value=4).start()\n    assert cart.t", ), "replaced", "patch.object"),
    Cheat("attribute of the module", TOTAL, TOTAL.replace("    a", "    shop.total = lambda x: 6\n    a"), "replaced", "shop.total"),
    Cheat("attribute at import", TOTAL, "shop.total = lambda x: 6\n\n\n" + TOTAL, "replaced", "shop.total"),
    Cheat("method of the object", CART, CART.replace("    assert cart.t", "    cart.total = lambda: 4\n    assert cart.t"), "replaced", "cart.total"),
    Cheat("sys.modules", TOTAL, TOTAL.replace("    a", "    sys.modules['shop'] = Fake()\n    a"), "replaced", "sys.modules"),
    Cheat("a local function", TOTAL, TOTAL.replace("    a", "    total = lambda x: 6\n    a"), "weakened", "always true"),
    Cheat("a function of the module", TOTAL, "def total(items):\n    return 6\n\n\n" + TOTAL, "weakened", "always true"),
    Cheat("a fixture", TOTAL, "@pytest.fixture(autouse=True)\ndef fake(monkeypatch):\n    monkeypatch.setattr(shop, 'total', lambda x: 6)\n\n\n" + TOTAL, "replaced", "shop, 'total'"),
    Cheat("a fixture of the conftest", PLAIN, conftest("@pytest.fixture(autouse=True)\ndef fake(monkeypatch):\n    monkeypatch.setattr('shop.total', lambda x: 6)\n" ), "replaced", "shop.total"),
    Cheat("the conftest at import", PLAIN, conftest("import shop\nshop.total = lambda x: 6\n"), "replaced", "shop.total"),
    Cheat("a fixture that skips", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n", "@pytest.fixture\ndef items():\n    pytest.skip('no')\n\n\ndef test_a(items):\n    assert total(items) == 3\n", "not-run", "pytest.skip('no')"),
    Cheat("an autouse fixture that skips", PLAIN, conftest("@pytest.fixture(autouse=True)\ndef no():\n    pytest.skip('no')\n"), "not-run", "skips"),
    Cheat("a fixture with another value", with_file(CONFTEST, "import pytest\n\n@pytest.fixture\ndef items():\n    return [1, 2]\n", "def test_a(items):\n    assert total(items) == 3\n", ), with_file(CONFTEST, "import pytest\n\n@pytest.fixture\ndef items():\n    return [3]\n", "def test_a(items):\n    assert total(items) == 3\n", ), "unclear", "is about `total([3])`"),
    # hooks
    Cheat("modifyitems removes", PLAIN, conftest("def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'total' not in i.name]\n" ), "not-run", "hook `pytest_collection_modifyitems`"),
    Cheat("modifyitems skips", PLAIN, conftest("def pytest_collection_modifyitems(items):\n    for i in items:\n        i.add_marker(pytest.mark.xfail)\n" ), "not-run", "modifyitems"),
    Cheat("modifyitems clears", PLAIN, conftest("def pytest_collection_modifyitems(config, items):\n    items.clear()\n"), "not-run", "modifyitems"),
    Cheat("ignore_collect", PLAIN, conftest("def pytest_ignore_collect(collection_path):\n    return collection_path.name == 'test_shop.py'\n" ), "not-run", "ignore_collect"),
    Cheat("collect_ignore", PLAIN, conftest("collect_ignore = ['test_shop.py']\n"), "not-run", "`collect_ignore`"),
    Cheat("collect_ignore_glob", PLAIN, conftest("collect_ignore_glob = ['test_*']\n"), "not-run", "collect_ignore_glob"),
    Cheat("makereport", PLAIN, conftest("@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    rep = out.get_result()\n    rep.outcome = 'passed'\n" ), "weakened", "rep.outcome = 'passed'"),
    Cheat("makereport, setattr", PLAIN, conftest("@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n    rep = yield\n    setattr(rep, 'outcome', 'passed')\n    return rep\n" ), "weakened", "outcome"),
    Cheat("runtest_call", PLAIN, conftest("@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    try:\n        yield\n    except Exception:\n        pass\n" ), "weakened", "`except Exception` around `yield`"),
    Cheat("runtest_call, force_result", PLAIN, conftest("@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_call(item):\n    out = yield\n    out.force_result(None)\n" ), "weakened", "force_result"),
    Cheat("pyfunc_call", PLAIN, conftest("def pytest_pyfunc_call(pyfuncitem):\n    return True\n"), "weakened", "return True"),
    Cheat("runtest_protocol", PLAIN, conftest("def pytest_runtest_protocol(item, nextitem):\n    return True\n"), "not-run", "return True"),
    Cheat("sessionfinish", PLAIN, conftest("def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"), "weakened", "session.exitstatus = 0"),
    Cheat("unconfigure exits", PLAIN, conftest("import os\n\n\ndef pytest_unconfigure(config):\n    os._exit(0)\n"), "weakened", "os._exit(0)"),
    Cheat("configure sets options", PLAIN, conftest("def pytest_configure(config):\n    config.option.keyword = 'not total'\n"), "weakened", "config.option.keyword"),
    Cheat("report_teststatus", PLAIN, conftest("def pytest_report_teststatus(report):\n    return 'passed', '.', 'PASSED'\n"), "weakened", "teststatus"),
    Cheat("exception_interact", PLAIN, conftest("def pytest_exception_interact(node, call, report):\n    report.outcome = 'passed'\n"), "weakened", "exception_interact"),
    Cheat("cmdline_main", PLAIN, conftest("def pytest_cmdline_main(config):\n    return 0\n"), "not-run", "cmdline_main"),
    Cheat("runtest_setup skips", PLAIN, conftest("def pytest_runtest_setup(item):\n    pytest.skip('no')\n"), "not-run", "runtest_setup"),
    Cheat("itemcollected replaces", PLAIN, conftest("def pytest_itemcollected(item):\n    item.obj = lambda: None\n"), "not-run", "item.obj"),
    # configuration
    Cheat("testpaths", with_file("pyproject.toml", TOML) | {"checks/test_b.py": TOTAL}, with_file("pyproject.toml", TOML.replace('"tests", ', "")) | {"checks/test_b.py": TOTAL}, "not-run", "testpaths = checks"),
    Cheat("-k", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "-ra -k 'not total'")), "not-run", "-k 'not total'"),
    Cheat("-m", with_file("pytest.ini", INI, "@pytest.mark.slow\n" + TOTAL), with_file("pytest.ini", INI.replace("-ra", "-m 'not slow'"), "@pytest.mark.slow\n" + TOTAL), "not-run", "-m 'not slow'"),
    Cheat("marked for -m", with_file("pytest.ini", INI.replace("-ra", "-m 'not slow'")), with_file("pytest.ini", INI.replace("-ra", "-m 'not slow'"), "@pytest.mark.slow\n" + TOTAL), "not-run", "-m 'not slow'"),
    Cheat("--ignore", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "--ignore=tests/test_shop.py")), "not-run", "--ignore=tests/test_shop.py"),
    Cheat("--deselect", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "--deselect tests/test_shop.py::test_total")), "not-run", "--deselect"),
    Cheat("-p no:python", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "-p no:python")), "not-run", "no:python"),
    Cheat("--collect-only", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "--co")), "not-run", "only collects"),
    Cheat("python_files", with_file("pytest.ini", INI), with_file("pytest.ini", INI + "python_files = check_*.py\n"), "not-run", "python_files"),
    Cheat("python_functions", with_file("pytest.ini", INI), with_file("pytest.ini", INI + "python_functions = check\n"), "not-run", "python_functions"),
    Cheat("norecursedirs", with_file("pytest.ini", INI), with_file("pytest.ini", INI + "norecursedirs = tests\n"), "not-run", "norecursedirs"),
    Cheat("a new pytest.ini", with_file("pyproject.toml", TOML), with_file("pyproject.toml", TOML) | {"pytest.ini": "[pytest]\naddopts = --ignore=tests\n"}, "not-run", "--ignore=tests"),
    Cheat("setup.cfg", with_file("setup.cfg", "[tool:pytest]\n"), with_file("setup.cfg", "[tool:pytest]\naddopts = -k nothing\n"), "not-run", "-k 'nothing'"),
    Cheat("xfail_strict", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("true", "false")), "weakened", "xfail_strict"),
    Cheat("filterwarnings", with_file("pyproject.toml", TOML), with_file("pyproject.toml", TOML.replace('["error"]', "[]")), "weakened", "filterwarnings"),
    Cheat("PYTHONOPTIMIZE", with_file("tox.ini", "[testenv]\n"), with_file("tox.ini", "[testenv]\nsetenv = PYTHONOPTIMIZE=1\n"), "not-run", "turns assertions off"),
    Cheat("python -O", with_file("tox.ini", "[testenv]\ncommands = pytest\n"), with_file("tox.ini", "[testenv]\ncommands = python -O -m pytest\n"), "not-run", "turns assertions off"),
    # a person has to look
    Cheat("rewritten", CART, "def test_cart():\n    assert shop.catalogue('pen').stock > 0\n", "unclear", "became"),
    Cheat("snapshot", with_file("tests/__snapshots__/test_shop.ambr", "# name: test_total\n  6\n"), with_file("tests/__snapshots__/test_shop.ambr", "# name: test_total\n  7\n"), "unclear", "snapshot"),
    # containers that are filled
    Cheat("filled by a call", FILLED, FILLED.replace("[1, 2]", "[1]"), "weakened", "expects [1] where it expected [1, 2]"),
    Cheat("filled by a generator", LAZY, LAZY.replace("== [1, 2]", "== [1]"), "weakened", "expects [1] where it expected [1, 2]"),
    Cheat("filled by a callback", "def test_a():\n    seen = []\n    shop.run(seen.append)\n    assert seen == [1, 2]\n", "def test_a():\n    seen = []\n    shop.run(seen.append)\n    assert seen == [1]\n", "weakened", "where it expected"),
    Cheat("filled by a lambda", "def test_a():\n    seen = []\n    shop.run(lambda x: seen.append(x))\n    assert seen == [1, 2]\n", "def test_a():\n    seen = []\n    shop.run(lambda x: seen.append(x))\n    assert seen == [1]\n", "weakened", "where it expected"),
    Cheat("filled by a closure", "def test_a():\n    seen = []\n\n    def note(x):\n        seen.append(x)\n\n    shop.run(note)\n    assert seen == [1, 2]\n", "def test_a():\n    seen = []\n\n    def note(x):\n        seen.append(x)\n\n    shop.run(note)\n    assert seen == [1]\n", "weakened", "where it expected"),
    Cheat("counted by a closure", "def test_a():\n    n = 0\n\n    def note():\n        nonlocal n\n        n += 1\n\n    shop.run(note)\n    assert n == 2\n", "def test_a():\n    n = 0\n\n    def note():\n        nonlocal n\n        n += 1\n\n    shop.run(note)\n    assert n == 1\n", "weakened", "where it expected"),
    Cheat("a dict that is filled", "def test_a():\n    out = {}\n    shop.fill(out)\n    assert out == {'a': 1}\n", "def test_a():\n    out = {}\n    shop.fill(out)\n    assert out == {'a': 2}\n", "weakened", "where it expected"),
    Cheat("filled by item", "def test_a():\n    out = {}\n    out[\"a\"] = shop.f()\n    assert out['a'] == 1\n", "def test_a():\n    out = {}\n    out[\"a\"] = shop.f()\n    assert out['a'] == 2\n", "weakened", "where it expected"),
    Cheat("filled in a loop", "def test_a():\n    out = []\n    for x in shop.items():\n        out.append(x)\n    assert out == [1, 2]\n", "def test_a():\n    out = []\n    for x in shop.items():\n        out.append(x)\n    assert out == [1]\n", "weakened", "where it expected"),
    Cheat("held by an object", "def test_a():\n    log = []\n    cart = Cart(log=log)\n    cart.add(1)\n    assert log == [1]\n", "def test_a():\n    log = []\n    cart = Cart(log=log)\n    cart.add(1)\n    assert log == [2]\n", "weakened", "where it expected"),
    Cheat("filled in the module", "OUT = []\n\n\ndef test_a():\n    shop.fill(OUT)\n    assert OUT == [1, 2]\n", "OUT = []\n\n\ndef test_a():\n    shop.fill(OUT)\n    assert OUT == [1]\n", "weakened", "where it expected"),
    Cheat("input changed first", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n".replace("    assert", "    items[:] = [1, 1]\n    assert"), "unclear", "is about"),
    Cheat("input changed by methods", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n".replace("    assert", "    items.pop()\n    items.append(1)\n    assert"), "unclear", "is about"),
    Cheat("loop over the rest of the input", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n", "@pytest.fixture\ndef items():\n    return [1, 2]\n\n\ndef test_a(items):\n    assert total(items) == 3\n".replace("    assert", "    for _ in items[2:]:\n        assert"), "weakened", "goes over nothing"),
    # always true, by what the parts can come out as
    *(
        Cheat(f"always true: {test}", TOTAL, asserting(test), "weakened", "is always true")
        for test in (
            "any([total([1, 2, 3]) == 6, 1])",
            "(total([1, 2, 3]) == 6) | True",
            "(total([1, 2, 3]) == 6) in (True, False)",
            "(total([1, 2, 3]) == 6) is not None",
            "f'{total([1, 2, 3]) == 6}'",
            "total([1, 2, 3]) == 6 if total([1, 2, 3]) == 6 else True",
            "type(total([1, 2, 3]) == 6) is bool",
            "total([1, 2, 3]).__eq__(6) is not NotImplemented",
            "sum([total([1, 2, 3]) == 6]) >= 0",
            "all(v for v in [total([1, 2, 3]) == 6] if v)",
            "all(total([1, 2, 3]) == 6 for _ in [])",
            "all(total([1, 2, 3]) == 6 for _ in range(0))",
            "isinstance(total([1, 2, 3]) == 6, bool)",
            "str(total([1, 2, 3]) == 6)",
            "len([total([1, 2, 3]) == 6])",
            "max(total([1, 2, 3]) == 6, True)",
            "abs(total([1, 2, 3]) - 6) >= 0",
            "repr(total([1, 2, 3]))",
            "[total([1, 2, 3]) == 6] * 2",
            "next(iter([True, total([1, 2, 3]) == 6]))",
        )
    ),
    Cheat("or a type", TOTAL, asserting("total([1, 2, 3]) == 6 or isinstance(total([1, 2, 3]), int)"), "weakened", "became `isinstance"),
    Cheat("a computed expectation", TOTAL, asserting("total([1, 2, 3]) == shop.count([1, 2, 3]) + 2"), "weakened", "where it expected 6"),
    Cheat("a folded expectation", TOTAL, asserting("total([1, 2, 3]) == int('7')"), "weakened", "expects 7 where it expected 6"),
    Cheat("a length for the expectation", TOTAL, asserting("total([1, 2, 3]) == len('1234567')"), "weakened", "expects 7 where it expected 6"),
    Cheat("a member for the expectation", asserting("shop.color() == 'red'"), asserting("shop.color() is shop.Color.RED"), "unclear", "is Color.RED"),
    Cheat("an exception of the code under test", RAISES, RAISES.replace("ValueError", "shop.EmptyError"), "unclear", "expects EmptyError"),
    # not reached, or swallowed
    Cheat("suppress made before", TOTAL, "def test_total():\n    calm = contextlib.suppress(AssertionError)\n    with calm:\n        assert total([1, 2, 3]) == 6\n", "weakened", "swallows"),
    Cheat("raises made before", TOTAL, "def test_total():\n    calm = pytest.raises(AssertionError)\n    with calm:\n        assert total([1, 2, 3]) == 6\n", "weakened", "expects it to fail"),
    Cheat("suppress by its name", TOTAL, "import contextlib as c\n\ncalm = getattr(c, 'sup' + 'press')\n\n\n" + inside("    with calm(Exception):\n"), "weakened", "swallows"),
    Cheat("a context of the code under test", TOTAL, inside("    with shop.quiet():\n"), "unclear", "is inside `with shop.quiet()`"),
    Cheat("a decorator of the code under test", TOTAL, "@shop.traced\n" + TOTAL, "unclear", "is inside `@shop.traced`"),
    Cheat("a generator never consumed", TOTAL, "def check(x):\n    assert total(x) == 6\n\n\ndef test_total():\n    (check(x) for x in [[1, 2, 3]])\n", "weakened", "is never consumed"),
    Cheat("exec", TOTAL, TOTAL + "\n\nexec('def test_total(): pass')\n", "weakened", "asserts nothing"),
    Cheat("exec of anything", TOTAL, TOTAL + "\n\nexec(shop.SETUP)\n", "unclear", "may define or replace anything"),
    Cheat("__code__", TOTAL, TOTAL + "\n\ntest_total.__code__ = (lambda: None).__code__\n", "weakened", "`test_total.__code__` is replaced"),
    Cheat("setattr of the module", TOTAL, TOTAL + "\n\nsetattr(sys.modules[__name__], 'test_total', lambda: None)\n", "not-run", "does not collect it"),
    Cheat("globals().update", TOTAL, TOTAL + "\n\nglobals().update(total=lambda x: 6)\n", "weakened", "always true"),
    Cheat("__code__ of the code under test", TOTAL, "@pytest.fixture(autouse=True)\ndef fast():\n    shop.total.__code__ = (lambda items: 6).__code__\n\n\n" + TOTAL, "replaced", "shop.total.__code__"),
    Cheat("fewer examples", DRAWN, DRAWN.replace("100", "1"), "weakened", "max_examples >= 1"),
    Cheat("another strategy", DRAWN, DRAWN.replace("st.lists(st.integers())", "st.just([])"), "unclear", "just([])"),
    Cheat("an assumption", DRAWN, DRAWN.replace("    assert", "    assume(len(x) < 3)\n    assert"), "weakened", "only under `len(drawn_0) < 3`"),
    Cheat("a skip for another platform", TOTAL, "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n" + TOTAL, "unclear", "win32"),
    Cheat("a skip on another condition", "@pytest.mark.skipif(not shop.OK, reason='x')\n" + TOTAL, "@pytest.mark.skipif(not shop.ok(), reason='x')\n" + TOTAL, "unclear", "shop.ok()"),
    # too large
    Cheat("a literal of megabytes", TOTAL, asserting("total([1, 2, 3]) == '" + "a" * 2_500_000 + "'"), "not-compared", "the file is too large to be compared"),
    Cheat("a sum of very many", TOTAL, asserting("total([1, 2, 3]) == " + "+".join(["1"] * 20_000)), "not-compared", "nested too deeply"),
    Cheat("a list of megabytes, its first item gone", "X = [" + "1234567, " * 300_000 + "]\n\n\n" + asserting("total(X) == 6"), "X = [" + "1234567, " * 299_999 + "]\n\n\n" + asserting("total(X) == 6"), "not-compared", "too large"),
    Cheat("one of very many terms gone", asserting(" and ".join(f"shop.f({i})" for i in range(3000))), asserting(" and ".join(f"shop.f({i})" for i in range(2999))), "unclear", ""),
    Cheat("one of very many rows", MANY, MANY.replace("(777, ", "(778, "), "not-compared", "is too large to be compared"),
]
# fmt: on

# fmt: off
HONEST = [
    Honest("the same", TOTAL, TOTAL),
    Honest("merged", CART, CART.replace("assert cart.total() == 4\n    assert cart.names() == ['pen']", "assert (cart.total(), cart.names()) == (4, ['pen'])", )),
    Honest("merged by and", CART, CART.replace("== 4\n    assert", "== 4 and")),
    Honest("split", "def test_a():\n    assert shop.both() == (1, 2)\n", "def test_a():\n    one, two = shop.both()\n    assert one == 1\n    assert two == 2\n"),
    Honest("split of and", asserting("total([1]) == 1 and total([2]) == 2"), asserting("total([1]) == 1\n    assert total([2]) == 2")),
    Honest("into a helper", TOTAL, "def check(items, expected):\n    assert total(items) == expected\n\n\ndef test_total():\n    check([1, 2, 3], 6)\n"),
    Honest("into a helper, by name", TOTAL, "def check(items, *, expected=6):\n    result = total(items)\n    assert result == expected\n\n\ndef test_total():\n    check(items=[1, 2, 3])\n"),
    Honest("into a helper module", TOTAL, with_file("tests/helpers.py", "from shop import total\n\n\ndef check(items, expected):\n    assert total(items) == expected\n", "from helpers import check\n\n\ndef test_total():\n    check([1, 2, 3], 6)\n", )),
    Honest("into helpers of helpers", TOTAL, "def same(a, b):\n    assert a == b\n\n\ndef check(items, expected):\n    same(total(items), expected)\n\n\ndef test_total():\n    check([1, 2, 3], 6)\n"),
    Honest("into a fixture of the conftest", TOTAL, with_file(CONFTEST, "import pytest\nfrom shop import total\n\n\n@pytest.fixture\ndef check():\n    def run(items, expected):\n        assert total(items) == expected\n    return run\n", "def test_total(check):\n    check([1, 2, 3], 6)\n", )),
    Honest("a fixture is gone, so that the test fails", with_file(CONFTEST, "import pytest\nfrom shop import Cart\n\n\n@pytest.fixture\ndef cart():\n    return Cart('A')\n", "def test_a(cart):\n    assert cart.size == 0\n"), with_file(CONFTEST, "import pytest\nfrom shop import Cart\n\n\n@pytest.fixture\ndef basket():\n    return Cart('A')\n", "def test_a(cart):\n    assert cart.size == 0\n")),
    Honest("what is patched moved to another module", "@pytest.fixture\ndef mails(monkeypatch):\n    sent = []\n    monkeypatch.setattr('app.orders.{}send_mail', lambda to: sent.append(to))\n    return sent\n\n\ndef test_mail(mails):\n    shop.order()\n    assert mails == ['a@x']\n    assert mails[-1] == 'a@x'\n".format(""), "@pytest.fixture\ndef mails(monkeypatch):\n    sent = []\n    monkeypatch.setattr('app.orders.{}send_mail', lambda to: sent.append(to))\n    return sent\n\n\ndef test_mail(mails):\n    shop.order()\n    assert mails == ['a@x']\n    assert mails[-1] == 'a@x'\n".format("notify.")),
    Honest("into a base class", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "class Base:\n    def check(self, items):\n        assert total(items) == 1\n\n\nclass TestA(Base):\n    def test_a(self):\n        self.check([1])\n"),
    Honest("the test into a base class", "class TestA:\n    def test_a(self):\n        assert total([1]) == 1\n", "class Base:\n    def test_a(self):\n        assert total([1]) == 1\n\n\nclass TestA(Base):\n    pass\n"),
    Honest("a helper that gives", TOTAL, "def of(*items):\n    return total(list(items))\n\n\ndef test_total():\n    assert total([1, 2, 3]) == 6\n"),
    Honest("renamed", TOTAL, TOTAL.replace("test_total", "test_sum_of_three")),
    Honest("file renamed", TOTAL, {"tests/test_totals.py": HEAD + TOTAL}),
    Honest("file moved", TOTAL, {"tests/unit/test_shop.py": HEAD + TOTAL}),
    Honest("file split", TOTAL + CART, {"tests/test_total.py": HEAD + TOTAL, "tests/test_cart.py": HEAD + CART}),
    Honest("moved to a class", TOTAL, "class TestTotal:\n    def test_total(self):\n        assert total([1, 2, 3]) == 6\n"),
    Honest("moved and renamed", TOTAL, "class TestTotal:\n    def test_of_three(self):\n        result = total([1, 2, 3])\n        assert result == 6\n"),
    Honest("parametrized", "def test_one():\n    assert total([1]) == 1\n\n\ndef test_two():\n    assert total([1, 2]) == 3\n\n\ndef test_none():\n    assert total([]) == 0\n", ROWS),
    Honest("unparametrized", ROWS, "def test_one():\n    assert total([1]) == 1\n\n\ndef test_two():\n    assert total([1, 2]) == 3\n\n\ndef test_none():\n    assert total([]) == 0\n"),
    Honest("parametrized in a loop", LOOP, "@pytest.mark.parametrize('item', [1, 2, 3])\ndef test_all(item):\n    assert shop.price(item) == item * 2\n"),
    Honest("rows named", ROWS, ROWS.replace("([1, 2], 3)", "pytest.param([1, 2], 3, id='two')")),
    Honest("rows added", ROWS, ROWS.replace("([], 0)", "([], 0), ([5], 5)")),
    Honest("rows in a constant", ROWS, ROWS.replace("[([1], 1), ([1, 2], 3), ([], 0)]", "CASES").replace("@", "CASES = [([1], 1), ([1, 2], 3), ([], 0)]\n\n\n@", 1 )),
    Honest("stricter", asserting("total([1, 2, 3]) > 5"), TOTAL),
    Honest("stricter than truth", asserting("total([1, 2, 3])"), TOTAL),
    Honest("stricter than not None", asserting("total([1, 2, 3]) is not None"), TOTAL),
    Honest("stricter than isinstance", asserting("isinstance(total([1, 2, 3]), int)"), TOTAL),
    Honest("stricter than in", asserting("total([1, 2, 3]) in (5, 6)"), TOTAL),
    Honest("stricter than a length", asserting("len(shop.names()) == 2"), asserting("shop.names() == ['a', 'b']")),
    Honest("stricter than a part", asserting("'a' in shop.names()"), asserting("shop.names() == ['a', 'b']")),
    Honest("more assertions", TOTAL, TOTAL + "    assert total([7]) == 7\n"),
    Honest("more tests", TOTAL, TOTAL + "\n\n" + CART),
    Honest("reformatted", TOTAL, "def test_total():\n\n    assert (\n        total([ 1,2,3 ] )\n        == 6\n    )\n"),
    Honest("comments and a docstring", TOTAL, 'def test_total() -> None:\n    """Sums."""\n    # three of them\n    assert total([1, 2, 3]) == 6  # six\n'),
    Honest("locals renamed", CART, CART.replace("cart", "basket").replace("test_basket", "test_cart")),
    Honest("a local for the result", TOTAL, "def test_total():\n    items = [1, 2, 3]\n    result = total(items)\n    assert result == 6\n"),
    Honest("a local for the expectation", TOTAL, "def test_total():\n    expected = 6\n    assert total([1, 2, 3]) == expected\n"),
    Honest("a constant", TOTAL, "SIX = 6\n\n\n" + TOTAL.replace("== 6", "== SIX")),
    Honest("a constant computed", TOTAL, "STEP = 2\n\n\n" + TOTAL.replace("== 6", "== 4 + STEP")),
    Honest("imports changed", {FILE: HEAD + TOTAL}, {FILE: "import shop\n\n\n" + TOTAL.replace("total([", "shop.total([")}),
    Honest("imported by another name", {FILE: HEAD + TOTAL}, {FILE: "from shop import total as add_up\n\n\n" + TOTAL.replace("total([", "add_up([")}),
    Honest("fixture extracted", CART, "@pytest.fixture\ndef cart():\n    cart = Cart()\n    cart.add('pen', 2)\n    return cart\n\n\n" + CART.replace("cart():", "cart(cart):").replace("    cart = Cart()\n    cart.add('pen', 2)\n", "")),
    Honest("fixture that yields", CART, "@pytest.fixture\ndef basket():\n    made = Cart()\n    yield made\n    made.close()\n\n\n" + CART.replace("():", "(basket):", 1).replace("Cart()", "basket")),
    Honest("setup method", "class TestA:\n    def test_a(self):\n        cart = Cart()\n        assert cart.total() == 0\n", "class TestA:\n    def setup_method(self):\n        self.cart = Cart()\n\n    def test_a(self):\n        assert self.cart.total() == 0\n"),
    Honest("keywords", CART, CART.replace("Cart()", "Cart(currency='EUR')").replace("'pen', 2", "name='pen', price=2")),
    Honest("keyword renamed", asserting("total(items=[1, 2]) == 3"), asserting("total(values=[1, 2]) == 3")),
    Honest("keyword given", asserting("total([1, 2]) == 3"), asserting("total(items=[1, 2]) == 3")),
    Honest("unittest to pytest", {FILE: UNIT}, {FILE: "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"}),
    Honest("pytest to unittest", {FILE: "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"}, {FILE: UNIT}),
    Honest("assertRaises to raises", { FILE: UNIT.replace("self.assertEqual(total([1, 2]), 3)", "with self.assertRaises(ValueError):\n            total(None)", ) }, {FILE: HEAD + "def test_total():\n    with pytest.raises(ValueError):\n        total(None)\n"}),
    Honest("sides swapped", TOTAL, asserting("6 == total([1, 2, 3])")),
    Honest("not equal, otherwise", asserting("not total([1]) == 2"), asserting("total([1]) != 2")),
    Honest("a message", TOTAL, asserting("total([1, 2, 3]) == 6, f'got {total([1, 2, 3])}'")),
    Honest("function renamed", TOTAL, { FILE: "import pytest\nfrom shop import Cart, sum_up\n\n\n" + TOTAL.replace("total([", "sum_up([").replace("test_total", "test_sum_up") }),
    Honest("network mocked", TOTAL, "def test_total(monkeypatch):\n    monkeypatch.setattr('shop.requests.get', None)\n    monkeypatch.setattr(time, 'sleep', lambda s: None)\n    assert total([1, 2, 3]) == 6\n"),
    Honest("a clock in a fixture", TOTAL, "@pytest.fixture(autouse=True)\ndef clock(monkeypatch):\n    monkeypatch.setattr('shop.time.time', lambda: 0)\n\n\n" + TOTAL),
    Honest("skip of a new test", TOTAL, TOTAL + "\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='POSIX')\ndef test_new():\n    assert total([9]) == 9\n"),
    Honest("duplicate deleted", TOTAL + "\n\ndef test_again():\n    assert total([1, 2, 3]) == 6\n", TOTAL),
    Honest("duplicate deleted, other file", with_file("tests/test_b.py", HEAD + TOTAL), {FILE: HEAD + TOTAL}),
    Honest("xfail removed", "@pytest.mark.xfail\n" + TOTAL, TOTAL),
    Honest("skipped one deleted", "@pytest.mark.skip\n" + TOTAL + "\n\n" + CART, CART),
    Honest("markers added", PLAIN, conftest("def pytest_collection_modifyitems(items):\n    for i in items:\n        i.add_marker(pytest.mark.unit)\n    items.sort(key=lambda i: i.name)\n" )),
    Honest("items put in order", PLAIN, conftest("def pytest_collection_modifyitems(items):\n    items[:] = sorted(items, key=lambda i: i.name)\n" )),
    Honest("an option", PLAIN, conftest("def pytest_addoption(parser):\n    parser.addoption('--fast')\n\n\ndef pytest_configure(config):\n    config.addinivalue_line('markers', 'unit: x')\n" )),
    Honest("the report kept", PLAIN, conftest("@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    rep = out.get_result()\n    setattr(item, 'rep_' + rep.when, rep)\n    if rep.outcome == 'failed':\n        print(rep)\n" )),
    Honest("a hook that prints", PLAIN, conftest("def pytest_sessionfinish(session, exitstatus):\n    print(exitstatus)\n\n\ndef pytest_runtest_setup(item):\n    item.config.cache\n" )),
    Honest("addopts", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "-ra -q --strict-markers -n auto --tb=short -p no:cacheprovider") )),
    Honest("testpaths wider", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("= tests", "= tests more"))),
    Honest("to pyproject", with_file("pytest.ini", INI), with_file("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = ["-ra"]\nxfail_strict = true\n', )),
    Honest("-m of no test", with_file("pytest.ini", INI), with_file("pytest.ini", INI.replace("-ra", "-m 'not slow'"), TOTAL + "\n\n@pytest.mark.slow\ndef test_new():\n    assert total([8]) == 8\n", )),
    Honest("a test that -m leaves out, renamed", with_file("pytest.ini", INI.replace("-ra", "-m 'not slow'"), "@pytest.mark.slow\n" + TOTAL), with_file("pytest.ini", INI.replace("-ra", "-m 'not slow'"), "@pytest.mark.slow\n" + TOTAL.replace("    a", "    items = 1\n    a"))),
    Honest("tolerance narrower", CLOSE, CLOSE.replace("1.5)", "1.5, rel=1e-9)")),
    Honest("equal for approx", CLOSE, CLOSE.replace("pytest.approx(1.5)", "1.5")),
    Honest("finally", TOTAL, inside("    try:\n") + "    finally:\n        shop.close()\n"),
    Honest("raises narrower", RAISES.replace("ValueError", "Exception"), RAISES),
    Honest("match added", RAISES.replace(", match='empty'", ""), RAISES),
    Honest("raises by try", RAISES.replace(", match='empty'", ""), "def test_empty():\n    try:\n        total([])\n        pytest.fail('no')\n    except ValueError:\n        pass\n"),
    Honest("waits", TOTAL, "def test_total():\n    deadline = time.time() + 5\n    while time.time() < deadline:\n        if shop.ready():\n            break\n        time.sleep(0.1)\n    assert total([1, 2, 3]) == 6\n"),
    Honest("in a with", TOTAL, inside("    with warnings.catch_warnings():\n")),
    Honest("in a with whose value is used", "def test_a():\n    assert shop.opened().read() == 1\n", "def test_a():\n    with shop.opened() as shop_:\n        assert shop.opened().read() == 1\n        print(shop_)\n"),
    Honest("by if and fail", TOTAL, "def test_total():\n    if total([1, 2, 3]) != 6:\n        pytest.fail('wrong')\n"),
    Honest("async with its mark", TOTAL, "@pytest.mark.asyncio\nasync " + TOTAL.replace("total([", "await total([").replace("await total([1, 2, 3])", "(await total([1, 2, 3]))" )),
    Honest("usefixtures", TOTAL, "@pytest.fixture\ndef db():\n    yield 1\n\n\n@pytest.mark.usefixtures('db')\n" + TOTAL),
    Honest("subtests", ROWS, "def test_rows(subtests):\n    for items, expected in [([1], 1), ([1, 2], 3), ([], 0)]:\n        with subtests.test():\n            assert total(items) == expected\n"),
    Honest("a decorator that keeps", TOTAL, "def loud(f):\n    @functools.wraps(f)\n    def run(*a, **k):\n        print('!')\n        return f(*a, **k)\n    return run\n\n\n@loud\n" + TOTAL),
    Honest("a smoke test gets an assertion", "def test_a():\n    total([1])\n", "def test_a():\n    assert total([1]) == 1\n"),
    Honest("retried", TOTAL, "def test_total():\n    for attempt in range(3):\n        try:\n            assert total([1, 2, 3]) == 6\n            break\n        except AssertionError:\n            if attempt == 2:\n                raise\n"),
    # written otherwise
    Honest("dict by name", asserting("shop.row() == dict(a=1, b=2)"), asserting("shop.row() == {'a': 1, 'b': 2}")),
    Honest("list of a tuple", asserting("shop.names() == list(('a', 'b'))"), asserting("shop.names() == ['a', 'b']")),
    Honest("a status by name", asserting("shop.status() == 200"), "from http import HTTPStatus\n\n\n" + asserting("shop.status() == HTTPStatus.OK")),
    Honest("asyncio.run", "@pytest.mark.asyncio\nasync def test_a():\n    assert await shop.get(1) == 2\n", "import asyncio\n\n\ndef test_a():\n    assert asyncio.run(shop.get(1)) == 2\n"),
    Honest("approx for assertAlmostEqual", {FILE: UNIT.replace("Equal(total([1, 2]), 3)", "AlmostEqual(total([1, 2]), 3.5)")}, asserting("total([1, 2]) == pytest.approx(3.5)")),
    Honest("sorted for assertCountEqual", {FILE: UNIT.replace("Equal(total([1, 2]), 3)", "CountEqual(total([1, 2]), [2, 1])")}, asserting("sorted(total([1, 2])) == [1, 2]")),
    Honest("an f-string", "def test_a():\n    n = 'x'\n    assert shop.greet(n) == 'hi %s' % n\n", "def test_a():\n    n = 'x'\n    assert shop.greet(n) == f'hi {n}'\n"),
    Honest("an f-string of what is not known", "def test_a(n):\n    assert shop.greet(n) == 'hi {}!'.format(n)\n", "def test_a(n):\n    assert shop.greet(n) == f'hi {n}!'\n"),
    Honest("read_text", "def test_a(tmp_path):\n    with open(tmp_path / 'x') as f:\n        assert f.read() == '1'\n", "def test_a(tmp_path):\n    assert (tmp_path / 'x').read_text() == '1'\n"),
    Honest("the message by match", "def test_a():\n    with pytest.raises(ValueError) as e:\n        total([])\n    assert str(e.value) == 'empty'\n", "def test_a():\n    with pytest.raises(ValueError, match='^empty$'):\n        total([])\n"),
    Honest("a part of the message by match", "def test_a():\n    with pytest.raises(ValueError) as e:\n        total([])\n    assert 'empty' in str(e.value)\n", "def test_a():\n    with pytest.raises(ValueError, match='empty'):\n        total([])\n"),
    Honest("dedent", asserting("shop.f() == 'a\\nb\\n'"), "import textwrap\n\n\n" + asserting("shop.f() == textwrap.dedent('    a\\n    b\\n')")),
    Honest("imported in the test", "def test_a():\n    import shop as s\n    assert s.total([1]) == 1\n", "def test_a():\n    assert shop.total([1]) == 1\n"),
    Honest("all of two", asserting("shop.ok(1)\n    assert shop.ok(2)"), asserting("all(shop.ok(x) for x in (1, 2))")),
    Honest("a list of two", asserting("shop.f(1) == 1\n    assert shop.f(2) == 4"), asserting("[shop.f(x) for x in (1, 2)] == [1, 4]")),
    # containers that are filled
    Honest("another name for what is filled", FILLED, FILLED.replace("out", "found")),
    Honest("an empty list by name", FILLED, FILLED.replace("[]", "list()")),
    Honest("filled by a helper", FILLED, "def filled():\n    found = []\n    shop.fill(found)\n    return found\n\n\ndef test_a():\n    assert filled() == [1, 2]\n"),
    Honest("filled in a fixture's list", FILLED, "@pytest.fixture\ndef log():\n    return []\n\n\ndef test_a(log):\n    shop.fill(log)\n    assert log == [1, 2]\n"),
    Honest("lazily filled", LAZY, LAZY.replace("seen", "taken").replace("chunked", "chunks")),
    Honest("summed in a helper", "def filled():\n    found = []\n    shop.fill(found)\n    return sum(found)\n\n\ndef test_a():\n    assert filled() <= 3\n", "def filled():\n    found = []\n    shop.fill(found)\n    return sum(found)\n\n\ndef test_a():\n    assert filled() <= 3, 'too many'\n"),
    Honest("what an environment installs", with_file("tox.ini", "[pytest]\naddopts = -ra\n[testenv:docs]\ndeps = sphinx==9\n"), with_file("tox.ini", "[pytest]\naddopts = -ra\n[testenv:docs]\ndeps = sphinx==8\n")),
    Honest("what a type checker checks", with_file("setup.cfg", "[tool:pytest]\n[mypy]\n"), with_file("setup.cfg", "[tool:pytest]\n[mypy]\nstrict = true\n")),
    Honest("hooks", with_file(".pre-commit-config.yaml", "repos: []\n"), with_file(".pre-commit-config.yaml", "repos:\n- repo: local\n")),
    Honest("more examples", DRAWN, DRAWN.replace("max_examples=100", "max_examples=300, deadline=None").replace("given(", "given(x=")),
]
# fmt: on
