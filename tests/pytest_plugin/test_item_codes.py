import pytest

from loop_close.pytest_plugin.calls import ItemCodes

TESTS = """
import functools
import unittest

import pytest


@pytest.fixture
def cart():
    return []


@pytest.fixture(autouse=True)
def always():
    pass


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments, **more):
        return function(*arguments, **more)
    return wrapper


def test_plain():
    pass


@pytest.mark.parametrize("n", [1, 2])
@logged
def test_of_many(cart, n):
    pass


class TestBase:
    def setup_method(self):
        pass

    def test_method(self):
        pass


class TestChild(TestBase):
    pass


class TestCase(unittest.TestCase):
    def setUp(self):
        pass

    @classmethod
    def setUpClass(cls):
        pass

    def test_case(self):
        pass
"""


@pytest.fixture
def codes(pytester):
    items, _ = pytester.inline_genitems(pytester.makepyfile(test_all=TESTS))
    found = ItemCodes(items)
    return lambda nodeid: found.of(f"test_all.py::{nodeid}")


@pytest.mark.parametrize(
    ("nodeid", "names"),
    [
        ("test_plain", {"test_plain", "always"}),
        ("test_of_many[2]", {"test_of_many", "cart", "always"}),
        ("TestBase::test_method", {"TestBase.test_method", "TestBase.setup_method", "always"}),
        ("TestChild::test_method", {"TestBase.test_method", "TestBase.setup_method", "always"}),
        ("TestCase::test_case", {"TestCase.test_case", "TestCase.setUp", "TestCase.setUpClass", "always"}),
    ],
)
def test_what_a_test_is_made_of(codes, pytester, nodeid, names):
    found = codes(nodeid)
    assert found.file == str(pytester.path / "test_all.py")
    assert {code.co_qualname for code in found.codes if code.co_filename == found.file} == names


def test_parameters_share_it(codes):
    assert codes("test_of_many[1]") is codes("test_of_many[2]")


def test_modules_are_no_tests(codes):
    assert codes("") is None


def test_tests_without_a_function(pytester):
    path = pytester.maketxtfile(test_words=">>> 1\n2\n")
    items, _ = pytester.inline_genitems(path)
    (found,) = (ItemCodes(items).of(item.nodeid) for item in items)
    assert found.file == str(path)
