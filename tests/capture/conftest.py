"""Modules written to a folder, imported for real, and made to fail."""

import importlib
import sys
import textwrap
from pathlib import Path

import pytest

from loop_close.capture import ProjectCode
from loop_close.capture.exceptions import describe


class Written:
    """A project in a folder: its ``src`` can be imported, and each file run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = ProjectCode(str(root))
        self._tests = 0

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        importlib.invalidate_caches()
        return path

    def load(self, name: str, text: str | None = None):
        """The module in a file, by its bare name."""
        path = self.root / name if text is None else self.write(name, text)
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        return importlib.import_module(path.stem)

    def error(self, name: str, text: str | None = None, function: str = "test_it", args=()):
        """What the module's function raises; it has to raise something."""
        run = getattr(self.load(name, text), function)
        try:
            run(*args)
        except BaseException as error:
            return error
        raise LookupError(f"{function} raised nothing")

    def fail(self, text: str, args=()):
        """The record of what a test of these lines raises."""
        self._tests += 1
        name = f"tests/test_{self._tests}.py"
        return describe(self.error(name, text, args=args), self.project)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A new project. What it imports is forgotten at the end."""
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(root / "src"), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield Written(root)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
