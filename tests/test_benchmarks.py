import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def suites(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)  # a plain ``pytest`` does not have the folder it is started in
    return importlib.import_module("benchmarks.suites")


@pytest.mark.slow
def test_every_scenario_prints_its_figures():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    command = [sys.executable, "-m", "benchmarks", "--quick"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    rows = [" ".join(line.split()) for line in run.stdout.splitlines() if not line.startswith(" ")]
    assert "off hooks called per test or file none none" in rows
    assert "green heavy modules imported none none" in rows
    assert "100 distinct messages kept in the full report 100 of 100 all" in rows
    for scenario in ("off", "green", "100 red", "100 distinct", "analyze", "logs", "50 shards"):
        assert any(row.startswith(f"{scenario} ") for row in rows)


@pytest.mark.parametrize(("kind", "more"), [("trivial", {"files": 2}), ("failing", {}), ("distinct", {})])
def test_suites_are_the_same_every_time(tmp_path, suites, kind, more):
    for name in ("a", "b"):
        getattr(suites, kind)(tmp_path / name, tests=200, **more)
    first, second = (contents(tmp_path / name) for name in ("a", "b"))
    assert first == second
    assert len([path for path in first if path.startswith("tests/test_")]) == 2


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
