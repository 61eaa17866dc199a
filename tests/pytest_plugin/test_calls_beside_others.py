"""The monitor beside programs that do as they like, and what is left of it when pytest is done."""

import json
import subprocess
import sys

import pytest
from calls_harness import count, needs_monitoring
from calls_project import ADD
from plugin_harness import write

pytestmark = needs_monitoring

CORE = (
    ADD
    + """
def single(): return 1

def many(n):
    return [single() for _ in range(n)]
"""
)
TESTS = """
from shop import core

def test_add():
    assert core.add(1, 2) == 3

def test_fails():
    assert core.add(9, 9) == 18
"""
SHOP = {"shop/__init__.py": "", "shop/core.py": CORE, "tests/test_add.py": TESTS}

LEFT = """
import json, sys
sys.path.insert(0, ".")
import pytest
from shop import core

def left():
    monitoring = sys.monitoring
    found = {}
    for tool in range(6):
        name = monitoring.get_tool(tool)
        if name is None:
            monitoring.use_tool_id(tool, "look")
        events = monitoring.get_events(tool), monitoring.get_local_events(tool, core.add.__code__)
        callbacks = [
            monitoring.register_callback(tool, event, None)
            for event in (monitoring.events.LINE, monitoring.events.PY_START, monitoring.events.PY_RETURN)
        ]
        monitoring.free_tool_id(tool)
        if name or any(events) or any(callbacks):
            found[tool] = [str(name), str(events), str(callbacks)]
    return found

class Broken:
    def pytest_collection_finish(self):
        raise ValueError("an internal error")

class Watched:
    seen = 0

    def pytest_collection(self):
        type(self).seen += any("loop-close" in str(sys.monitoring.get_tool(tool)) for tool in range(6))

found = {}
asked = ["--loop-close", "--loop-close-history=off", "-pno:cacheprovider", "-q"]
for arguments in json.loads(sys.argv[1]):
    plugins = [Broken()] if "broken" in arguments else []
    words = [word for word in arguments if word != "broken"]
    code = pytest.main([*asked, *words], plugins=[*plugins, Watched()])
    found[" ".join(arguments)] = [int(code), left()]
with open("left.json", "w") as file:
    json.dump([found, Watched.seen], file)
"""


STOPS = """
import pytest
from shop import core

def test_stop():
    core.add(1, 1)
    raise KeyboardInterrupt
"""


def test_nothing_is_left(tmp_path):
    write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "left.py": LEFT,
            **SHOP,
            "tests/ctrl_c.py": STOPS,
        },
    )
    runs = {
        ("-pno:x", "tests"): 1,
        ("--co", "tests"): 0,
        ("-pno:y", "tests/ctrl_c.py"): 2,
        ("-pno:y", "nowhere"): 4,
        ("--no-such-option",): 4,
        ("broken", "tests"): 3,
    }
    done = subprocess.run(
        [sys.executable, "left.py", json.dumps(list(runs))], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found, seen = json.loads((tmp_path / "left.json").read_text())
    assert found == {" ".join(run): [code, {}] for run, code in runs.items()}
    assert seen >= 3


FAULTS = """
from loop_close.trace import {module}

def fault(*arguments, **more):
    raise {error}

{module}.{name} = fault
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("lines", "LineTracker.start"),
        ("lines", "LineTracker.take"),
        ("session", "Budget.allows"),
        ("session", "Counts.calls"),
    ],
)
def test_fault_of_ours_costs_nothing_but_the_counts(tmp_path, module, name):
    plug = FAULTS.format(module=module, name=name, error="ValueError('a fault')")
    counted = count(tmp_path, {**SHOP, "plug.py": plug}, "-pplug")
    assert counted.why.startswith("call tracking failed: ")
    assert counted.why.endswith("a fault")
    assert "1 failed, 1 passed" in counted.output
    assert "INTERNAL" not in counted.output


@pytest.mark.parametrize("core", ["ctrace", "sysmon"])
def test_coverage_sees_the_same(tmp_path, core):
    pytest.importorskip("coverage")
    seen = []
    for setting in ("off", "on"):
        counted = count(
            tmp_path,
            SHOP,
            f"--loop-close-suspects={setting}",
            command=("-m", "coverage", "run", "--source=shop", "-m", "pytest"),
            environ={"COVERAGE_CORE": core},
        )
        told = subprocess.run(
            [sys.executable, "-m", "coverage", "json", "-q", "-o-"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        seen.append(json.loads(told.stdout)["files"])
    assert seen[0] == seen[1]
    assert counted.functions["add"].passed == 1


DIES = """
import os, pytest
from shop import core

def test_dies():
    core.add(1, 1)
    os._exit(1)

@pytest.mark.parametrize("n", range(6))
def test_more(n):
    assert core.add(n, 1) == 1
"""


def test_worker_that_dies(tmp_path):
    pytest.importorskip("xdist")
    counted = count(tmp_path, {**SHOP, "tests/test_dies.py": DIES}, "-n2", plugins=("xdist",))
    assert counted.why == "1 of 3 workers sent no call data"
    assert 1 <= len(counted.failed) <= 6
