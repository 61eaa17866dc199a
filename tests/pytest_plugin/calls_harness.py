"""Run a project with the monitor on and read what it counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from plugin_harness import OTHERS, write

needs_monitoring = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")

#: Writes calls.json when pytest is done, and what is left in ``sys.monitoring``.
DUMP = """
import json, sys
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config):
    from loop_close.trace.counts import encode

    if not hasattr(config, "workerinput"):
        recorder = config.pluginmanager.get_plugin("loop-close-recorder")
        calls, why = recorder.calls.collected() if recorder else (None, "")
        with open(config.rootpath / "calls.json", "w") as file:
            json.dump([encode(calls).hex() if calls else None, why], file)
"""


@dataclass(frozen=True)
class Counted:
    """What one run counted, by short names.

    :ivar passed: how many tests passed; ``functions`` the rows by qualified name.
    :ivar failed: the lines of each failing test as "function:line", lines relative to the function's first one.
    """

    passed: int
    functions: Mapping[str, Any]
    failed: Mapping[str, list[str]]
    why: str
    output: str


def read(folder: Path, output: str = "") -> Counted:
    """Read calls.json."""
    from loop_close.trace.counts import decode

    sent, why = json.loads((folder / "calls.json").read_text(encoding="utf-8"))
    if sent is None:
        return Counted(passed=0, functions={}, failed={}, why=why, output=output)
    calls = decode(bytes.fromhex(sent))
    names = [each.function for each in calls.functions]
    failed = {
        nodeid: [f"{names[index]}:{line - calls.functions[index].line}" for index, line in ran]
        for nodeid, ran in calls.failed.items()
    }
    functions = dict(zip(names, calls.functions, strict=True))
    return Counted(passed=calls.passed, functions=functions, failed=failed, why=why, output=output)


def count(
    folder: Path,
    files: Mapping[str, str],
    *arguments: str,
    plugins: tuple[str, ...] = (),
    command: tuple[str, ...] = ("-m", "pytest"),
    environ: Mapping[str, str] | None = None,
) -> Counted:
    """Run pytest on some files in a process of its own."""
    write(folder, {"pytest.ini": "[pytest]\npythonpath = src .\n", "dump.py": DUMP, **files})
    (folder / "calls.json").unlink(missing_ok=True)
    blocked = [f"-pno:{name}" for name in OTHERS if name.partition(".")[0] not in plugins]
    asked = ["--loop-close", "--loop-close-history=off", "-pdump", "-pno:cacheprovider", "-q"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    clean["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, *command, *asked, *blocked, *arguments],
        cwd=folder,
        env={**clean, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return read(folder, done.stdout + done.stderr)
