"""What an installed plugin loads that was not asked for."""

import subprocess
import sys

import pytest

# What an installed plugin that was not asked for may import.
INACTIVE = {"loop_close", "loop_close.pytest_plugin", "loop_close.hookspecs", "loop_close.settings"}


def test_inactive_plugin_loads_nothing_else():
    imports = "import sys, pytest; before = set(sys.modules); import loop_close.pytest_plugin"
    code = f"{imports}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= INACTIVE


@pytest.mark.parametrize("off", [(), ("-p", "no:loop_close")], ids=["installed", "blocked"])
def test_run_without_the_option_loads_nothing_heavy(tmp_path, off):
    test = "import sys\ndef test_it():\n    print('loaded:', *sys.modules)\n"
    (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-s", "--rootdir", str(tmp_path), *off, "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = next(line for line in done.stdout.splitlines() if "loaded:" in line).split()
    ours = {name for name in loaded if name.partition(".")[0] == "loop_close"}
    assert ours <= (set() if off else INACTIVE)
    assert {"rapidfuzz", "junitparser"}.isdisjoint(loaded)
