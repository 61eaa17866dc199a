"""Our modules are found ahead of pytest's import hook, which is there as before once pytest has ended."""

from __future__ import annotations

import subprocess
import sys

EARLY = """
import pytest
pytest.register_assert_rewrite("loop_close")  # as pytest does for all that a distribution with a plugin has
"""
TWICE = """
import sys, pytest
before = [*sys.meta_path]
codes = [pytest.main(["-q", "-s", "-p", "early", *words]) for words in (["--loop-close"], ["--loop-close"], ["--oops"])]
print("ended:", *map(int, codes), sys.meta_path == before)
"""


def test_the_import_system_is_left_as_it_was(tmp_path):
    for name, text in (("early", EARLY), ("test_it", "def test_it():\n    pass\n"), ("twice", TWICE)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "twice.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "ended: 0 0 4 True"
