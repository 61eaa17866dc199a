"""The plugin for tox, in a real tox: every environment joins, none is edited, and none is lost for a fault of ours."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

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
LEFT_OUT = ("PYTEST_", "COV_", "PYTHON", "VIRTUAL_ENV")


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
                (site / "outer.pth").write_text(
                    sysconfig.get_path("purelib") + "\n" + str(Path("src").resolve())
                )
                if with_plugin:
                    (site / "pytest_loop_close-0.dist-info").mkdir()
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
    folder = project("py", "types", "odd", "fine", "broken")
    done = tox(folder, *way, **({} if "--loop-close" in way else {"TOX_LOOP_CLOSE": "1"}))
    assert done.returncode != 0
    text = prompt(folder)
    assert "- `pytest:py`: 1 test fails, 1 passes" in text
    assert "- `tox:broken`: 1 environment fails" in text
    assert "- `tox:odd`: 1 environment fails" in text
    assert "- `tox:types`: 1 mypy error" in text
    assert "- Green: `tox:fine`" in text
    assert "`mypy` at `shop.py:2`: `Bad operand` (`operator`)" in text, "it stands with the failing test"
    assert re.search(r"broken: could not install deps: ERROR: .* \(exit 1; .*\.whl\)", text)
    assert re.search(r"odd: exit 7: .*: strange$", text, re.MULTILINE)
    assert "tox -e py -- --loop-close-failed" in text
    assert "tox -e broken,odd,types" in text or "tox -e types,odd,broken" in text
    assert "internal error" not in done.stderr


def test_the_setting_asks_as_well_and_a_fix_is_seen(project):
    folder = project("py", more="")
    ini = (folder / "tox.ini").read_text()
    (folder / "tox.ini").write_text(ini.replace("[tox]", "[tox]\nloop_close = true"))
    assert tox(folder).returncode == 1
    (folder / "shop.py").write_text(FILES["shop.py"].replace(" + 1", ""))
    done = tox(folder)
    assert done.returncode == 0
    assert prompt(folder).startswith("# The tests pass: 2 passed")


def test_without_the_plugin_for_pytest_its_output_is_read(project):
    folder = project("py", with_plugin=False)
    assert tox(folder, "--loop-close").returncode == 1
    text = prompt(folder)
    assert text.startswith("# 1 test fails, 1 passes")
    assert "tox -e py" in text
    assert [p.name for p in (folder / ".loop-close/reports").glob("*.json")] == ["tox@py.json"]
    assert "tox -e py --loop-close -- test_shop.py::test_total" in text
    assert tox(folder, "--loop-close", "--", "-k", "fine").returncode == 0
    assert status(folder).returncode == 1, "the failing test did not run"
    (folder / "shop.py").write_text(FILES["shop.py"].replace(" + 1", ""))
    done = tox(folder, "-e", "py", "--loop-close", "--", "test_shop.py::test_total")
    assert "1 passed" in done.stdout
    assert status(folder).returncode == 1, "the other test did not run on these files"
    assert "The other tests did not run. All of them: `tox -e py --loop-close`" in prompt(folder)
    assert tox(folder, "-e", "py", "--loop-close").returncode == 0
    assert status(folder).returncode == 0, prompt(folder)


def test_own_options_of_pytest_stay(project):
    folder = project("py", more="")
    ini = (folder / "tox.ini").read_text()
    (folder / "tox.ini").write_text(
        ini.replace("skip_install = true", "skip_install = true\npass_env = PYTEST_ADDOPTS", 1)
    )
    tox(folder, "--loop-close", PYTEST_ADDOPTS="-k fine")
    assert prompt(folder).startswith("# The tests pass: 1 passed")


def test_a_missing_interpreter_is_a_cause_and_a_skipped_environment_is_named(project):
    folder = project("lost", "fine")
    tox(folder, "--loop-close")
    assert "- `tox:lost`: 1 environment fails" in prompt(folder)
    shutil.rmtree(folder / ".loop-close")
    tox(folder, "--loop-close", "--skip-missing-interpreters", "true", "-e", "lost,fine")
    assert prompt(folder).startswith("# No failure (exit 0)")
    assert re.search(r"^- Green: `tox:fine`$", prompt(folder), re.MULTILINE)
    assert re.search(
        r"^- Skipped: `tox:lost` \(`could not find .*python3\.99.*`\)$", prompt(folder), re.MULTILINE
    )
    found = status(folder)
    assert found.returncode == 0, found.stdout
    assert "tox:lost: skipped in run 1: could not find " in found.stdout


def test_an_installation_that_is_interrupted_is_no_failure(project):
    command = "install_command = python -c 'import os; os.kill(os.getpid(), 2)' {packages}"
    folder = project("late", "odd", more=f"[testenv:late]\ndeps = anything\n{command}")
    tox(folder, "--loop-close")
    assert "late" not in prompt(folder)
    assert "odd: exit 7" in prompt(folder)


def test_a_pytest_that_tox_ended_is_no_failure_of_its_environment(project):
    """After Ctrl-C tox sends 2, then 15; what pytest recorded says that it was interrupted."""
    end = "import os; os.kill(os.getpid(), 15)"
    more = f"""
