"""Core takes values and returns values: no module of it touches anything outside."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "loop_close"
# A module is core unless it is named here: the doors, app, world, and the package's own face.
NOT_CORE = {
    "__main__",
    "pytest_plugin",
    "cli",
    "app",
    "hookspecs",
    "capture",
    "files",
    "log_files",
    "targets",
    "__init__",
}
NOT_CORE |= {
    "drive",
    "lock",
    "look",
    "nox",
    "tox_plugin",
    "mcp_server",
    "monitor",
    "packages",
    "parallel",
    "process",
    "baseline",
    "provenance",
    "remember",
    "reports",
    "store",
    "workspace",
}

FORBIDDEN_MODULES = {
    # what DESIGN.md names
    *("os", "pathlib", "subprocess", "time", "datetime", "random", "sqlite3", "pytest", "pluggy", "_pytest"),
    # other ways to the same: files, processes, network, clock, chance, the machine
    *("asyncio", "fileinput", "getpass", "glob", "io", "linecache", "locale", "logging", "multiprocessing"),
    *("platform", "secrets", "shutil", "signal", "socket", "tempfile", "threading", "uuid", "warnings"),
    # ways round this check
    *("builtins", "ctypes", "importlib", "runpy"),
}
FORBIDDEN_NAMES = {
    *("open", "print", "input", "breakpoint"),
    *("exec", "eval", "compile", "globals", "locals", "__import__", "__builtins__"),
}
FORBIDDEN_ATTRIBUTES = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes"),
    *("stdin", "stdout", "stderr", "environ", "getenv", "argv"),
}


def core_modules() -> list[Path]:
    """Every Python file of core and model."""
    paths = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if path.parts[0].removesuffix(".py") not in NOT_CORE)


def impurities(source: str) -> list[str]:
    """What a module does that core must not do, as ``LINE: WHAT``."""
    return [f"{line}: {what}" for line, what in sorted(_findings(ast.parse(source)))]


def _findings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from ((node.lineno, f"import {name}") for name in _forbidden_imports(node))
            case ast.Name(id=name, ctx=ast.Load()) if name in FORBIDDEN_NAMES:
                yield node.lineno, name
            case ast.Attribute(attr=name) if name in FORBIDDEN_ATTRIBUTES:
                yield node.lineno, f".{name}"
            case ast.Global():
                yield node.lineno, "global"


def _forbidden_imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return (name for name in names if name.partition(".")[0] in FORBIDDEN_MODULES)


@pytest.mark.parametrize("path", core_modules(), ids=Path.as_posix)
def test_core_module_is_pure(path):
    assert impurities((PACKAGE / path).read_text(encoding="utf-8")) == []


def test_every_core_place_is_looked_into():
    places = {path.parts[0] for path in core_modules()}
    assert {"text", "readers", "detectors", "causes", "prompt", "model.py"} <= places


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *((f"import {name}", [f"1: import {name}"]) for name in sorted(FORBIDDEN_MODULES)),
        ("import os.path", ["1: import os.path"]),
        ("import re, os as harmless", ["1: import os"]),
        ("from datetime import datetime", ["1: import datetime"]),
        ("from _pytest.config import Config", ["1: import _pytest.config"]),
        ("def f():\n    import time\n", ["2: import time"]),
        ("if TYPE_CHECKING:\n    import pathlib\n", ["2: import pathlib"]),
        *((f"x = {name}('a')", [f"1: {name}"]) for name in sorted(FORBIDDEN_NAMES)),
        ("read = open", ["1: open"]),
        ("path.read_text()", ["1: .read_text"]),
        ("path.write_text('')", ["1: .write_text"]),
        ("tokenize.open(path)", ["1: .open"]),
        ("sys.stderr.write('')", ["1: .stderr"]),
        ("def f():\n    global seen\n    seen = 1\n", ["2: global"]),
    ],
)
def test_checker_finds(source, expected):
    assert impurities(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "",
        "import re, ast, json",
        "import timeit_of_ours",
        "from loop_close.text import sanitize",
        "from . import os_words",
        "re.compile('a')",
        "'open(path).read_text()'",
        "def f(self):\n    def g():\n        nonlocal n\n",
        "def open_fence(): ...",
    ],
)
def test_checker_leaves_alone(source):
    assert impurities(source) == []
