"""The monitor beside programs that do as they like, and what is left of it when pytest is done."""

import json
import subprocess
import sys

import pytest
from calls_harness import DUMP, count, needs_monitoring
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
ALONE = {"add": 1}

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

class Refuses:
    def pytest_configure(self):
        raise pytest.UsageError("not like this")

class Watched:
    seen = 0

    def pytest_collection(self):
        type(self).seen += any("loop-close" in str(sys.monitoring.get_tool(tool)) for tool in range(6))

found = {}
asked = ["--loop-close", "--loop-close-history=off", "-pno:cacheprovider", "-q"]
for arguments in json.loads(sys.argv[1]):
    plugins = [{"broken": Broken, "refuses": Refuses}[arguments.pop(0)]()] if arguments[0][0] != "-" else []
    code = pytest.main([*asked, *arguments], plugins=[*plugins, Watched()])
    found[" ".join(arguments)] = [int(code), left()]
with open("left.json", "w") as file:
    json.dump([found, Watched.seen], file)
"""


STOPS = """
import pytest
from shop import core

def test_stop():
    core.add(1, 1)
    {}
"""


def test_nothing_is_left(tmp_path):
    write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "left.py": LEFT,
            **SHOP,
            "tests/ctrl_c.py": STOPS.format("raise KeyboardInterrupt"),
            "tests/exit.py": STOPS.format("pytest.exit('enough')"),
            "bad/conftest.py": "from shop import core\n\ncore.add(1, 1)\nraise ValueError\n",
        },
    )
    runs = {
        ("-pno:x", "tests"): 1,
        ("--co", "tests"): 0,
        ("-pno:y", "tests/ctrl_c.py"): 2,
        ("-pno:y", "tests/exit.py"): 2,
        ("-pno:y", "nowhere"): 4,
        ("-pno:y", "bad"): 4,
        ("--no-such-option",): 4,
        ("broken", "-pno:a", "tests"): 3,
        ("refuses", "-pno:b", "tests"): 4,
    }
    done = subprocess.run(
        [sys.executable, "left.py", json.dumps(list(runs))], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found, seen = json.loads((tmp_path / "left.json").read_text())
    words = [" ".join(word for word in run if word not in ("broken", "refuses")) for run in runs]
    assert found == dict(zip(words, [[code, {}] for code in runs.values()], strict=True))
    assert seen >= 5


TAKES_ALL = """
import sys

for tool in range(6):
    sys.monitoring.use_tool_id(tool, "all mine")
"""
SWITCHES_OFF = """
import sys
from shop import core

def test_switches_off():
    for tool in range(6):
        if (sys.monitoring.get_tool(tool) or "").startswith("loop-close"):
            sys.monitoring.set_events(tool, 0)

def test_after():
    core.single()
"""

FREES_OURS = """
import sys
from shop import core

def test_frees():
    for tool in range(6):
        sys.monitoring.free_tool_id(tool)
    core.add(1, 1)

def test_takes():
    core.add(1, 1)
    for tool in range(6):
        if sys.monitoring.get_tool(tool) is None:
            sys.monitoring.use_tool_id(tool, "mine now")
    core.add(1, 1)

def test_still_has():
    core.add(1, 1)
    assert [sys.monitoring.get_tool(tool) for tool in range(6)].count("mine now") == 6
"""


@pytest.mark.parametrize(
    ("files", "arguments", "why"),
    [
        (
            {"plug.py": TAKES_ALL},
            ("-pplug",),
            "the tool ids of sys.monitoring that loop-close may use (5 and 4) are in use",
        ),
        (
            {"tests/test_frees.py": FREES_OURS},
            (),
            "call tracking failed: TakenError: the program took over our tool id of sys.monitoring",
        ),
        (
            {"tests/test_off.py": SWITCHES_OFF},
            (),
            "call tracking failed: TakenError: the program took over our tool id of sys.monitoring",
        ),
    ],
)
def test_ids_that_others_take(tmp_path, files, arguments, why):
    counted = count(tmp_path, {**SHOP, **files}, *arguments)
    assert counted.why == why
    assert f"Call data is missing or partial: `{why}`" in (tmp_path / "nextprompt.md").read_text(
        encoding="utf-8"
    )
    assert counted.passed == 0
    assert "1 failed" in counted.output
    assert "fault of loop-close" not in counted.output


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
        ("lines", "codes_in"),
        ("session", "Budget.allows"),
        ("session", "Budget.failed"),
        ("session", "Counts.add"),
        ("lines", "LineTracker.turn"),
        ("lines", "LineTracker.cut"),
        ("session", "Counts.calls"),
        ("session", "Ownership"),
    ],
)
def test_fault_of_ours_costs_nothing_but_the_counts(tmp_path, module, name):
    plug = FAULTS.format(module=module, name=name, error="ValueError('a fault')")
    counted = count(tmp_path, {**SHOP, "plug.py": plug, "tests/test_setup.py": SETUP}, "-pplug")
    assert counted.why.startswith("call tracking failed: ")
    assert counted.why.endswith("a fault")
    assert "1 failed, 3 passed" in counted.output
    assert "INTERNAL" not in counted.output


LIMITED = """
import signal
import pytest
from loop_close.trace import lines
from shop import core

