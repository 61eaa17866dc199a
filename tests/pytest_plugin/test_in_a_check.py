"""Pytest in ``loop-close check``: it reports to the check and writes nothing, and the prompt is that of a plain run."""

import os
import shutil
import subprocess
import sys

import pytest
from plugin_harness import write

from loop_close.app import reported_in
from loop_close.parts import decode

BIN = os.path.dirname(sys.executable)
PROJECT = {
    "pyproject.toml": """
        [tool.pytest.ini_options]
        addopts = "-p no:asyncio"
        pythonpath = ["."]
        """,
    "shop.py": "def total(items):\n    return sum(items){}\n",
    "test_shop.py": """
        import unittest
        import shop


        def test_total():
            assert shop.total([1, 2]) == 3


        class Case(unittest.TestCase):
            def test_more(self):
                self.assertEqual(shop.total([3, 4]), 7)


        def test_none():
            assert shop.total([]) == 0 or True
        """,
}


def start(folder, *words, env=(), code=None):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "LOOP_CLOSE", "VIRTUAL_ENV"))}
    kept |= {"PATH": os.pathsep.join((BIN, kept["PATH"])), "COLUMNS": "100", **dict(env)}
    done = subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, timeout=300)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


def reported(folder, *words, code):
    """Run pytest as a check does; the names of the files in the folder for reports."""
    place = folder / "parts"
    done = start(folder, *words, env={"LOOP_CLOSE": str(place)}, code=code)
    names = sorted(path.name.partition("-")[2] for path in place.iterdir())
    assert not (folder / "nextprompt.md").exists()
    assert not (folder / ".loop-close").exists()
    assert "loop-close: " not in done.stdout + done.stderr
    return names


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, PROJECT)
    (tmp_path / "parts").mkdir()
    set_fault(tmp_path, "")
    return tmp_path


def set_fault(folder, fault):
    (folder / "shop.py").write_text(PROJECT["shop.py"].format(fault))


WHOLE = ["1.begun", "1.part"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("-n", "2"), ("-p", "no:cacheprovider"), ("-p", "no:terminal")])
def test_it_reports_each_test_and_writes_nothing_else(folder, words):
    assert reported(folder, "pytest", *words, code=0) == WHOLE
    (part,), lost = reported_in(folder / "parts")
    assert lost == ""
    assert part.observation.outcomes == {
        f"test_shop.py::{n}": "passed" for n in ("test_total", "Case::test_more", "test_none")
    }
    assert part.context is not None
    assert part.context.args == words
    assert os.path.dirname(part.context.executable) == BIN


@pytest.mark.slow
def test_it_shows_failures_to_an_agent_as_the_check_has_the_prompt(folder):
    set_fault(folder, " + 1")
    done = start(folder, "pytest", env={"LOOP_CLOSE": str(folder / "parts"), "CLAUDECODE": "1"}, code=1)
    assert "FAILURES" in done.stdout
    assert "# 2 tests fail" not in done.stdout


@pytest.mark.slow
def test_a_conftest_that_cannot_be_imported_is_reported(folder):
    (folder / "conftest.py").write_text("import nothing_of_that_name\n")
    assert reported(folder, "pytest", code=4) == WHOLE
    ((part,), _) = reported_in(folder / "parts")
    assert "nothing_of_that_name" in part.observation.failures[0].message


@pytest.mark.slow
def test_pytest_that_a_test_starts_does_not_report_but_the_next_of_the_command_does(folder):
    inner = (
        "import subprocess, sys\ndef test_a():\n"
        "    assert not subprocess.call([sys.executable, '-m', 'pytest', '-k', 'more'])\n"
    )
    (folder / "test_inner.py").write_text(inner)
    (folder / "run.py").write_text(
        "import pytest\npytest.main(['test_shop.py'])\npytest.main(['test_inner.py'])\n"
    )
    assert reported(folder, sys.executable, "run.py", code=0) == [*WHOLE, "2.begun", "2.part"]
    assert reported(folder, "pytest", "--co", "-q", code=0) == [*WHOLE, "2.begun", "2.part"]
    parts = [decode(path.read_bytes()) for path in sorted((folder / "parts").glob("*.part"))]
    assert [len(part.observation.outcomes) for part in parts] == [3, 1]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["pytest", "pytest -n 2", "pytest -p no:cacheprovider", "make test"])
def test_the_prompt_of_a_check_is_that_of_a_plain_run(folder, command):
    if command == "make test":
        if shutil.which("make") is None:
            pytest.skip("there is no make")
        (folder / "Makefile").write_text("test:\n\tpytest\n")
    table = f'\n[tool.loop-close.checks]\ntests = "{command}"\n'
    (folder / "pyproject.toml").write_text((folder / "pyproject.toml").read_text() + table)
    environment = {"XDG_STATE_HOME": str(folder.parent / "state")}
    check = (sys.executable, "-m", "loop_close", "check")
    set_fault(folder, " + 1")
    start(folder, *check, env=environment, code=1)
    checked = (folder / "nextprompt.md").read_text()
    assert checked.startswith("# 2 tests fail, 1 passes: ")
    shutil.rmtree(folder / ".loop-close")
    (folder / "nextprompt.md").unlink()
    start(folder, "pytest", "--loop-close", env=environment, code=1)
    assert body(checked) == body((folder / "nextprompt.md").read_text())
    set_fault(folder, "")
    done = start(folder, *check, env=environment, code=0)
    assert "done: green on these files: tests" in done.stdout
    assert (folder / "nextprompt.md").read_text().startswith("# ")


def body(prompt):
    """The prompt without its title, the lines on where the loop stands, and the commands at its end."""
    return prompt.partition("\n```")[2].partition("\nRerun just the failing tests: ")[0]
