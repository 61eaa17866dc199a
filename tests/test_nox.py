"""The helper for noxfiles, in a real nox: every session joins, however it ended."""

import os
import re
import subprocess
import sys

import pytest

from loop_close.parts import read_folder

pytest.importorskip("nox")
pytestmark = pytest.mark.slow

NOXFILE = """
import sys, nox
from loop_close import nox as loop_close
@nox.session(venv_backend='none')
def tests(session):
    loop_close.run(session, sys.executable, '-m', 'pytest')
@nox.session(venv_backend='none')
def types(session):
    text = 'shop.py:2: error: Bad  [operator]\\\\nFound 1 error in 1 file (checked 1 source file)'
    loop_close.run(session, sys.executable, '-c', f'print({text!r}); exit({code})')
@nox.session
def made(session):
    session.install({package!r}, '--no-deps')
@nox.session(venv_backend='none')
def other(session):
    session.run(sys.executable, '-c', 'exit({code})')
@nox.session(venv_backend='none')
def left(session):
    session.skip('not today')
@nox.session(venv_backend='none')
def look(session):
    print(open('nextprompt.md').read() if {looks} else '')
"""


def nox(folder, *words, code, package="./nothing.whl", looks=False, **environment):
    (folder / "noxfile.py").write_text(
        NOXFILE.replace("{code}", str(code))
        .replace("{package!r}", repr(package))
        .replace("{looks}", str(looks))
    )
    left_out = ("PYTEST_", "VIRTUAL_ENV", "LOOP_CLOSE", "NOX")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    command = [sys.executable, "-m", "nox", *words]
    return subprocess.run(
        command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path):
    (tmp_path / "shop.py").write_text("def total(prices):\n    return sum(prices) + 1\n")
    (tmp_path / "test_shop.py").write_text("import shop\ndef test_total(): assert shop.total([1]) == 1\n")
    return tmp_path


def test_all_sessions_are_in_one_prompt(project):
    done = nox(project, code=3)
    assert done.returncode == 1, done.stderr
    assert "Found 1 error in 1 file" in done.stdout
    text = (project / "nextprompt.md").read_text()
    assert "- `pytest:tests@cpython-" in text
    assert "- `types`: 1 mypy error" in text
    assert (
        "made: Command python -m pip install ./nothing.whl --no-deps failed with exit code 1: ERROR: " in text
    )
    assert re.search(r"other: Command .* failed with exit code 3", text)
    assert "- Green: `look`" in text
    assert "- Skipped: `left` (`not today`)" in text
    assert "nox -s" in text
    assert "internal error" not in done.stderr
    (project / "shop.py").write_text("def total(prices):\n    return sum(prices)\n")
    done = nox(project, "-s", "tests", "other", "look", code=0, looks=True)
    assert done.returncode == 0
    assert "no report is of look" in done.stdout, "while a session is left it is not green"
    assert (project / "nextprompt.md").read_text().startswith("# The tests pass: 1 passed")


def test_under_a_check_each_session_leaves_a_part_and_nothing_else_is_written(project):
    nox(project, "-s", "tests", "types", "other", code=3, LOOP_CLOSE=str(project / "parts"))
    found, rejected = read_folder(project / "parts")
    assert rejected == []
    assert sorted(each.observation.source.partition("@")[0] for each in found) == [
        "other",
        "pytest:tests",
        "types",
    ]
    assert all(each.observation.exit_code for each in found)
    assert not (project / "nextprompt.md").exists()
