"""Which of the lines that Ruff and flake8 write alike is whose."""

import pytest

from loop_close.readers import linters
from loop_close.readers.linters import lint_lines

A, B, C = (f"src/{name}.py:3:1: F401 unused" for name in "abc")
FIXABLE = "src/d.py:3:1: F401 [*] `os` imported but unused"


def owners(*lines):
    return ["ruff" if one.is_ruff else "flake8" for one in lint_lines(lines)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([A, B], ["flake8", "flake8"]),
        ([A, B, "Found 2 errors."], ["ruff", "ruff"]),
        ([A, B, C, "Found 2 errors."], ["flake8", "ruff", "ruff"]),
        ([A, "Found 9 errors (8 fixed, 1 remaining)."], ["ruff"]),
        ([A, "Found 1 error in 1 file (checked 1 source file)"], ["flake8"]),
        ([A, "Found 1 error.", B], ["ruff", "flake8"]),
        ([A, FIXABLE, B], ["ruff", "ruff", "ruff"]),
        ([FIXABLE, *[""] * 5, B], ["ruff", "flake8"]),
        ([A, "  |", "3 | import os"], ["ruff"]),
        (["a.py:1:1: SyntaxError: bad"], ["ruff"]),
        (["a.py:1:1: E999 SyntaxError: bad"], ["flake8"]),
        ([A, "F821 Undefined name `x`", " --> src/e.py:1:1", "Found 1 error."], ["flake8"]),
    ],
)
def test_owner(lines, expected):
    assert owners(*lines) == expected


@pytest.mark.parametrize(
    "line",
    [
        " src/a.py:3:1: F401 indented",
        "see src/a.py:3:1: F401 in a sentence",
        "src/a.c:3:1: F401 unused",
        "src/a.py:3:1: C0114: Missing docstring",
        "src/a.py:3: F401 without a column",
        "src/a.py:3:1: [F401] with both",
        "src/a.py:3:1: error: no code",
        "src/a.py:3:1: F401",
    ],
)
def test_not_such_a_line(line):
    assert lint_lines([line]) == []


def test_readers_share_them():
    text = f"{A}\n{B}\n\n{C}\nFound 1 error.\n"
    flake8s, ruffs = linters.read_flake8(text, ""), linters.read_ruff(text, "")
    assert [f.file for f in flake8s.failures] == ["src/a.py", "src/b.py"]
    assert [f.file for f in ruffs.failures] == ["src/c.py"]
    assert (flake8s.is_certain, ruffs.is_certain) == (False, True)
