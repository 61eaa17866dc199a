"""Which files are test code."""

from __future__ import annotations

_TEST_FOLDERS = {"test", "tests", "testing"}


def is_test_file(relative: str) -> bool:
    """Whether a path is test code by the conventions of pytest and unittest."""
    *folders, name = relative.split("/")
    return (
        name in ("conftest.py", "tests.py", "test.py")
        or name.startswith("test_")
        or name.endswith("_test.py")
        or not _TEST_FOLDERS.isdisjoint(folders)
    )
