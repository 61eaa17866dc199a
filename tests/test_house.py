"""The house rules that a machine can check."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
MODULES = sorted(SRC.rglob("*.py"))
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60

# What an installed plugin that was not asked for may import.
INACTIVE = {"loop_close", "loop_close.pytest_plugin", "loop_close.hookspecs", "loop_close.outputs"}
HEAVY = {"rapidfuzz", "junitparser", "jsonschema", "sqlite3", "tomllib", "loop_close.model"}


def texts() -> Iterator[tuple[str, str]]:
    """Each module's path and text."""
    for path in MODULES:
        yield path.relative_to(SRC).as_posix(), path.read_text(encoding="utf-8")


@cache
def statements(source: str) -> list[ast.AST]:
    """All statements of a source, outer ones first; what is inside of expressions is passed over."""
    found: list[ast.AST] = [ast.parse(source)]
    for node in found:
        found += [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
        ]
    return found


def long_functions(source: str, limit: int = MAX_FUNCTION_LINES) -> list[str]:
    """Names of the functions that have more lines than the limit."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = (node for node in statements(source) if isinstance(node, kinds))
    return [node.name for node in functions if (node.end_lineno or 0) - node.lineno + 1 > limit]


def imported(source: str) -> Iterator[str]:
    """Names of the modules that a source imports, anywhere in it."""
    for node in statements(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a statement adds in a fresh interpreter that has imported pytest."""
    code = f"import sys, pytest; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_there_are_modules_to_look_at():
    assert SRC / "loop_close" / "model.py" in MODULES


def test_modules_are_short():
    assert [name for name, text in texts() if len(text.splitlines()) > MAX_MODULE_LINES] == []


def test_functions_are_short():
    assert [(name, found) for name, text in texts() if (found := long_functions(text))] == []


def test_a_class_name_has_one_meaning():
    found: dict[str, list[str]] = {}
    for name, text in texts():
        for node in statements(text):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name)
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_pytest_is_used_by_its_public_names_only():
    private = [
        (name, used)
        for name, text in texts()
        for used in imported(text)
        if used.partition(".")[0] == "_pytest"
    ]
    assert private == []


def test_inactive_plugin_loads_nothing_else():
    assert loaded_by("import loop_close.pytest_plugin") - INACTIVE == set()


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


@pytest.mark.parametrize("name", sorted(HEAVY))
def test_what_is_loaded_is_seen(name):
    assert name in loaded_by(f"import {name}")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n" + "    x = 1\n" * 59, []),
        ("def f():\n" + "    x = 1\n" * 60, ["f"]),
        ("class A:\n    async def g(self):\n" + "        x = 1\n" * 60, ["g"]),
    ],
)
def test_long_functions_are_seen(source, expected):
    assert long_functions(source) == expected


def test_imports_are_seen_wherever_they_stand():
    source = "import a\ndef f():\n    from _pytest.config import Config\n    import b.c\n"
    assert list(imported(source)) == ["a", "_pytest.config", "b.c"]
