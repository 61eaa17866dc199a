"""When files are written, by whom, and what stands in them whatever goes wrong."""

import re
import subprocess
import sys
from importlib import import_module

import pytest

FAILING = "def test_a(): assert 1 == 2\n"
FINE = "def test_a(): pass\n"


def test_while_tests_run_the_prompt_says_so(run):
    source = """
    import pathlib
    def test_a():
        text = pathlib.Path("nextprompt.md").read_text(encoding="utf-8")
        assert text.startswith("# Tests are running\\n")
        assert "old news" not in text
        assert not pathlib.Path("report.json").exists()
    """
    run({"test_a.py": "def test_a(): assert 'old news' == ''\n"})
    assert run({"test_a.py": source}).ret == 0


def test_killed_run_leaves_no_stale_prompt(run):
    run({"test_a.py": "def test_a(): assert 'old news' == ''\n"})
    done = run({"test_a.py": "import os\ndef test_a(): os._exit(9)\n"}, own_process=True, is_prompt=False)
    assert done.ret == 9
    assert done.title == "# Tests are running"
    assert "the run was killed" in done.prompt
    assert run({"test_a.py": FAILING}).says("assert 1 == 2")  # and may be replaced


def test_only_our_files_are_left(run):
    done = run({"test_a.py": FAILING}, "-p", "no:cacheprovider")
    names = {path.name for path in done.folder.iterdir()} - {
        "__pycache__",
        "pytest.ini",
        "test_a.py",
        "runpytest-0",
    }
    assert names == {"nextprompt.md", "report.json", ".loop-close"}
    kept = {path.name for path in (done.folder / ".loop-close").iterdir()}
    assert kept == {"report.json", "failed.txt", ".gitignore"}
    assert (done.folder / ".loop-close" / ".gitignore").read_text() == "*\n"


def test_green_run_makes_no_state_folder(run):
    assert not (run({"test_a.py": FINE}).folder / ".loop-close").exists()


def test_state_folder_whose_place_is_taken_costs_a_line_and_not_the_prompt(run):
    done = run({"test_a.py": FAILING, ".loop-close": "a file"})
    assert done.ret == 1
    assert done.says("assert 1 == 2")
    assert "`.loop-close/report.json`" not in done.prompt
    assert any("cannot write the full report" in line for line in done.summary)


def test_prompt_that_can_no_longer_be_written_costs_a_line(run):
    source = """
    import pathlib, pytest
    def test_a():
        pathlib.Path("out/next.md").unlink()
        pathlib.Path("out").rmdir()
        pathlib.Path("out").write_text("a file")
        assert 1 == 2
    """
    done = run({"test_a.py": source}, asked=("--loop-close", "--loop-close-file=out/next.md"))
    assert done.ret == 1
    assert any("not written: out/next.md cannot be written" in line for line in done.summary)
    assert "Traceback" not in done.stdout + done.stderr


BREAKS = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    import {module}
    def broken(*args, **kwargs):
        raise RuntimeError("# our own fault\\n```password=hunter2SECRET")
    session.config.stash["put back"] = {module}.{name}
    {module}.{name} = broken

def pytest_unconfigure(config):
    import {module}
    {module}.{name} = config.stash["put back"]
"""


#: Parts of the sequence, each of which may fail.
PARTS = [
    ("app", "judged"),
    ("app", "write_report"),
    ("app", "compose"),
    ("causes", "group"),
    ("judge", "run_detectors"),
]


@pytest.fixture
def put_back(monkeypatch):
    """What a conftest of an inner run replaces is there again afterwards."""
    for module, name in PARTS:
        owner = import_module(f"loop_close.{module}")
        monkeypatch.setattr(owner, name, getattr(owner, name))


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize(("module", "name"), PARTS)
def test_fault_of_ours_costs_one_line_and_the_prompt_says_so(run, pytester, module, name):
    conftest = BREAKS.replace("{module}", f"loop_close.{module}").replace("{name}", name)
    done = run({"conftest.py": conftest, "test_a.py": FAILING}, asked=("--loop-close",), is_prompt=False)
    assert done.ret == 1
    assert len(done.summary) == 1
    assert done.summary[0].startswith(
        "loop-close: internal error of loop-close: RuntimeError: # our own fault"
    )
    assert done.summary[0].endswith("; pytest's result is not affected")
    assert done.title == "# loop-close could not read this run (exit 1)"
    assert done.says("RuntimeError: # our own fault\\n```password=", "Read what pytest printed.")
    assert "SECRET" not in done.prompt + "".join(done.summary)
    assert "1 failed in" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert run({"conftest.py": "", "test_a.py": FAILING}).says("# 1 test fails")  # and may be replaced


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize(("source", "status"), [(FINE, 0), ("", 5), ("import not_there", 2)])
def test_fault_of_ours_leaves_the_exit_status(run, source, status):
    module, name = "app", "judged"
    conftest = BREAKS.replace("{module}", f"loop_close.{module}").replace("{name}", name)
    done = run({"conftest.py": conftest, "test_a.py": source}, asked=("--loop-close",), is_prompt=False)
    assert done.ret == status
    assert done.title == f"# loop-close could not read this run (exit {status})"


UNREADABLE = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        {change}
    return report
"""


@pytest.mark.parametrize(
    "change",
    [
        "report.location = 5",
        "report.longrepr = 'only words'",
        "report.longrepr = None",
        "del report.location",
        "report.when = 'other'",
    ],
)
def test_report_that_a_plugin_made_otherwise_is_still_a_failure(run, change):
    conftest = UNREADABLE.replace("{change}", change)
    done = run({"conftest.py": conftest, "test_a.py": FAILING}, "-p", "no:terminal", "-p", "no:junitxml")
    assert done.ret == 1
    assert done.says("# 1 test fails", "test_a.py::test_a")


def pytest_output(folder, *args):
    command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-v", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, re.sub(r"in [\d.]+s", "in TIME", done.stdout), done.stderr


@pytest.mark.slow
def test_not_asked_for_it_changes_no_byte_of_the_output_and_writes_nothing(tmp_path):
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_a.py").write_text(FAILING + "def test_b(): pass\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    with_us = pytest_output(tmp_path, "-p", "no:cacheprovider")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == before
    without = pytest_output(tmp_path, "-p", "no:cacheprovider", "-p", "no:loop_close")
    assert with_us[0] == without[0] == 1
    assert [line for line in with_us[1].splitlines() if not line.startswith("plugins: ")] == [
        line for line in without[1].splitlines() if not line.startswith("plugins: ")
    ]
    assert with_us[2] == without[2] == ""


def test_nothing_absolute_is_in_the_files(run):
    done = run({"test_a.py": "def test_a():\n    open(__file__ + '.missing')\n"})
    text = done.prompt + (done.folder / "report.json").read_text()
    assert str(done.folder) not in text
    assert done.says("test_a.py.missing")
