"""What runs only to tell how a test failed does not count; what the test runs after that does."""

import pytest
from calls_harness import count, needs_monitoring

pytestmark = needs_monitoring

CORE = """
class Price:
    def __init__(self, net):
        self.net = net

    def __eq__(self, other):
        return self.net == other.net

    __hash__ = None

    def __repr__(self):
        return f"Price({shown(self.net)})"

class Broken(Price):
    def __repr__(self):
        shown(self.net)
        raise KeyboardInterrupt

def shown(net):
    return f"{net:.2f}"

def add(a, b):
    return a + b

def late():
    return 1
"""
TESTS = """
import unittest
import pprint
import pytest
from shop import core

def wrong():
    assert core.Price(1) == core.Price(2)

def test_raises():
    with pytest.raises(AssertionError):
        wrong()
    assert core.add(1, 1) == 3

def test_raises_and_passes():
    with pytest.raises(AssertionError):
        wrong()
    core.add(1, 1)

def test_shows_it_after_all():
    with pytest.raises(AssertionError):
        wrong()
    assert core.shown(1) == ""

def test_only_told():
    wrong()

def test_caught_again_and_again():
    for _ in range(3):
        with pytest.raises(AssertionError):
            wrong()
        core.late()
    assert core.late() == 2

def test_telling_that_breaks():
    with pytest.raises(KeyboardInterrupt):
        assert core.Price(1) == core.Broken(2)
    assert core.late() == 2

def test_prints_by_itself():
    assert pprint.pformat([core.Price(1)]) == ""

@pytest.fixture
def ends():
    yield
    core.add(1, 1)

def test_tidies_up(ends):
    assert core.late() == 2

class TestUnit(unittest.TestCase):
    def test_raises(self):
        with self.assertRaises(AssertionError):
            self.assertEqual({1: [core.Price(1)]}, {1: [core.Price(2)]})
        with self.assertRaises(AssertionError):
            self.assertEqual([core.Price(1)], [core.Price(2)])
        self.assertEqual(core.late(), 2)
"""
SUBTESTS = """
import unittest
import pytest
from shop import core

class TestUnit(unittest.TestCase):
    def test_subtests(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(core.Price(n), core.Price(1 / n))
            if n == 2:
                core.late()
        core.add(1, 1)
"""
PRICE = ["Price.__init__:1", "Price.__eq__:1"]


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    files = {"shop/__init__.py": "", "shop/core.py": CORE, "tests/test_it.py": TESTS}
    return count(tmp_path_factory.mktemp("telling"), files)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_raises", [*PRICE, "add:1"]),
        ("test_shows_it_after_all", [*PRICE, "shown:1"]),
        ("test_only_told", PRICE),
        ("test_caught_again_and_again", [*PRICE, "late:1"]),
        ("test_prints_by_itself", ["Price.__init__:1", "Price.__repr__:1", "shown:1"]),
        ("test_tidies_up", ["late:1"]),
        ("TestUnit::test_raises", [*PRICE, "late:1"]),
    ],
)
def test_failing(counted, name, expected):
    assert sorted(counted.failed[f"tests/test_it.py::{name}"]) == sorted(expected)


def test_telling_that_ends_by_an_exception_counts(counted):
    ran = counted.failed["tests/test_it.py::test_telling_that_breaks"]
    assert {"shown:1", "Broken.__repr__:1", "late:1"} < set(ran)


def test_passing(counted):
    assert (counted.why, counted.passed) == ("", 1)
    assert [counted.of(name) for name in ("Price.__eq__", "add", "shown", "late")] == [1, 1, 0, 0]


def test_after_a_failed_subtest(tmp_path):
    if pytest.version_tuple < (9, 0):
        pytest.skip("pytest tells of no subtests")
    files = {"shop/__init__.py": "", "shop/core.py": CORE, "tests/test_it.py": SUBTESTS}
    counted = count(tmp_path, files)
    ran = counted.failed["tests/test_it.py::TestUnit::test_subtests"]
    assert {*ran} == {*PRICE, "late:1", "add:1"}
