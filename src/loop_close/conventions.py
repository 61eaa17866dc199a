"""Which files are test code, which tell pytest what to collect and how, and how settings name tests."""

from __future__ import annotations

_TEST_FOLDERS = {"test", "tests", "testing"}
# Of what a program is written in, beside Python; what is in no such language may be data of the tests as well.
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
    """Whether pytest looks for tests in the file, unless it is told otherwise."""
    name = relative.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def is_source(relative: str) -> bool:
    """Whether a file is in a language that programs are written in."""
    name = relative.rpartition("/")[2]
    return "." in name and name.rpartition(".")[2].lower() in _SOURCE


def is_sample(relative: str) -> bool:
    """Whether a file of tests is none that pytest looks at by its name: a helper, or data in the form of code."""
    return not (is_configuration(relative) or is_test_module(relative))


def is_under_test(relative: str) -> bool:
    """Whether it is Python code of the project that tests may run, and no test code itself."""
    return relative.endswith(".py") and not relative.startswith("../") and not is_test_file(relative)


def is_of_tests(relative: str) -> bool:
    """Whether the file decides what the tests demand and which of them run: test code, or their configuration."""
    is_code = relative.endswith(".py") and not relative.startswith("../") and is_test_file(relative)
    return is_code or is_configuration(relative)


def is_configuration(relative: str) -> bool:
    """Whether pytest is told by the file what to collect and what to skip, wherever it lies."""
    return relative.rpartition("/")[2] in _CONFIGURATION


def is_like(test: str, pattern: str) -> bool:
    """Whether a node id is that of the pattern, in which only ``*`` has a meaning: ``[`` stands in many node ids."""
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
