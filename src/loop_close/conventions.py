"""Which files are test code."""

from __future__ import annotations

_TEST_FOLDERS = {"test", "tests", "testing"}


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
