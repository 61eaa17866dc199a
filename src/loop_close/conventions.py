"""Conventions: which files are test code or pytest configuration."""

from __future__ import annotations

#: Extensions of Python files.
PYTHON = (".py", ".pyi")
TEST_FOLDERS = frozenset(("test", "tests", "testing"))
#: The names of pytest's command.
PYTEST = ("pytest", "py.test")
#: Files that configure pytest and nothing else.
OF_PYTEST = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
#: Files in which pytest has a table beside those of other tools.
SHARED = ("pyproject.toml", "setup.cfg", "tox.ini")


def is_test_file(relative: str) -> bool:
    """Whether a path is test code by the conventions of pytest and unittest."""
    *folders, name = relative.split("/")
    return (
        name in ("conftest.py", "tests.py")  # not test.py: packages ship a werkzeug/test.py
        or is_test_module(name)
        or not TEST_FOLDERS.isdisjoint(folders)
    )


def is_test_module(relative: str) -> bool:
    """Whether pytest collects the file by default."""
    name = relative.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def is_under_test(relative: str) -> bool:
    """Whether the file is Python code of the project that tests may run, and not test code itself."""
    return relative.endswith(".py") and not relative.startswith("../") and not is_test_file(relative)
