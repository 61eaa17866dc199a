"""When files are written, by whom, and what stands in them whatever goes wrong."""

import re
import subprocess
import sys
from importlib import import_module

import pytest

from loop_close.store import Store

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


def test_killed_run_leaves_no_stale_prompt_and_is_known_at_the_next(run):
    run({"test_a.py": "def test_a(): assert 'old news' == ''\n"}, remembers=True)
    kills = {"test_a.py": "import os\ndef test_a(): os._exit(9)\n"}
    done = run(kills, own_process=True, is_prompt=False, remembers=True)
    assert done.ret == 9
    assert done.title == "# Tests are running"
    assert "the run was killed" in done.prompt
    assert run({"test_a.py": FAILING}, remembers=True).says("assert 1 == 2")  # and may be replaced
    with Store(done.folder / ".loop-close" / "history.sqlite3", readonly=True) as store:
        assert [each.is_finished for each in store.runs()] == [True, False, True]


def test_only_our_files_are_left(run):
    done = run({"test_a.py": FAILING}, "-p", "no:cacheprovider")
    others = {"__pycache__", "pytest.ini", "test_a.py", "runpytest-0"}
    names = {path.name for path in done.folder.iterdir()} - others
    assert names == {"nextprompt.md", "report.json", ".loop-close"}
    kept = {path.name for path in (done.folder / ".loop-close").iterdir()}
    assert kept == {"report.json", "failed.txt", ".gitignore"}
    assert (done.folder / ".loop-close" / ".gitignore").read_text() == "*\n"


def test_green_run_makes_no_state_folder(run):
    assert not (run({"test_a.py": FINE}).folder / ".loop-close").exists()


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
    ("app", "compose"),
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
        "report.longrepr = None",
        "del report.location",
    ],
)
def test_report_that_a_plugin_made_otherwise_is_still_a_failure(run, change):
    conftest = UNREADABLE.replace("{change}", change)
    done = run({"conftest.py": conftest, "test_a.py": FAILING}, "-p", "no:terminal", "-p", "no:junitxml")
    assert done.ret == 1
    assert done.says("# 1 test fails", "test_a.py::test_a")


@pytest.mark.slow
def test_not_asked_for_it_changes_no_byte_of_the_output_and_writes_nothing(tmp_path):
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_a.py").write_text(FAILING + "def test_b(): pass\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    command = [sys.executable, "-m", "pytest", "-v", "-pno:asyncio", "-pno:cacheprovider"]
    shown = []
    for words in ([], ["-p", "no:loop_close"]):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "")
        lines = re.sub(r"in [\d.]+s", "in TIME", done.stdout).splitlines()
        shown.append([line for line in lines if not line.startswith("plugins: ")])
    assert shown[0] == shown[1]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == before


def test_nothing_absolute_is_in_the_files(run):
    done = run({"test_a.py": "def test_a():\n    open(__file__ + '.missing')\n"})
    text = done.prompt + (done.folder / "report.json").read_text()
    assert str(done.folder) not in text
    assert done.says("test_a.py.missing")