class LateError(Exception):
    pass

class Limit:
    def __call__(self, number, frame):
        signal.signal(number, signal.SIG_DFL)
        raise LateError

def test_limit(monkeypatch):
    def working(code):
        signal.raise_signal(signal.SIGINT)
        return before(code)

    before = lines.codes_in
    monkeypatch.setattr(lines, "codes_in", working)
    handler = signal.signal(signal.SIGINT, Limit())
    try:
        with pytest.raises(LateError):
            exec(compile("1", core.__file__, "exec"))
    finally:
        signal.signal(signal.SIGINT, handler)
"""


def test_time_limit_that_ends_while_a_function_becomes_known(tmp_path):
    counted = count(tmp_path, {"shop/__init__.py": "", "shop/core.py": CORE, "tests/test_limit.py": LIMITED})
    assert "1 passed" in counted.output
    assert counted.why == ""


SETUP = """
def setup_module():
    pass

def teardown_module():
    pass

def test_setup():
    pass

def test_other():
    pass
"""


def test_ctrl_c_in_the_monitor_ends_the_run(tmp_path):
    plug = FAULTS.format(module="session", name="Budget.allows", error="KeyboardInterrupt")
    counted = count(tmp_path, {**SHOP, "plug.py": plug}, "-pplug")
    assert "KeyboardInterrupt" in counted.output
    assert "no tests ran" in counted.output


NESTED = """
import pytest
from shop import core

