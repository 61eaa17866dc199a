"""Our modules are found ahead of pytest's import hook, and those of others as without us."""

from __future__ import annotations

import subprocess
import sys

EARLY = """
import pytest
pytest.register_assert_rewrite("loop_close", "helper")  # as pytest does for all that a distribution with a plugin has
"""
TEST = """
import sys, helper

def test_loaders():
    names = ("loop_close.app", "loop_close.store.database", "helper")
    print("loaders:", *(type(sys.modules[name].__loader__).__name__ for name in names))
"""
TWICE = """
import sys, pytest
before = [*sys.meta_path]
codes = [pytest.main(["-q", "-s", "-p", "early", *words]) for words in (["--loop-close"], ["--loop-close"], ["--oops"])]
print("ended:", *map(int, codes), sys.meta_path == before)
"""


def run_in(folder, *words):
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if ":" in line]


def test_only_modules_of_others_are_rewritten(tmp_path):
    for name, text in (("early", EARLY), ("helper", ""), ("test_it", TEST)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    said = run_in(tmp_path, "-m", "pytest", "-q", "-s", "-p", "early", "--loop-close")
    (loaders,) = (line for line in said if "loaders:" in line)
    assert loaders.split()[-3:] == ["SourceFileLoader", "SourceFileLoader", "AssertionRewritingHook"]


def test_the_import_system_is_left_as_it_was(tmp_path):
    (tmp_path / "early.py").write_text(EARLY, encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    (tmp_path / "twice.py").write_text(TWICE, encoding="utf-8")
    assert run_in(tmp_path, "twice.py")[-1] == "ended: 0 0 4 True"
