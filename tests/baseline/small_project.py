"""A small project on disk, with a check that runs in a real process and reports as under ``loop-close check``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from processes import UNUSED

from loop_close import baseline
from loop_close.baseline.objection import objection_to
from loop_close.checks import variables
from loop_close.records import Objection, PytestContext, Run
from loop_close.tree import Tree, take

SHOP = "def total(items):\n    return sum(items)\n"
BROKEN = "def total(items):\n    return 0\n"
TESTS = (
    "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n"
    "def test_empty():\n    assert total([]) == 0\n"
)
WEAK = TESTS.replace("assert total([1, 2]) == 3", "assert total([1, 2]) >= 0")
FLAT = {"shop.py": SHOP, "tests/test_shop.py": TESTS, "tests/conftest.py": "", "conftest.py": ""}


class Project:
    """A project with a faulty ``shop`` or a good one, and a baseline of its tests."""

    def __init__(self, root: Path, files: Mapping[str, str] = FLAT, python: str = sys.executable) -> None:
        self.root = root
        self.python = python
        self.run = Run(id="a")
        self.context: PytestContext | None = None
        root.mkdir(parents=True, exist_ok=True)
        self.write(files)

    def write(self, files: Mapping[str, str | bytes | None]) -> Project:
        """Write files, or remove those without content."""
        for path, text in files.items():
            file = self.root / path
            if text is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self

    def tree(self) -> Tree:
        return take(self.root)

    def check(self, *args: str, expected: int = 0) -> Run:
        """Run pytest as a check does."""
        report = self.root.parent / "report.json"
        environ = variables(self.root, os.environ) | {
            "REPORT": str(report),
            "PYTHONPATH": f"{self.root}:{Path(__file__).parent}",
        }
        words = ["-m", "pytest", "-q", "-p", "reporting", *UNUSED, *args]
        ended = subprocess.run(
            [self.python, *words], cwd=self.root, env=environ, capture_output=True, text=True, check=False
        )
        assert ended.returncode == expected, ended.stdout + ended.stderr
        self.context = PytestContext(
            executable=self.python,
            words=("-m", "pytest"),
            args=("-q", *UNUSED, *args),
            cwd=str(self.root),
            rootdir=str(self.root),
            pythonpath=str(self.root),
        )
        tests = {"pytest": json.loads(report.read_text())}
        self.run = Run(id="a", check="tests", seconds=1.0, outcomes=tests, is_green=not expected)
        return self.run

    def begin(self, *args: str, expected: int = 0) -> Project:
        """The present files and the tests that run become the baseline."""
        run = self.check(*args, expected=expected)
        baseline.take(self.root, self.tree(), [run])
        return self

    def objection(
        self, files: Mapping[str, str | bytes | None], *args: str, expected: int = 0
    ) -> Objection | None:
        """What is objected to the check after an edit."""
        self.write(files).check(*args, expected=expected)
        return self.objected()

    def objected(self) -> Objection | None:
        found = baseline.load(self.root)
        assert found is not None
        return objection_to(self.root, found, self.tree(), self.run, [self.context] if self.context else [])

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")


def outcomes(objection: Objection | None) -> dict[str, str]:
    """The old tests that do not pass, with what became of them."""
    assert objection is not None
    assert not objection.reason, objection.reason
    return {each.test: each.outcome for each in objection.tests}
