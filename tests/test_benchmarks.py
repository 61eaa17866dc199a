import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


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
