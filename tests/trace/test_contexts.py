import os
import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from coverage import CoverageData
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_close.trace.contexts import calls_from_contexts, functions_in, nodeid_of
from loop_close.trace.lines import lines_in

CODE = """\
import functools

def logged(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

def rate(kind):
    if kind == "book":
        return 7
    return 19

@logged
def tax(
    net,
    kind="toy",
):
    '''What is paid on top.'''
    def part(percent): return net * percent / 100
    return part(rate(kind))

class Line:
    def __init__(self, price): self.price = price

class Cart:
    limit = rate("book")

    def __init__(self, prices):
        self.prices = [price for price in prices if price > 0]

    def total(self):
        return sum(
            price
            for price in self.prices
        )

    def each(self):
        for price in self.prices:
            yield Line(price)

    def size(self): return len(self.prices)

half = lambda price: price / 2

def unused():
    return None
"""
TESTS = """\
import unittest

import pytest

from shop.cart import Cart, half, rate, tax

@pytest.fixture
def cart():
    return Cart([1, 2])

@pytest.mark.parametrize("kind, expected", [("book", 7), ("toy", 19), ("a|b]::c", 20)])
def test_rate(kind, expected):
    assert rate(kind) == expected

class TestCart:
    def test_total(self, cart):
        assert cart.total() == 3
        assert [line.price for line in cart.each()] == [1, 2]

    def test_size(self, cart):
        assert cart.size() == 3

class TestHalf(unittest.TestCase):
    def test_half(self):
        self.assertEqual(half(2), 1)

def test_tax():
    assert tax(100, "book") == 8

def test_nothing():
    pass
"""
# Keeps what the plugin's own monitor counted.
WITNESS = """\
import pickle
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    with open("calls.pickle", "wb") as file:
        pickle.dump(session.config.pluginmanager.get_plugin("loop-close-recorder").calls.collected()[0], file)
"""
TEST_FILE = "tests/test_cart.py"
FAILED = [
    f"{TEST_FILE}::test_rate[a|b]::c-20]",
    f"{TEST_FILE}::TestCart::test_size",
    f"{TEST_FILE}::test_tax",
]
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
MONITOR = ("-p", "witness", "--loop-close", "--loop-close-history=off", "--loop-close-suspects=on")
RUNS = {
    "lines": (*PYTEST, "--cov=shop", "--cov-context=test"),
    "branches": (*PYTEST, "--cov", "--cov-branch", "--cov-context=test"),
    "xdist": (*PYTEST, "--cov", "--cov-branch", "--cov-context=test", "-n", "2"),
    "static, relative": (*PYTEST, "--cov", "--cov-config=static.ini", "--cov-context=test"),
}


