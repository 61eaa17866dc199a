"""Installed but not asked for: what every pytest run of the environment pays."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

from benchmarks import suites
from benchmarks.measure import by_turns, ratio, surroundings
from benchmarks.rows import Bench, Row

_IMPORT = """
import json, sys, time, pytest
before = set(sys.modules)
start = time.perf_counter()
import loop_close.pytest_plugin as plugin
imported = time.perf_counter()
manager = pytest.PytestPluginManager()
manager.hook.pytest_addhooks.call_historic(kwargs={"pluginmanager": manager})
again = time.perf_counter()
manager.register(plugin, "loop_close")
end = time.perf_counter()
hooks = sorted(caller.name for caller in manager.get_hookcallers(plugin))
modules = sorted(set(sys.modules) - before)
print(json.dumps({"import": imported - start, "register": end - again, "hooks": hooks, "modules": modules}))
"""
#: Hooks that pytest calls at least once for each test or each file of tests, by how their names begin.
PER_TEST = (
    *(
        "pytest_runtest_",
        "pytest_itemcollected",
        "pytest_report_teststatus",
        "pytest_fixture_",
        "pytest_pyfunc_",
    ),
    *("pytest_pycollect_", "pytest_collect_", "pytest_make", "pytest_collectreport", "pytest_collectstart"),
    *("pytest_generate_tests", "pytest_warning_recorded", "pytest_assertion_", "pytest_exception_interact"),
    *("pytest_ignore_collect", "pytest_assertrepr_"),
)


def startup(bench: Bench) -> Iterator[Row]:
    """Time to import, hooks, and a run of many tests with the plugin there and not asked for."""
    ask = [bench.env.executable, "-c", _IMPORT]
    starts = [
        subprocess.run(ask, check=True, capture_output=True, env=surroundings()) for _ in range(bench.starts)
    ]
    answers = [json.loads(start.stdout) for start in starts]
    best = min(a["import"] for a in answers) * 1000
    register = min(a["register"] for a in answers) * 1000
    note = f"fastest of {bench.starts} fresh interpreters, after `import pytest`"
    yield Row("off", "import of the entry point", f"{best:.2f} ms", "< 2 ms", note)
    yield Row("off", "registering it", f"{register:.2f} ms", "", f"loads {', '.join(answers[0]['modules'])}")
    hooks = answers[0]["hooks"]
    each = [name for name in hooks if name.startswith(PER_TEST)]
    yield Row(
        "off", "hooks called per test or file", ", ".join(each) or "none", "none", f"has: {', '.join(hooks)}"
    )
    yield _pairs(bench)


def _pairs(bench: Bench) -> Row:
    folder = bench.folder / "off"
    suites.trivial(folder, tests=bench.tests(5_000), files=bench.tests(50))
    commands = {
        "without the plugin": bench.env.command("-q"),
        "installed, off": bench.env.command("-q", only=["loop_close"]),
    }
    base, off = by_turns(commands, folder, bench.output, rounds=bench.rounds, code=0).values()
    return Row(
        "off", f"CPU of {bench.tests(5_000):,} green tests", str(ratio(off, base)), "", f"{len(base)} pairs"
    )