def test_nested(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\\npythonpath = .")
    (tmp_path / "store.py").write_text("def sell():\\n    return 1")
    (tmp_path / "test_sell.py").write_text("import store\\n\\ndef test_sell():\\n    assert store.sell() == 2")
    (tmp_path / "inner_dump.py").write_text(DUMP)
    core.add(1, 1)
    asked = ["--loop-close", "--loop-close-history=off", "-pno:cacheprovider", f"--rootdir={tmp_path}"]
    assert pytest.main([*asked, "-c", str(tmp_path / "pytest.ini"), "-pinner_dump", str(tmp_path)]) == 1
    assert b"sell".hex() in (tmp_path / "calls.json").read_text()
    core.single()
"""


def test_nested_session(tmp_path):
    nested = NESTED.replace("DUMP", repr(DUMP))
    counted = count(tmp_path, {**SHOP, "tests/test_nested.py": nested})
    assert counted.why == ""
    assert {name: row.passed for name, row in counted.functions.items()} == {"add": 2, "single": 1}
    assert list(counted.failed.values()) == [["add:1", "add:2", "add:3", "add:4"]]


OTHERS = """
import cProfile, json, pstats, sys
from shop import core

found = {}

def test_trace():
    core.add(9, 9)
    lines = []

    def trace(frame, event, argument):
        if frame.f_code.co_filename.endswith("core.py"):
            lines.append((frame.f_code.co_name, event, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    core.add(1, 2)
    core.add(9, 2)
    core.many(3)
    sys.settrace(before)
    found["trace"] = lines

def test_profile():
    profile = cProfile.Profile()
    profile.enable()
    core.many(5)
    core.add(1, 2)
    profile.disable()
    stats = pstats.Stats(profile).stats
    found["profile"] = sorted((name, calls) for (file, _, name), (calls, *_) in stats.items() if "core" in file)

def test_monitoring():
    monitoring, events, lines = sys.monitoring, sys.monitoring.events, []
    monitoring.use_tool_id(0, "debugger")
    monitoring.register_callback(0, events.LINE, lambda code, line: lines.append((code.co_name, line)))
    monitoring.set_local_events(0, core.add.__code__, events.LINE)
    core.add(1, 2)
    core.add(9, 2)
    monitoring.set_local_events(0, core.add.__code__, 0)
    monitoring.register_callback(0, events.LINE, None)
    monitoring.free_tool_id(0)
    found["monitoring"] = lines

def test_write():
    with open("found.json", "w") as file:
        json.dump(found, file)
"""


def test_others_see_the_same(tmp_path):
    seen = []
    for setting in ("off", "on"):
        counted = count(
            tmp_path, {**SHOP, "tests/test_others.py": OTHERS}, f"--loop-close-suspects={setting}"
        )
        seen.append(json.loads((tmp_path / "found.json").read_text()))
    assert seen[0] == seen[1]
    assert len(seen[1]["trace"]) > 10
    assert (counted.of("add"), counted.of("many"), counted.of("single")) == (4, 2, 2)


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
    assert counted.of("add") == 1


PATCHES = """
import os
from unittest import mock
from shop import core

def test_patched():
    names = ("stat", "path.exists", "path.isfile", "path.realpath", "path.abspath", "getcwd")
    patches = [mock.patch(f"os.{name}", side_effect=AssertionError(name)) for name in names]
    for patch in patches:
        patch.start()
    try:
        space = {"__name__": "made"}
        exec(compile("def made(): return 1", ROOT + "/shop/made.py", "exec"), space)
        exec(compile("def made(): return 1", "made.py", "exec"), space)
        space["made"]()
        core.single()
    finally:
        mock.patch.stopall()
"""


def test_what_tests_patch_is_not_called(tmp_path):
    files = {**SHOP, "tests/test_patched.py": PATCHES.replace("ROOT", repr(str(tmp_path)))}
    counted = count(tmp_path, files)
    assert counted.why == ""
    assert counted.of("single") == 1
    assert "1 failed, 2 passed" in counted.output


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


FLAKY = """
import pytest
from shop import core

turns = []

@pytest.mark.flaky(reruns=2)
def test_passes_in_the_end():
    turns.append(1)
    assert core.add(1, 1) == len(turns)

@pytest.mark.flaky(reruns=1)
def test_never_passes():
    assert core.single() == 2
"""


def test_flaky(tmp_path):
    pytest.importorskip("pytest_rerunfailures")
    counted = count(tmp_path, {**SHOP, "tests/test_flaky.py": FLAKY}, plugins=("rerunfailures",))
    assert counted.passed == 1
    assert counted.of("add") == 1
    assert counted.failed["tests/test_flaky.py::test_never_passes"] == ["single:0"]


ASYNC = """
import asyncio
import pytest
import pytest_asyncio
from shop import core

@pytest_asyncio.fixture
async def three():
    await asyncio.sleep(0)
    return core.add(1, 2)

@pytest.mark.asyncio
async def test_async(three):
    await asyncio.gather(*(asyncio.to_thread(core.single) for _ in range(3)))
    assert three == 3
"""


def test_asyncio(tmp_path):
    pytest.importorskip("pytest_asyncio")
    counted = count(tmp_path, {**SHOP, "tests/test_async.py": ASYNC}, plugins=("asyncio",))
    assert (counted.of("add"), counted.of("single")) == (2, 1)


def test_installed(tmp_path):
    files = {f"src/{name}" if name.startswith("shop") else name: text for name, text in SHOP.items()}
    installed = {f"lib/python3/site-packages/{name}": SHOP[name] for name in SHOP if name.startswith("shop")}
    foreign = {"lib/python3/site-packages/other/core.py": CORE}
    tests = {
        "tests/test_add.py": TESTS + "\ndef test_other():\n    import other.core\n    other.core.single()\n"
    }
    counted = count(
        tmp_path,
        {
            **files,
            **installed,
            **foreign,
            **tests,
            "pytest.ini": "[pytest]\npythonpath = lib/python3/site-packages\n",
        },
    )
    assert {row.file for row in counted.functions.values()} == {"src/shop/core.py"}
    assert {name: row.passed for name, row in counted.functions.items()} == ALONE


@pytest.mark.parametrize("arguments", [("--co",), ("--setup-only",), ("--loop-close-suspects=off",)])
def test_not_asked(tmp_path, arguments):
    counted = count(tmp_path, SHOP, *arguments)
    assert (counted.passed, counted.why) == (0, "")


SCRIPT = """
import runpy

def test_script(request):
    runpy.run_path(str(request.config.rootpath / "shop" / "__main__.py"), run_name="__main__")

def test_path(request):
    runpy.run_path(str(request.config.rootpath / "shop" / "__main__.py"))
"""


def test_what_a_program_runs_counts(tmp_path):
    main = {"shop/__main__.py": "from shop import core\n\ncore.single()\n"}
    counted = count(tmp_path, {**SHOP, **main, "tests/test_script.py": SCRIPT})
    assert counted.of("single") == 2
