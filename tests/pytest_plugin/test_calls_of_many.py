"""Much of everything: code that is loaded again and again, more functions and failing tests than are looked at."""

import json

import pytest
from calls_harness import count, needs_monitoring

pytestmark = needs_monitoring

CORE = """
def add(a, b):
    return (lambda: a + b)()
"""
TEN = {
    "shop/__init__.py": "",
    "shop/core.py": "".join(f"def f{n}():\n    return {n}\n\n" for n in range(10))
    + f"ALL = [{', '.join(f'f{n}' for n in range(10))}]\n",
}
FEW = "from loop_close.monitor import count, executions\n\nexecutions._FIRST_RELEASE = 20\n"

RELOADS = """
import gc
import importlib
import weakref
import pytest
from shop import core

codes = []

@pytest.mark.parametrize("turn", range(5))
def test_reload(turn):
    for _ in range(100):
        importlib.reload(core)
        codes.append(weakref.ref(core.add.__code__))
        assert core.add(1, turn) == 1 + turn

@pytest.mark.parametrize("turn", range(5))
def test_exec(turn):
    for _ in range(100):
        space = {"__name__": "made"}
        exec(compile(SOURCE, core.__file__, "exec"), space)
        codes.append(weakref.ref(space["add"].__code__))
        assert space["add"](1, turn) == 1 + turn

@pytest.mark.parametrize("turn", range(5))
def test_broken_import(turn):
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            import shop.broken

def test_what_is_left():
    gc.collect()
    for _ in range(20):
        exec(compile(SOURCE, core.__file__, "exec"), {"__name__": "made"})
        gc.collect()
    assert sum(code() is not None for code in codes) < 100
    assert core.add(1, 2) == 4
"""


def test_code_made_again_and_again_is_released(tmp_path):
    files = {
        "plug.py": FEW,
        "shop/__init__.py": "",
        "shop/core.py": CORE,
        "shop/broken.py": "def halve(n):\n    return n / 0\n\nhalve(1)\n",
        "tests/test_reload.py": RELOADS.replace("SOURCE", repr(CORE)),
    }
    counted = count(tmp_path, files, "-pplug")
    assert counted.why == ""
    assert "1 failed, 15 passed" in counted.output
    assert {name: row.passed for name, row in counted.functions.items()} == {"add": 10, "halve": 5}
    assert list(counted.failed.values()) == [["add:1"]]
    assert counted.lines("add") == [10]


MANY = """
from shop import core

def test_many():
    for each in core.ALL:
        each()

def test_fails():
    assert core.ALL[0]() == 1
"""


@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_more_functions_than_are_followed(tmp_path, arguments):
    if arguments:
        pytest.importorskip("xdist")
    files = {
        "plug.py": f"{FEW}executions.MAX_FUNCTIONS = 5\n",
        **TEN,
        "tests/test_many.py": MANY,
    }
    report = "--loop-close-json=report.json"
    counted = count(tmp_path, files, "-pplug", report, *arguments, plugins=("xdist",))
    assert counted.why == "only the first 5 functions that ran were tracked"
    assert sorted(counted.functions) == [f"f{n}" for n in range(5)]
    calls = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["calls"]
    assert calls["why_off"] == counted.why
    assert (calls["failing"], calls["omitted"], calls["passing"]) == (1, 0, 1)


FAILING = """
import pytest
from shop import core

@pytest.mark.parametrize("n", range(40))
def test_wrong(n):
    assert core.ALL[n % 10]() == -1
"""


def test_same_failing_tests_are_looked_at_in_workers(tmp_path):
    pytest.importorskip("xdist")
    files = {
        "plug.py": f"{FEW}count.MAX_FAILED = 4\n",
        **TEN,
        "tests/back.py": "def pytest_collection_modifyitems(items):\n    items.reverse()\n",
        "tests/test_wrong.py": FAILING,
    }
    asked = "-pplug", "--loop-close-json=report.json"
    found, reports = [], []
    for more in ((), ("-n2",), ("-n3", "--dist=loadfile"), ("-ptests.back",)):
        found.append(count(tmp_path, files, *asked, *more, plugins=("xdist",)))
        reports.append(json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["calls"])
    first = found[0]
    assert len(first.failed) == 4
    for each in found[1:]:
        assert each.failed == first.failed
        assert each.functions == first.functions
    assert {(each["failing"], each["omitted"], each["why_off"]) for each in reports} == {(4, 36, "")}
