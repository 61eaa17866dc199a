"""The plugin for tox, in a real tox: every environment joins, none is edited, and none is lost for a fault of ours."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from loop_close.parts import read_folder

pytest.importorskip("tox")
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


def tox(folder, *words, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(LEFT_OUT)}
    command = [sys.executable, "-m", "tox", *words]
    return subprocess.run(
        command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def prompt(folder):
    return (folder / "nextprompt.md").read_text()


def test_off_unless_asked(project):
    folder = project("odd")
    assert tox(folder).returncode == 7
    assert not (folder / "nextprompt.md").exists()
    assert not (folder / ".loop-close").exists()


@pytest.mark.parametrize("way", [("run", "--loop-close"), ("run-parallel", "--loop-close"), ("run",)])
def test_all_environments_are_in_one_prompt(project, way):
    folder = project(*ALL)
    done = tox(folder, *way, **({} if "--loop-close" in way else {"TOX_LOOP_CLOSE": "1"}))
    assert done.returncode != 0
    text = prompt(folder)
    assert re.search(r"^- `pytest:py@[\w.-]+`: 1 test fails, 1 passes$", text, re.MULTILINE)
    for name in ("broken", "odd", "lost"):
        assert f"- `{name}`: 1 environment fails" in text
    assert "- `types`: 1 mypy error" in text
    assert "- Green: `fine`" in text
    assert "`mypy` at `shop.py:2`: `Bad operand` (`operator`)" in text, "it stands with the failing test"
    assert "broken: it could not be made (exit 1)" in text
    assert re.search(r"odd: exit 7: .*: strange$", text, re.MULTILINE)
    assert "lost: failed with could not find python interpreter" in text
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("way", ["run", "run-parallel"])
def test_under_a_check_each_environment_leaves_a_part_and_nothing_else_is_written(project, way):
    folder = project(*ALL)
    tox(folder, way, LOOP_CLOSE=str(folder / "parts"))
    found, rejected = read_folder(folder / "parts")
    assert rejected == []
    said = {
        each.observation.source: (each.observation.exit_code, len(each.observation.failures))
        for each in found
    }
    (tests,) = {*said} - {*ALL}
    assert re.fullmatch(r"pytest:py@cpython-3\.\d+", tests)
    assert said == {
        tests: (1, 1),
        "types": (1, 1),
        "odd": (7, 1),
        "fine": (0, 0),
        "broken": (1, 1),
        "lost": (1, 1),
    }
    assert not (folder / "nextprompt.md").exists()


def test_while_environments_run_it_is_not_green_and_a_fix_is_seen(project):
    """The setting asks as well; the second environment shows what the prompt said before it ended."""
    look = "commands = python -c \"print(open('nextprompt.md').read())\""
    folder = project("fine", "py", "look", more=f"[testenv:look]\n{look}")
    (folder / "tox.ini").write_text(
        (folder / "tox.ini").read_text().replace("[tox]", "[tox]\nloop_close = true")
    )
    assert tox(folder).returncode == 1
    (folder / "shop.py").write_text(FILES["shop.py"].replace(" + 1", ""))
    done = tox(folder)
    assert done.returncode == 0
    assert "no report is of look" in done.stdout
    assert prompt(folder).startswith("# The tests pass: 2 passed")


def test_without_the_plugin_for_pytest_its_output_is_read(project):
    folder = project("py", with_plugin=False)
    assert tox(folder, "--loop-close").returncode == 1
    assert prompt(folder).startswith("# 1 test fails, 1 passes")
    assert "tox -e py" in prompt(folder)


def test_a_skipped_environment_is_named(project):
    folder = project("lost", "fine")
    tox(folder, "--loop-close", "--skip-missing-interpreters", "true", "-e", "lost,fine")
    assert prompt(folder).startswith("# No failure (exit 0)")
    assert not (folder / ".loop-close/history.sqlite3").exists(), "it is not a run of the loop"
    assert re.search(
        r"^- Skipped: `lost` \(`could not find .*python3\.99.*`\)$", prompt(folder), re.MULTILINE
    )


def test_what_tox_lets_fail_does_not_count(project):
    more = """
[testenv:ignored]
ignore_outcome = true
commands = python mypy.py
[testenv:may]
commands = - python mypy.py
[testenv:is_to]
commands = ! python mypy.py
[testenv:pymay]
commands = - python -m pytest
"""
    folder = project("ignored", "may", "is_to", "pymay", more=more)
    assert tox(folder, "--loop-close").returncode == 0
    assert "- Green: `is_to`, `may`, `pymay`" in prompt(folder)
    assert "ignored" not in prompt(folder)
    before = prompt(folder)
    assert tox(folder, "exec", "-e", "may", "--loop-close", "--", "python", "-c", "exit(4)").returncode == 4
    assert prompt(folder) == before


def test_a_command_that_fails_beside_the_tests_is_a_cause(project):
    more = '[testenv:pyboth]\ncommands =\n  python -m pytest -k fine\n  python -c "exit(3)"\n'
    folder = project("pyboth", more=more)
    tox(folder, "--loop-close")
    assert "pyboth: exit 3: " in prompt(folder)
    more = "[testenv:none]\ncommands = sh -c true\n"
    folder = project("none", more=more)
    tox(folder, "--loop-close")
    assert "none: exit -1: sh is not allowed, use allowlist_externals to allow it" in prompt(folder)
