"""Much of everything: more functions and failing tests than are looked at."""

import json

import pytest
from calls_harness import count, needs_monitoring

pytestmark = needs_monitoring

TEN = {
    "shop/__init__.py": "",
    "shop/core.py": "".join(f"def f{n}():\n    return {n}\n\n" for n in range(10))
    + f"ALL = [{', '.join(f'f{n}' for n in range(10))}]\n",
}
FEW = "from loop_close.trace import counts, lines, session\n"

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
        "plug.py": f"{FEW}lines.MOST_CODES = session.MOST_CODES = 5\n",
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
        "plug.py": f"{FEW}counts.MOST_FAILED = 4\n",
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
