"""Files that the output of commands went to are no part of the program."""

import subprocess
import sys

import pytest

from loop_close.workspace import OUTPUT, is_of_test_run, take

PYTEST = "F.   [100%]\n=== FAILURES ===\n___ test_a ___\n\n=== short test summary info ===\nFAILED a.py::a\n"
SNAPSHOT = """
import sys
from pathlib import Path
from loop_close.workspace import OUTPUT, take

print("some text", file=sys.stderr, flush=True)
Path("seen").write_text(" ".join(n for n, e in take(Path.cwd(), {}).entries.items() if e.digest == OUTPUT))
"""


@pytest.mark.parametrize(
    ("path", "text", "is_output"),
    [
        ("out.txt", f"{PYTEST}1 failed, 1 passed in 0.77s\nloop-close: 1 test fails\n", True),
        ("log.TXT", "..  [100%]\n2 passed in 0.01s\n", True),
        ("err.out", "== ERRORS ==\n===== 2 passed, 1 warning in 61.20s (0:01:01) =====\n", True),
        ("out", ".F [100%]\n\x1b[31m\x1b[1m1 failed\x1b[0m in 0.01s\x1b[0m\n", True),
        ("out.txt", "." * 9000 + f"\n{PYTEST}2 passed in 0.01s\n", True),
        ("out.txt", f"..\n{'-' * 70}\nRan 2 tests in 0.001s\n\nOK\n", True),
        ("summary.txt", "2 passed in 0.01s\n", False),
        ("out.txt", PYTEST, False),
        ("out.txt", "a list of goods\n", False),
        ("out.txt", "We ran 2 tests in 0.1s\nand 1 failed in 2 s", False),
        ("samples/out.txt", "2 passed in 0.01s\n", False),
        ("notes.md", "2 passed in 0.01s\n", False),
        ("shop.py", "2 passed in 0.01s\n", False),
        ("goods.json", "2 passed in 0.01s\n", False),
        ("test_output.txt", ". [100%]\n2 passed in 0.01s\n", True),
    ],
)
def test_output_of_a_test_run(path, text, is_output):
    assert is_of_test_run(path, text.encode()) == is_output


def test_output_of_a_test_run_is_known_by_its_content(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text(". [100%]\n2 passed in 0.01s\n")
    known = take(tmp_path, {}).entries
    assert known["out.txt"].digest == OUTPUT
    path.write_text("the goods\n")
    data = take(tmp_path, known).entries
    assert data["out.txt"].digest != OUTPUT
    path.write_text(". [100%]\n2 passed in 0.01s\n")  # data that tests may read
    assert take(tmp_path, data).entries["out.txt"].digest != OUTPUT


@pytest.mark.parametrize("redirected", ["stdout", "stderr"])
@pytest.mark.parametrize(
    ("path", "is_output"),
    [
        ("printed.txt", True),
        ("logs/a.json", True),
        ("shop.py", False),
        ("tests/a.txt", False),
        ("tox.ini", False),
    ],
)
def test_file_that_the_process_prints_to_is_an_output(tmp_path, redirected, path, is_output):
    (tmp_path / "other.txt").write_text("text\n")
    (tmp_path / path).parent.mkdir(exist_ok=True)
    with open(tmp_path / path, "w") as file:
        subprocess.run([sys.executable, "-c", SNAPSHOT], cwd=tmp_path, check=True, **{redirected: file})
    assert (tmp_path / "seen").read_text() == (path if is_output else "")


def test_closed_descriptors_are_no_fault(tmp_path):
    code = "import os; os.close(1); os.close(2); from loop_close.outputs import PRINTED_TO; assert not PRINTED_TO"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
