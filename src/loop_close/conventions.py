"""Conventions: which files are test code or pytest configuration, and how patterns in settings match node ids."""

from __future__ import annotations

#: Extensions of Python files.
PYTHON = (".py", ".pyi")
_TEST_FOLDERS = {"test", "tests", "testing"}
# File extensions of programming languages. Files in other formats may be data of the tests.
_SOURCE = frozenset(
    (
        *(
            "py",
            "pyi",
            "pyx",
            "pxd",
            "c",
            "h",
            "cc",
            "cpp",
            "cxx",
            "hpp",
            "cu",
            "f",
            "f90",
            "rs",
            "go",
            "swift",
            "zig",
        ),
        *(
            "java",
            "kt",
            "scala",
            "cs",
            "js",
            "mjs",
            "ts",
            "jsx",
            "tsx",
            "vue",
            "svelte",
            "rb",
            "php",
            "lua",
            "r",
            "jl",
        ),
        *("html", "htm", "j2", "jinja", "jinja2", "tmpl", "mako", "css", "scss", "sql", "graphql", "proto"),
    )
)
# Files that say which packages the program needs.
_DEPENDENCIES = ("requirements*.txt", "constraints*.txt", "environment*.yml", "Pipfile", "*.lock")
_CONFIGURATION = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)


def is_test_file(relative: str) -> bool:
    """Whether a path is test code by the conventions of pytest and unittest."""
    *folders, name = relative.split("/")
    return (
        name in ("conftest.py", "tests.py", "test.py")
        or is_test_module(name)
        or not _TEST_FOLDERS.isdisjoint(folders)
    )


def is_test_module(relative: str) -> bool:
    """Whether pytest collects the file by default."""
    name = relative.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def is_source(relative: str) -> bool:
    """Whether the file is source code of a program, by its extension."""
    name = relative.rpartition("/")[2]
    return "." in name and name.rpartition(".")[2].lower() in _SOURCE


def is_of_dependencies(relative: str) -> bool:
    """Whether the file says which packages the program needs."""
    name = relative.rpartition("/")[2]
    return any(is_like(name, pattern) for pattern in _DEPENDENCIES)


def is_sample(relative: str) -> bool:
    """Whether a file of the tests is neither a test module nor configuration: a helper, or data in the form of code."""
    return not (is_configuration(relative) or is_test_module(relative))


def is_under_test(relative: str) -> bool:
    """Whether the file is Python code of the project that tests may run, and not test code itself."""
    return relative.endswith(".py") and not relative.startswith("../") and not is_test_file(relative)


def is_of_tests(relative: str) -> bool:
    """Whether the file determines what the tests require and which of them run: test code, or configuration."""
    is_code = relative.endswith(".py") and not relative.startswith("../") and is_test_file(relative)
    return is_code or is_configuration(relative)


def is_configuration(relative: str) -> bool:
    """Whether the file can configure what pytest collects and skips, in whatever folder it is."""
    return relative.rpartition("/")[2] in _CONFIGURATION


def is_like(test: str, pattern: str) -> bool:
    """Whether a node id matches a pattern, in which only ``*`` is special: ``[`` is part of many node ids."""
    if "*" not in pattern:
        return test == pattern
    first, *middle, last = pattern.split("*")
    at, end = len(first), len(test) - len(last)
    if at > end or not test.startswith(first) or not test.endswith(last):
        return False
    for part in middle:
        found = test.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
