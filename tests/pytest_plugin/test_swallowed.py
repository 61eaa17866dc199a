"""Exceptions that the code under test raised and that never reached the test, in runs of whole projects."""

import json

import pytest
from calls_harness import count, needs_monitoring

from loop_close.monitor.wire import from_wire

pytestmark = needs_monitoring

RUNNER = """\
import contextlib
import logging
import threading

class Result:
    exception = None
    output = ""

def invoke(command, *args):
    result = Result()
    try:
        result.output = command(*args)
    except Exception as error:
        result.exception = error
    return result

def price(text):
    if text == "bad":
        raise ValueError("not a price: %s" % text)
    return int(text)

def listed(text):
    return "%d EUR" % price(text)

def default(text):
    try:
        return price(text)
    except Exception:
        return 0

def suppressed(text):
    with contextlib.suppress(ValueError):
        return price(text)
    return 0

def again(text):
    try:
        return price(text)
    except ValueError as error:
        raise error

def other(text):
    try:
        return price(text)
    except ValueError as error:
        raise KeyError(text) from error

def tidy(text):
    with contextlib.ExitStack():
        try:
            return price(text)
        finally:
            text.lower()

def in_thread(text):
    thread = threading.Thread(target=price, args=(text,))
    thread.start()
    thread.join()

class Fragile:
    def __str__(self):
        return str(price("bad"))

class Handler(logging.Handler):
    def emit(self, record):
        try:
            self.format(record)
        except Exception:
            self.handleError(record)

    def handleError(self, record):
        pass

def logged(text):
    log = logging.getLogger("shop")
    log.propagate = False
    handler = Handler()
    log.addHandler(handler)
    log.warning("%s", Fragile() if text == "bad" else text)
    log.removeHandler(handler)
    return "logged"

def found(table, key):
    try:
        return table[key]
    except KeyError:
        return 0

class Lazy:
    @property
    def value(self):
        try:
            return self.missing
        finally:
            self.tried = True

def has_value():
    return hasattr(Lazy(), "value")

def numbers(text):
    yield 1
    yield price(text)

def leave(code):
    raise SystemExit(code)
"""
TESTS = """\
import unittest
import pytest
from shop import cli

def test_runner():
    assert cli.invoke(cli.listed, "bad").output == "1 EUR"

def test_command_of_the_test():
    def command():
        return cli.listed("bad")
    assert cli.invoke(command).output == "1 EUR"

def test_default():
    assert cli.default("bad") == 1

def test_suppressed():
    assert cli.suppressed("bad") == 1

def test_stored_and_raised_by_the_test():
    raise cli.invoke(cli.listed, "bad").exception

def test_thread():
    cli.in_thread("bad")
    assert 0

def test_logging():
    assert cli.logged("bad") == ""

def test_raised_again():
    cli.again("bad")

def test_raised_from():
    cli.other("bad")

def test_through_finally():
    cli.tidy("bad")

def test_generator():
    list(cli.numbers("bad"))

def test_in_c():
    assert cli.has_value()

def test_exit():
    try:
        cli.invoke(cli.leave, 3)
    except SystemExit:
        pass
    assert 0

class TestExpected:
    def test_with(self):
        with pytest.raises(ValueError):
            cli.tidy("bad")
        assert 0

    def test_call(self):
        pytest.raises(ValueError, cli.again, "bad")
        assert 0

    def test_except(self):
        try:
            cli.tidy("bad")
        except ValueError:
            pass
        assert 0

class TestUnit(unittest.TestCase):
    def test_unit(self):
        with self.assertRaises(ValueError):
            cli.again("bad")
        self.assertRaises(ValueError, cli.tidy, "bad")
        self.assertEqual(cli.default("bad"), 1)

def test_as_passing_tests_do():
    assert cli.found({}, "a") == 1

@pytest.mark.parametrize("key", "abc")
def test_passes(key):
    assert cli.found({}, key) == 0

def test_passes_too():
    with pytest.raises(KeyError):
        cli.other("bad")
    assert cli.invoke(cli.listed, "1").output == "1 EUR"
    assert [*cli.numbers("2")] == [1, 2]
"""
FILES = {"src/shop/__init__.py": "", "src/shop/cli.py": RUNNER, "tests/test_cli.py": TESTS}


def swallowed(folder, *arguments, **more):
    """What each failing test swallowed, and the records by function and type."""
    done = count(folder, FILES, *arguments, **more)
    assert done.why == ""
    sent, _ = json.loads((folder / "calls.json").read_text(encoding="utf-8"))
    return from_wire(sent)


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return swallowed(tmp_path_factory.mktemp("serial"))


def of(calls, test):
    return {
        (each.function, each.type, each.caught.rpartition(":")[0] or each.caught)
        for each in calls.swallowed
        if f"tests/test_cli.py::{test}" in each.failed
    }


def line(text):
    return RUNNER.splitlines().index(text) + 1


@pytest.mark.parametrize(
    "test",
    [
        "test_stored_and_raised_by_the_test",
        "test_raised_again",
        "test_through_finally",
        "test_generator",
        "test_exit",
        "TestExpected::test_with",
        "TestExpected::test_call",
        "TestExpected::test_except",
    ],
)
def test_reached_the_test(serial, test):
    assert of(serial, test) == set()


@pytest.mark.parametrize(
    "test",
    [
        "test_runner",
        "test_command_of_the_test",
        "test_default",
        "test_suppressed",
        "test_thread",
        "test_logging",
        "TestUnit::test_unit",
    ],
)
def test_never_reached_the_test(serial, test):
    assert {(function, kind) for function, kind, _ in of(serial, test)} == {("price", "ValueError")}


def test_record(serial):
    (price,) = (each for each in serial.swallowed if each.function == "price")
    assert (price.file, price.line) == (
        "src/shop/cli.py",
        line('        raise ValueError("not a price: %s" % text)'),
    )
    assert price.message == "not a price: bad"
    assert len(price.failed) == 8  # with that from which another one was raised
    assert price.passed == 1  # in test_passes_too
    assert serial.cut == 0


def test_what_passing_tests_do_as_well(serial):
    (found,) = (each for each in serial.swallowed if each.function == "found")
    assert (len(found.failed), found.passed, found.message) == (1, 3, "'a'")


def test_handled_by_c_code_after_a_finally(serial):
    assert of(serial, "test_in_c") == {("Lazy.value", "AttributeError", "")}


def test_only_failing_tests_have_any(serial):
    assert all(each.failed for each in serial.swallowed)
    assert list(serial.swallowed) == sorted(
        serial.swallowed, key=lambda each: (each.file, each.line, each.function, each.type)
    )


def test_workers(serial, tmp_path):
    parallel = swallowed(tmp_path, "-n2", plugins=("xdist",))
    assert parallel.swallowed == serial.swallowed


FIXTURES = """\
import pytest
from shop import cli

@pytest.fixture(scope="module")
def cart():
    return cli.default("bad")

def test_one(cart):
    assert cart == 1

def test_two(cart):
    assert cart == 0

def test_three():
    assert cli.default("2") == 3
"""


def test_fixture_of_wider_scope(tmp_path):
    files = {"src/shop/cli.py": RUNNER, "tests/test_fixtures.py": FIXTURES, "src/shop/__init__.py": ""}
    count(tmp_path, files)
    sent, _ = json.loads((tmp_path / "calls.json").read_text(encoding="utf-8"))
    (price,) = from_wire(sent).swallowed
    assert (price.failed, price.passed) == ({"tests/test_fixtures.py::test_one"}, 1)
