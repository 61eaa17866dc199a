"""tox and nox in commands of ours: every environment joins one prompt, and no command of theirs is edited."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TOX = """
[tox]
env_list = {environments}
skip_missing_interpreters = false
[testenv]
skip_install = true
commands = python -m pytest {{posargs}}
[testenv:types]
commands = python mypy.py
[testenv:odd]
commands = python -c "print('strange'); exit(7)"
[testenv:fine]
commands = python -c "print('fine')"
[testenv:broken]
deps = {folder}/no-such-package.whl
[testenv:lost]
base_python = python3.99
{more}
"""
FILES = {
    "shop.py": "def total(prices):\n    return sum(prices) + 1\n",
    "mypy.py": "print('shop.py:2: error: Bad operand  [operator]\\nFound 1 error in 1 file (checked 1 file)'); exit(1)",
    "test_shop.py": "import shop\ndef test_total(): assert shop.total([1]) == 1\ndef test_fine(): pass\n",
}
NOXFILE = """
import sys, nox
@nox.session(venv_backend='none')
def tests(session):
    session.run(sys.executable, '-m', 'pytest')
@nox.session(venv_backend='none')
def types(session):
    session.run(sys.executable, 'mypy.py')
"""
LEFT_OUT = ("PYTEST_", "COV_", "PYTHON", "VIRTUAL_ENV", "TOX_", "LOOP_CLOSE")
ALL = ("py", "types", "odd", "fine", "broken", "lost")


@pytest.fixture
def project(tmp_path):
    """A project with some environments; those that run pytest see the packages of this one, as if installed there."""

    def make(*environments, more="", with_plugin=True):
        for name, text in FILES.items():
            (tmp_path / name).write_text(text)
        text = TOX.format(environments=", ".join(environments), folder=tmp_path, more=more)
        (tmp_path / "tox.ini").write_text(text)
        for name in environments:
            if name.startswith("py"):
                assert tox(tmp_path, "-e", name, "--notest").returncode == 0
                site = next((tmp_path / ".tox" / name).glob("lib/python*/site-packages"))
                (site / "outer.pth").write_text(f"{sysconfig.get_path('purelib')}\n{Path('src').resolve()}")
                if not with_plugin:
                    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:loop_close\n")
        return tmp_path

    return make


def ran(folder, *words, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(LEFT_OUT)}
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def tox(folder, *words, **environment):
    return ran(folder, "tox", *words, **environment)


def under_run(folder, *words):
    """In ``loop-close run``; its prompt."""
    done = ran(folder, "loop_close", "run", "--", sys.executable, "-m", *words)
    assert "internal error" not in done.stderr
    return done, (folder / "nextprompt.md").read_text()


def test_off_unless_asked(project):
    folder = project("odd")
    assert tox(folder).returncode == 7
    assert not (folder / "nextprompt.md").exists()
    assert not (folder / ".loop-close").exists()


@pytest.mark.parametrize("way", ["run", "run-parallel"])
def test_all_environments_are_in_one_prompt(project, way):
    folder = project(*ALL)
    done, text = under_run(folder, "tox", way)
    assert done.returncode != 0
    assert text.startswith("# 1 test fails")
    assert re.search(r"^- `pytest:py@[\w.-]+`: 1 test fails, 1 passes$", text, re.MULTILINE)
    assert "`mypy` at `shop.py:2`: `Bad operand`" in text, "it stands with the failing test"


def test_without_failing_tests_the_output_says_which_environment_fails(project):
    _, text = under_run(project("odd", "fine"), "tox")
    assert "odd" in text.partition("\n")[0]


def test_without_the_plugin_for_pytest_its_output_is_read(project):
    _, text = under_run(project("py", with_plugin=False), "tox")
    assert text.startswith("# 1 test fails")


def test_an_environment_whose_outcome_is_ignored_reports_nothing(project):
    more = "[testenv:pyfine]\ncommands = python -m pytest -k fine\n[testenv:pyold]\nignore_outcome = true"
    done, text = under_run(project("pyfine", "pyold", more=more), "tox")
    assert done.returncode == 0
    assert text.startswith("# The tests pass: 1 passed")


def test_sessions_of_nox_report_without_a_plugin(project):
    pytest.importorskip("nox")
    folder = project()
    (folder / "noxfile.py").write_text(NOXFILE)
    done, text = under_run(folder, "nox")
    assert done.returncode == 1
    assert "`pytest:tests@cpython-" in text
    assert "mypy" in text
