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
    "lazy",  # compiles an __init__ as dataclasses does
    "log_files",
    "targets",
    "__init__",
}
NOT_CORE |= {
    "drive",
    "environments",
    "snapshot",
    "nox",
    "outputs",
    "tox_plugin",
    "mcp_server",
    "monitor",
    "packages",
    "page",
    "parallel",
    "process",
    "project_files",
    "baseline",
    "child",
    "provenance",
    "remember",
    "sharing",
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


@pytest.mark.large
def test_every_core_module_is_pure():
    modules = core_modules()
    assert {"text", "readers", "detectors", "causes", "prompt", "model.py"} <= {
        path.parts[0] for path in modules
    }
    found = {path.as_posix(): impurities((PACKAGE / path).read_text(encoding="utf-8")) for path in modules}
    assert {path: what for path, what in found.items() if what} == {}


def test_the_check_finds_what_is_forbidden_and_nothing_else():
    found = {source: impurities(source) for source in (*FORBIDDEN, *ALLOWED)}
    assert found == {**FORBIDDEN, **{key: [] for key in ALLOWED}}


FORBIDDEN = {
    **{f"import {name}": [f"1: import {name}"] for name in sorted(FORBIDDEN_MODULES)},
    **{f"x = {name}('a')": [f"1: {name}"] for name in sorted(FORBIDDEN_NAMES)},
    "import os.path": ["1: import os.path"],
    "import re, os as harmless": ["1: import os"],
    "from datetime import datetime": ["1: import datetime"],
    "from _pytest.config import Config": ["1: import _pytest.config"],
    "def f():\n    import time\n": ["2: import time"],
    "if TYPE_CHECKING:\n    import pathlib\n": ["2: import pathlib"],
    "read = open": ["1: open"],
    "path.read_text()": ["1: .read_text"],
    "path.write_text('')": ["1: .write_text"],
    "tokenize.open(path)": ["1: .open"],
    "sys.stderr.write('')": ["1: .stderr"],
    "def f():\n    global seen\n    seen = 1\n": ["2: global"],
}
ALLOWED = (
    "",
    "import re, ast, json",
    "import timeit_of_ours",
    "from loop_close.text import sanitize",
    "from . import os_words",
    "re.compile('a')",
    "'open(path).read_text()'",
    "def f(self):\n    def g():\n        nonlocal n\n",
    "def open_fence(): ...",
)
