"""Tests that are not plain functions, and failures outside of tests."""

import re

import pytest

UNITTEST = """
import unittest

class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("no server")
    def test_one(self): pass
    def test_two(self): pass

class Own(unittest.TestCase):
    def setUp(self): raise ValueError("no set-up")
    def test_three(self): pass

class Stop(unittest.TestCase):
    @classmethod
    def tearDownClass(cls): raise OSError("cannot stop")
    def test_four(self): pass

class Plain(unittest.TestCase):
    def test_equal(self): self.assertEqual({"a": 1}, {"a": 2}, "prices differ")
    def test_raises(self):
        with self.assertRaises(ValueError): pass
    @unittest.expectedFailure
    def test_unexpected(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail("as expected")
    @unittest.skip("later")
    def test_skipped(self): pass
"""


def test_unittest_classes_fail_where_they_fail(run):
    done = run({"test_a.py": UNITTEST})
    assert done.says(
        "`Server.setUpClass()` in `test_a.py:6`",
        "Shown by `test_a.py::Server::test_one` (setup",
        "`Own.setUp()` in `test_a.py:11`",
        "`Stop.tearDownClass()` in `test_a.py:16`",
        "`AssertionError` at `test_a.py:20`",
        "{'a': 1} != {'a': 2}",
        "ValueError not raised",
        "Shown by `test_a.py::Plain::test_unexpected`",
    )
    assert (done.report["counts"]["skipped"], done.report["counts"]["xfailed"]) == (1, 1)
    assert len(done.causes) == 6


FORGOTTEN = "async def fetch(): return 1\ndef test_a():\n    fetch()\n"


def test_coroutine_never_awaited_is_told_on_a_green_run(run):
    done = run({"test_a.py": FORGOTTEN}, own_process=True)
    assert done.title == "# The tests pass: 1 passed"
    assert done.says("- 1 asynchronous fault: `coroutine 'fetch' was never awaited` at `test_a.py:3`")
    assert done.report["verdict"] == "green"


@pytest.mark.slow
def test_timeout_is_shown_where_the_time_went(run):
    source = "import time\ndef wait(): time.sleep(20)\ndef test_a(): wait()\ndef test_b(): pass\n"
    options = ("--timeout=0.2", "--timeout-method=signal")
    done = run({"test_a.py": source}, *options, plugins=("timeout",), own_process=True)
    assert done.title.startswith("# 1 test fails, 1 passes: ")
    assert done.title.endswith("test_a.py:3")  # the call of the helper that takes the time
    assert done.report["stall_reason"] == "1 timeout detected"
    assert done.says("(>0.2s) from pytest-timeout")


RERUNS = """
seen = []
def test_flaky():
    seen.append(1)
    assert len(seen) == 3
def test_never():
    assert 3 == 4
"""


def test_test_that_passes_when_run_again_is_no_failure(run):
    done = run({"test_a.py": RERUNS}, "--reruns=3", plugins=("rerunfailures",))
    assert done.says("# 1 test fails, 1 passes: ", "assert 3 == 4")
    assert "test_flaky" not in done.prompt


KINDS = """
import pytest
def test_fails(): assert 0
def test_with_subtests(subtests):
    for i in range(3):
        with subtests.test(i=i): assert i == 1
def test_after_a_subtest(subtests):
    with subtests.test("a"): pass
    assert 0
@pytest.fixture
def broken(): raise ValueError("x")
def test_setup(broken): pass
@pytest.fixture
def late():
    yield
    raise ValueError("late")
def test_teardown(late): pass
def test_both(late): assert 0
def test_fine(): pass
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="subtests are new in pytest 9.0")
@pytest.mark.parametrize("options", [(), ("-n", "2"), ("-n", "2", "--dist", "each")])
def test_title_counts_what_pytest_counts(run, options):
    if options:
        pytest.importorskip("xdist")
    files = {"test_a.py": KINDS, "test_b.py": "import not_there\n"}
    more = ("--continue-on-collection-errors", *options)
    done = run(files, *more, plugins=("xdist",), own_process=True)
    last = next(line for line in reversed(done.stdout.splitlines()) if " failed, " in line)
    numbers = {word: int(number) for number, word in re.findall(r"(\d+) (failed|passed|errors)", last)}
    counts = done.report["counts"]
    assert counts["failed"] + counts["failed_subtests"] == numbers["failed"]
    assert counts["passed"] == numbers["passed"]
    assert counts["errors"] == numbers["errors"]
    failing = f"# {counts['failed']} tests and {counts['failed_subtests']} subtests fail"
    errors = f"1 file cannot be collected, {counts['errors'] - 1} errors, {counts['passed']} pass"
    assert done.title.startswith(f"{failing}, {errors}: ")