def put(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def ran(root, *arguments):
    """Run Python as somebody does who has set nothing, and give the data file."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST_"))}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, env=clean, capture_output=True, text=True, encoding="utf-8")
    assert (root / ".coverage").exists(), done.stdout + done.stderr
    return root / ".coverage"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    put(
        root,
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "static.ini": "[run]\ncontext = py3.11\nrelative_files = true\n",
            "shop/__init__.py": "",
            "shop/cart.py": CODE,
            "witness.py": WITNESS,
            TEST_FILE: TESTS,
        },
    )
    return root


@pytest.fixture(scope="module")
def data_of(project):
    """Give the data file of one of the runs, each made once."""
    made = {}

    def get(run):
        if run not in made:
            made[run] = ran(project, *RUNS[run]).rename(project / f"{len(made)}.coverage")
        return made[run]

    return get


def calls(path, root, failed=FAILED):
    found, reason = calls_from_contexts(path, str(root), failed)
    assert reason == ""
    return found


def reason(path, root, failed=FAILED):
    found, reason = calls_from_contexts(path, str(root), failed)
    assert found is None
    return reason


def at(text):
    """The line of the code that holds a text."""
    return next(number for number, line in enumerate(CODE.splitlines(), 1) if text in line)


def line_texts(found, nodeid):
    lines = CODE.splitlines()
    return [lines[line - 1].strip() for _, line in found.failed[nodeid]]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["lines", "branches", "xdist", "static, relative"])
def test_real_run_is_told_as_it_was(project, data_of, run):
    found = calls(data_of(run), project)
    functions = {each.function: each for each in found.functions}
    assert {each.file for each in found.functions} == {"shop/cart.py"}
    assert {name: each.passed for name, each in functions.items()} == {
        "logged": 0,
        "logged.<locals>.inner": 0,
        "rate": 2,
        "tax": 0,
        "Cart.__init__": 1,
        "Cart.total": 1,
        "Cart.each": 1,
    }
    assert {name for name, each in functions.items() if each.in_import} == {"logged", "rate"}
    assert (functions["tax"].line, functions["tax"].end_line) == (at("@logged"), at("return part"))
    assert functions["rate"].lines == {at('== "book"'): 2, at("return 7"): 1, at("return 19"): 1}
    assert (found.passed, found.omitted) == (4 if run == "lines" else 5, 0)  # one ran nothing of the shop


def test_failing_tests_have_their_lines(project, data_of):
    found = calls(data_of("lines"), project)
    assert list(found.failed) == sorted(FAILED)
    assert line_texts(found, FAILED[0]) == ['if kind == "book":', "return 19"]
    assert line_texts(found, FAILED[1]) == ["self.prices = [price for price in prices if price > 0]"]
    assert line_texts(found, FAILED[2]) == [
        "return function(*args)",
        'if kind == "book":',
        "return 7",
        "def part(percent): return net * percent / 100",
        "return part(rate(kind))",
    ]
    assert {found.functions[index].function for index, _ in found.failed[FAILED[0]]} == {"rate"}


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="there is nothing to compare it with")
@pytest.mark.parametrize("branch", [(), ("--cov-branch",)], ids=["lines", "branches"])
def test_it_is_what_the_monitor_tells(project, branch):
    path = ran(project, *PYTEST, *MONITOR, "--cov", *branch, "--cov-context=test")
    found = calls(path, project)
    seen = pickle.loads((project / "calls.pickle").read_bytes())
    # Lines that run at import as well are left out; a line of two functions, one in the other, is of the outer one.
    left_out = {"tax.<locals>.part", "Line.__init__", "Cart.size", "<lambda>"}
    functions = [each._replace(guards=()) for each in seen.functions if each.function not in left_out]
    assert found.passed == seen.passed
    assert [each._replace(guards=()) for each in found.functions] == functions
    for nodeid in FAILED:
        assert {*line_texts(seen, nodeid)} - {*line_texts(found, nodeid)} <= {
            "def size(self): return len(self.prices)"
        }


def test_file_is_left_as_it_was(project, data_of):
    path = data_of("lines")
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(project))
    calls(path, project)
    assert before == (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(project)))


@pytest.mark.parametrize("file", ["shop/cart.py", TEST_FILE])
def test_file_older_than_the_code_is_refused(project, data_of, file):
    path = data_of("lines")
    kept, written = (project / file).stat(), path.stat().st_mtime_ns
    try:
        os.utime(project / file, ns=(written, written))
        assert calls(path, project)
        os.utime(project / file, ns=(written, written + 1_000_000))
        assert reason(path, project) == f"{path.name} is older than {file}"
    finally:
        os.utime(project / file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def written(root, ran, name=".coverage"):
    """Write a data file: the lines of each file that ran, by context."""
    data = CoverageData(str(root / name))
    for context, files in ran.items():
        data.set_context(context)
        data.add_lines({str(root / file): lines for file, lines in files.items()})
    data.write()
    data.close()
    return root / name


@pytest.mark.parametrize(
    "text", ["def f(:\n", "\0", "", None], ids=["no Python", "null byte", "empty", "gone"]
)
def test_file_that_cannot_be_compiled_is_left_out(tmp_path, text):
    put(tmp_path, {"a.py": "def one():\n    return 1\n", "b.py": text or ""})
    path = written(tmp_path, {"t.py::test_a|run": {"a.py": [2], "b.py": [1, 2]}})
    if text is None:
        (tmp_path / "b.py").unlink()
    assert [each.file for each in calls(path, tmp_path, []).functions] == ["a.py"]


ONE = {"t.py::test_a|run": {"a.py": [2]}}


@pytest.mark.parametrize(
    ("ran", "failed", "expected"),
    [
        ({"": {"a.py": [2]}}, [], ".coverage has no contexts of tests"),
        (ONE, ["t.py::test_b"], ".coverage has no data on the failing tests"),
        (
            {"t.py::test_a|run": {"test_a.py": [2], "../a.py": [2]}},
            [],
            ".coverage has no files below the root",
        ),
    ],
)
def test_file_that_does_not_tell_is_refused(tmp_path, ran, failed, expected):
    put(tmp_path, {"a.py": "def one():\n    return 1\n"})
    assert reason(written(tmp_path, ran), tmp_path, failed) == expected


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"\xff" * 2000, None])
def test_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / ".coverage"
    if content is None:
        with closing(sqlite3.connect(path)) as database:
            database.execute("create table notes (text)")
        content = path.read_bytes()
    path.write_bytes(content)
    assert reason(path, tmp_path).startswith(".coverage cannot be read: ")
    assert path.read_bytes() == content


def test_locked_file_is_refused_at_once(tmp_path):
    path = written(tmp_path, ONE)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("begin exclusive")
        assert reason(path, tmp_path) == ".coverage cannot be read: database is locked"


@settings(max_examples=60)
@given(data=st.data())
def test_broken_file_gives_calls_or_a_reason(broken, data):
    whole, path = broken
    spoilt = bytearray(whole)
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=40)):
        spoilt[place] = data.draw(st.integers(0, 255))
    path.write_bytes(spoilt[: data.draw(st.integers(0, len(whole)))])
    found, reason = calls_from_contexts(path, str(path.parent), ["t.py::test_a"])
    assert (found is None) == bool(reason)
    assert "\n" not in reason


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    root = tmp_path_factory.mktemp("broken")
    put(root, {"a.py": "def one():\n    return 1\n"})
    return written(root, {"": {"a.py": [1]}, **ONE}).read_bytes(), root / ".coverage"


@pytest.mark.parametrize("phase", ["setup", "run", "teardown"])
@pytest.mark.parametrize("static", ["", "py3.11|"])
@pytest.mark.parametrize("nodeid", ["a.py::T::t[a|b]", "a.py::t[x::y|run]", "a.md::a.md", "x.yaml"])
def test_context_of_pytest_cov_is_a_node_id(nodeid, static, phase):
    assert nodeid_of(f"{static}{nodeid}|{phase}") == nodeid


@pytest.mark.parametrize(
    "context", ["", "py3.11", "static|", "test_x", "a.b|c.d", "mod.Class.method", "|run"]
)
def test_other_contexts_are_of_no_test(context):
    assert nodeid_of(context) == ""


@pytest.mark.parametrize(
    ("source", "owners"),
    [
        ("def f():\n    '''What.'''\n    x = 1\n\n    return x\n", {3: "f", 5: "f"}),
        ("@a\n@b(\n    1)\ndef f(\n    x=1,\n    *, y: int = 2,\n):\n    return x\n", {8: "f"}),
        ("def f():\n    def g(): return 1\n    return g\n", {2: "f", 3: "f"}),
        ("def f():\n    return [\n        x\n        for x in a]\n", {2: "f", 3: "f", 4: "f"}),
        ("# coding: latin-1\ndef f():\n    return '\xe4'\n", {3: "f"}),
        *((source, {}) for source in ("def f(:\n", "\0", "# coding: none\n", "(" * 5000)),
    ],
)
def test_lines_belong_to_functions(tmp_path, source, owners):
    path = tmp_path / "a.py"
    path.write_bytes(source.encode("latin-1"))
    found = functions_in(path).items()
    assert {line: code.co_qualname for code, mask in found for line in lines_in(mask, 0)} == owners