[testenv:py]
commands = python -c "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pytest']); {end}"
[testenv:alone]
commands = python -c "{end}"
"""
    folder = project("py", "alone", more=more)
    tox(folder, "--loop-close")
    assert "- `pytest:py`: 1 test fails" in prompt(folder)
    assert "tox:py" not in prompt(folder)
    assert "alone: exit -15" in prompt(folder)


def test_what_tox_lets_fail_does_not_count(project):
    more = """
[testenv:ignored]
ignore_outcome = true
commands = python mypy.py
[testenv:may]
commands = - python mypy.py
[testenv:is_to]
commands = ! python mypy.py
[testenv:both]
commands =
  - python mypy.py
  python -c "exit(3)"
"""
    folder = project("ignored", "may", "is_to", "both", more=more)
    tox(folder, "--loop-close")
    assert "- `tox:both`: 1 environment fails" in prompt(folder)
    assert "- Green: `tox:is_to`, `tox:may`" in prompt(folder)
    assert "ignored" not in prompt(folder)
    assert "mypy" not in prompt(folder)
    before = prompt(folder)
    assert tox(folder, "exec", "-e", "may", "--loop-close", "--", "python", "-c", "exit(4)").returncode == 4
    assert prompt(folder) == before


def test_why_a_command_did_not_run_is_told(project):
    folder = project("not_allowed", more="[testenv:not_allowed]\ncommands = sh -c true")
    tox(folder, "--loop-close")
    assert "not_allowed: exit -1: sh is not allowed, use allowlist_externals to allow it" in prompt(folder)


def test_the_commands_at_the_end_run_what_fails_and_are_recorded(project):
    folder = project("py", "types")
    ini = (folder / "tox.ini").read_text()
    (folder / "tox.ini").write_text(ini.replace("pytest {posargs}", "pytest"))
    tox(folder, "--loop-close")
    assert "tox -e py -- --loop-close-failed\ntox -e types --loop-close" in prompt(folder)
    done = tox(folder, "-e", "py", "--", "--loop-close-failed")
    assert "2 items / 1 deselected / 1 selected" in done.stdout
    (folder / "mypy.py").write_text("")
    assert tox(folder, "-e", "types", "--loop-close").returncode == 0
    assert "tox -e types" not in prompt(folder)


def test_a_fault_of_ours_costs_a_line(project):
    folder = project("fine")
    (folder / "pyproject.toml").write_text("[tool.loop-close]\nbudget = 'much'\n")
    done = tox(folder, "--loop-close")
    assert done.returncode == 0
    assert "loop-close: " in done.stderr
    assert "budget" in done.stderr


def test_run_joins_what_it_reads_with_what_plugins_wrote(project):
    folder = project("py", "types")
    ini = (folder / "tox.ini").read_text()
    (folder / "tox.ini").write_text(ini.replace("pytest {posargs}", "pytest --loop-close {posargs}"))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(LEFT_OUT)}
    words = [sys.executable, "-m", "loop_close", "run", "--", sys.executable, "-m", "tox"]
    done = subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    text = prompt(folder)
    assert "- `pytest:py`: 1 test fails, 1 passes" in text
    assert "- `tox`: 1 mypy error" in text
    assert "root causes" not in text.split("\n", 1)[0]
    assert "tox -e py -- --loop-close-failed" in text


INSTALL = "install_command = python -c 'import os; exit(os.path.exists(\"broken\"))' {packages}"


def status(folder):
    words = [sys.executable, "-m", "loop_close", "status"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("again", [["--loop-close"], ["--", "--loop-close"]])
def test_a_mended_installation_is_green_once_its_environment_ran(project, again):
    """Also where the plugin for tox is not asked: then only the tests tell that it was installed."""
    folder = project("py", more=f"[testenv:py]\ndeps = one\n{INSTALL}")
    (folder / "shop.py").write_text(FILES["shop.py"].replace(" + 1", ""))
    ini = (folder / "tox.ini").read_text()
    (folder / "tox.ini").write_text(ini.replace("deps = one", "deps =\n  one\n  two"))
    (folder / "broken").touch()
    assert tox(folder, "--loop-close").returncode != 0
    assert "- `tox:py`: " not in prompt(folder)
    assert "tox:py: first-failure in run 1" in status(folder).stdout
    (folder / "broken").unlink()
    done = tox(folder, *again)
    assert done.returncode == 0, done.stdout
    assert prompt(folder).startswith("# The tests pass: 2 passed")
    found = status(folder)
    assert found.returncode == 0, found.stdout


def test_a_mended_command_is_green_once_its_environment_ran(project):
    more = "[testenv:py]\ncommands =\n  python -m pytest\n  python check.py"
    folder = project("py", more=more)
    (folder / "shop.py").write_text(FILES["shop.py"].replace(" + 1", ""))
    (folder / "check.py").write_text("exit(3)\n")
    assert tox(folder, "--loop-close").returncode != 0
    assert "tox:py: first-failure in run 1" in status(folder).stdout
    assert tox(folder, "-e", "py", "--", "--loop-close").returncode != 0
    assert "tox:py: first-failure in run 1" in status(folder).stdout, "the tests say nothing of it"
    (folder / "check.py").write_text("")
    assert tox(folder, "--loop-close").returncode == 0
    found = status(folder)
    assert found.returncode == 0, found.stdout


def test_to_mend_what_an_environment_installs_is_no_change_of_tests(project):
    folder = project("broken", more="")
    assert tox(folder, "--loop-close").returncode != 0
    ini = (folder / "tox.ini").read_text()
    mended = ini.replace(f"deps = {folder}/no-such-package.whl", "commands = python -c ''")
    (folder / "tox.ini").write_text(mended)
    assert tox(folder, "--loop-close").returncode == 0
    assert prompt(folder).startswith("# No failure (exit 0)")
    assert "ests" not in prompt(folder)
    assert status(folder).returncode == 0


@pytest.mark.parametrize(
    "commands",
    [
        "python -m pytest {posargs}",
        "python -m pytest test_shop.py\n  python -m pytest {posargs}",
        "- python -m pytest\n  python -m pytest {posargs}",
    ],
)
def test_pytest_that_ended_before_it_recorded_a_run_is_a_failure_until_its_environment_passes(
    project, commands
):
    folder = project("py", "fine", more=f"[testenv:py]\ncommands =\n  {commands}")
    (folder / "shop.py").write_text(FILES["shop.py"].replace(" + 1", ""))
    assert tox(folder, "--loop-close", "--", "--no-such-option").returncode != 0
    found = status(folder)
    assert found.returncode == 1, found.stdout
    assert "tox:py: first-failure in run 1" in found.stdout
    assert re.search(
        r"py: exit 4: .*pytest: error: unrecognized arguments: --no-such-option$", prompt(folder), re.M
    )
    with (folder / "tox.ini").open("a") as file:
        file.write("[testenv:other]\n")
    assert tox(folder, "--loop-close").returncode == 0
    found = status(folder)
    assert found.returncode == 0, found.stdout
