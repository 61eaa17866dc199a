"""A project that has a bit of everything that can be called."""

import pytest

EARLY = """
def before_start():
    return 1

def at_conftest():
    return 2
"""
ADD = """
def add(a, b):
    total = a + b
    if total > 10:
        total = 10
    return total
"""
CORE = f"""
{ADD}
def never():
    return 0

def documented():
    '''
    >>> documented()
    1
    '''
    return 1

def worked(done):
    done.append(1)

def set_up_once():
    return helper()

def helper():
    return 5

def tear_down_once():
    return 6

def broken_setup():
    raise ValueError("not today")

def broken_teardown():
    raise ValueError("never again")

def classes():
    return 7

def of_parameter(n):
    return n

def of_session():
    return 11

def of_override():
    return 12
"""
LAZY = """
from shop.core import helper

def made_at_import():
    return helper()

CONSTANT = made_at_import()

def lazily():
    return CONSTANT
"""
TESTS = """
import os
import threading
import unittest
import pytest
from shop import core, early

@pytest.fixture(scope="session")
def base():
    return core.of_session()

@pytest.fixture(scope="module")
def wide():
    yield core.set_up_once()
    core.tear_down_once()

@pytest.fixture(scope="class")
def ends_badly():
    yield
    core.broken_teardown()

@pytest.fixture(scope="module")
def broken():
    core.broken_setup()

@pytest.fixture(scope="module", params=[1, 2])
def parameter(request):
    return core.of_parameter(request.param)

def test_early():
    assert early.before_start() + early.at_conftest() == 3

def test_add():
    assert core.add(1, 2) == 3

def test_add_fails():
    assert core.add(9, 2) == 11

@pytest.mark.parametrize("a", [1, 2, 3])
def test_each(a):
    assert core.add(a, a) == 2 * a

@pytest.mark.parametrize("turn", [1, 2])
def test_lazy(turn):
    from shop import lazy
    assert lazy.lazily() == 5

def test_thread():
    done = []
    thread = threading.Thread(target=core.worked, args=(done,))
    thread.start()
    thread.join()
    assert done

def test_fork():
    child = os.fork()
    if not child:
        core.add(20, 20)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def test_wide_passes(wide):
    assert wide == 5

def test_wide_fails(wide, base):
    assert core.add(wide, base) == 0

def test_wide_by_name(request):
    core.helper()
    assert request.getfixturevalue("wide") == 6

def test_broken_one(broken):
    pass

def test_broken_two(broken):
    pass

def test_parameter(parameter):
    assert core.add(parameter, 0) == parameter

class TestEnd:
    def test_one(self, ends_badly):
        assert core.add(1, 1) == 2

    def test_two(self, ends_badly):
        assert core.add(1, 2) == 3

class TestClass:
    @pytest.fixture(scope="class")
    def base(self, base):
        return core.of_override() + base

    def test_override(self, base):
        assert base == 23

class TestUnit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.size = core.classes()

    def setUp(self):
        core.helper()

    def test_unit(self):
        for n in range(2):
            with self.subTest(n=n):
                self.assertEqual(core.add(n, 1), n + 1)

    def test_sub_fails(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertLess(core.add(n, 9) + n, 12)

@pytest.mark.skip
def test_skipped():
    core.never()

def test_skips():
    core.never()
    pytest.skip("now")

@pytest.mark.xfail
def test_expected():
    assert core.never()

@pytest.mark.xfail
def test_unexpected():
    core.never()
"""
SUBTESTS = """
from shop import core

def test_subtests(subtests):
    for n in range(2):
        with subtests.test(n=n):
            assert core.add(n, 9) == 9
"""
FILES = {
    "src/shop/__init__.py": "",
    "src/shop/early.py": EARLY,
    "src/shop/core.py": CORE,
    "src/shop/lazy.py": LAZY,
    "plug.py": "import sys\nsys.path.insert(0, 'src')\nfrom shop.early import before_start\nbefore_start()\n",
    "tests/conftest.py": "from shop.early import at_conftest\nat_conftest()\n",
    "tests/test_kinds.py": TESTS,
    "tests/test_subtests.py": SUBTESTS if pytest.version_tuple >= (9, 0) else "",
}
RUN = ("-pplug", "--doctest-modules", "tests", "src")
