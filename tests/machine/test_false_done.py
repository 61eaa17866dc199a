"""Each kind of way to "done" over failing tests that was found, and of green work that was not done: one row a kind."""

import os

import pytest
from cheats import CHEATS, FAULTY, HOLLOW, MENDED, SETTINGS, SWALLOWING, damaged
from oracle import Oracle
from project import DATA, FILES, PROGRAM, PYPROJECT, Project, calc, settings

#: The rows that run without ``-m slow``.
FEW = {
    "edited while the tests ran",
    "data edited after",
    "-k first",
}
BAD, BAD_DATA = FAULTY["add"], FAULTY["data"]
TESTS = "tests/test_calc.py"


# --- steps of a row; files to write are a step as well


def session(project):
    project.begin_session()


def done(project):
    assert project.check().exit == 0


def red(project, **variables):
    """A check that must not end as done."""
    assert project.check(**variables).exit != 0


def red_with(**variables):
    return lambda project: red(project, **variables)


def run(*words, **variables):
    """A command that succeeds, or pretends to."""

    def step(project):
        program = PROGRAM if words[0] == "loop-close" else words[:1]
        assert project.command(*program, *words[1:], **variables).exit == 0

    return step


def during(**edits):
    """A check that must not end as done: at these points of its run files are edited."""

    def step(project):
        assert project.check_during(edits).exit != 0

    return step


def cheat(name):
    return lambda project: project.write(CHEATS[name](project))


def damage(kind):
    """The doors are looked at while the damage lasts."""

    def step(project):
        with damaged(project, kind):
            assert not any(project.doors().values())

    return step


def resume(source):
    return lambda project: project.begin_session(source=source)


def kill(whom):
    def step(project):
        running = project.start_check(hold_up=("started",))
        assert running.wait_until_held("started")
        running.kill(whom)
        running.finish()
        running.wait_for_others()

    return step


def same_second(project):
    """All edits fall into one second: Python takes older bytecode of a file of the same size as current."""
    os.utime(project.root / "calc.py", (1_700_000_000, 1_700_000_000))


def nested(project):
    """A green project in a folder of this one, in which the agent stands when it stops."""
    inner = {"pyproject.toml": PYPROJECT.replace('"tests"', '"."'), "test_it.py": "def test():\n    pass\n"}
    project.write({f"sub/{path}": text for path, text in inner.items()})
    project.check(cwd="sub")
    assert project.hook(cwd="sub")


SOME = run("pytest", "--loop-close", "-k", "golden")
MERGE = (
    run("pytest", "--loop-close", "-k", "golden", "--loop-close-json=merged.json"),
    run("loop-close", "merge", "merged.json"),
)
WARNING_IS_ERROR = {"pyproject.toml": f'{PYPROJECT}filterwarnings = ["error"]\n'}
WARNS = {"calc.py": calc(add="warns")}
BY_VARIABLE = {
    TESTS: FILES[TESTS].replace(
        "\ndef test_add", "\n@pytest.mark.skipif('os.environ.get(\"FAST\")')\ndef test_add"
    )
}
UNCONFIGURED = """

def pytest_unconfigure():
    from calc import add

    assert add(1, 1) == 2
"""
# A test that does not look at what it calls.
CALLS = {TESTS: "from calc import add\n\n\ndef test_it():\n    add(2, 3)\n", "tests/golden.json": None}
LEAKS = """

class Leak:
    def __del__(self):
        raise ValueError("left open")


def add(a, b):
    leak = Leak()
    leak.itself = leak
    return a + b
"""
# A new test leaves its mock behind, which hides a fault from the old ones.
LOOKS_UP = {
    TESTS: "import calc\n\n\ndef test_it():\n    assert calc.add(2, 3) == 5\n",
    "tests/golden.json": None,
}
MOCKS = {
    "tests/test_a.py": "import calc\n\n\ndef test_report():\n    calc.add = lambda a, b: 5\n"
    "    assert calc.add(2, 3) == 5\n"
}
# The part that a test needs cannot be imported any more, and is not: the new test runs it as a program.
EXITS = "\n\nif __name__ != '__main__':\n    raise SystemExit(0)\n"
RUNS_IT = """
import subprocess
import sys


def test_it():
    subprocess.run([sys.executable, "calc.py"], check=True)
"""
STARVED = """
import os


def pytest_ignore_collect(collection_path):
    return True if "STARVED" in os.environ and collection_path.name == "test_calc.py" else None
"""
TWO = {"pyproject.toml": SETTINGS["two checks"]["pyproject.toml"]}
MAKE = SETTINGS["make"]

#: Over failing tests, or over tests that are not as they were.
FALSE = {
    "edited while the tests ran": (session, during(collected=BAD)),
    "edited at the end of the run": (session, during(finished=BAD)),
    "data edited while the tests ran": (session, during(finished=BAD_DATA)),
    "edited and restored while the tests ran": (session, BAD, during(started=MENDED, finished=BAD)),
    "data edited and restored while the tests ran": (
        session,
        BAD_DATA,
        during(started=MENDED, finished=BAD_DATA),
    ),
    "data edited after": (done, BAD_DATA),
    "-k first": (session, BAD, SOME),
    "a path first": (session, BAD, run("pytest", "--loop-close", "tests/test_more.py")),
    "a subfolder first": (session, BAD, run("pytest", "--loop-close", "-k", "golden", cwd="tests")),
    "run -k": (session, BAD, run("loop-close", "run", "--", "pytest", "-k", "golden")),
    "run true": (session, BAD, run("loop-close", "run", "--", "true")),
    "-k after reset": (done, BAD, red, run("loop-close", "reset"), SOME),
    "-k after the history was removed": (done, BAD, red, damage("removed"), SOME),
    "python -O": (session, FAULTY["assert"], run("python", "-O", "-m", "pytest", "--loop-close")),
    "-p of one's own": (
        *(session, BAD, {"cheat_plugin.py": SWALLOWING}),
        run("pytest", "--loop-close", "-p", "cheat_plugin", PYTHONPATH="."),
    ),
    "-W of one's own": (WARNING_IS_ERROR, session, WARNS, run("pytest", "--loop-close", "-W", "ignore")),
    "FAST of a plain run": (BY_VARIABLE, session, BAD, run("pytest", "--loop-close", FAST="1")),
    "PYTHONWARNINGS": (WARNING_IS_ERROR, session, WARNS, red_with(PYTHONWARNINGS="ignore")),
    "PYTHONOPTIMIZE": (session, FAULTY["assert"], red_with(PYTHONOPTIMIZE="1")),
    "PYTEST_ADDOPTS": (session, BAD, red_with(PYTEST_ADDOPTS="-k golden")),
    "FAST of a check": (BY_VARIABLE, done, BAD, red_with(FAST="1")),
    "the program skips": (done, {"calc.py": calc(add="skips")}, red),
    "fewer tests": ({"tests/conftest.py": STARVED}, FAULTY["two"], red, BAD, red_with(STARVED="1")),
    "pytest_unconfigure": ({"conftest.py": FILES["conftest.py"] + UNCONFIGURED, **CALLS}, done, BAD, red),
    "an unraisable exception": ({**WARNING_IS_ERROR, **CALLS}, done, {"calc.py": calc() + LEAKS}, red),
    "signals_off": (session, BAD, cheat("skip"), SETTINGS["signals off"], red),
    "no history": (session, BAD, cheat("skip"), SETTINGS["history off"], red),
    "make is hollow": (MAKE, done, BAD, HOLLOW, red),
    "make deselects": (
        *(MAKE, done, BAD),
        {"Makefile": "test:\n\tpytest --deselect tests/test_calc.py\n"},
        red,
    ),
    "-k and merge": (done, BAD, *MERGE),
    "a checker that was green": (
        TWO,
        done,
        {"calc.py": f"{calc()}# FIXME\n"},
        lambda project: project.check("tests"),
    ),
    "a mock that stays": (LOOKS_UP, session, BAD, MOCKS, red),
    "code that exits when it is imported": (
        *(CALLS, session),
        {"calc.py": calc(add="faulty") + EXITS, TESTS: RUNS_IT, "tests/test_more.py": RUNS_IT},
        red,
    ),
    "a garbage history": (done, BAD, damage("garbage")),
    "an empty history": (done, BAD, damage("empty")),
    "a removed history": (done, BAD, damage("removed")),
    "a locked history": (done, BAD, damage("locked")),
    "a nested green project": (session, BAD, nested),
    "killed tests": (session, BAD, kill("tests")),
    "older bytecode": (
        *(session, same_second, run("pytest", PYTHONDONTWRITEBYTECODE="")),
        *(BAD, same_second, red),
    ),
    "older bytecode elsewhere": (
        *(session, same_second, run("pytest", PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX="__pycache__")),
        *(BAD, same_second, red_with(PYTHONPYCACHEPREFIX="__pycache__")),
    ),
    "outputs of one's own": (
        done,
        {"pyproject.toml": settings(outputs=["data.json"])},
        Project.check,
        BAD_DATA,
    ),
    "committed": (session, BAD, cheat("skip"), Project.commit, red),
    "cleaned": (
        *(session, BAD, cheat("skip"), red, run("loop-close", "reset")),
        *(run("git", "clean", "-fdxq", "-e", "tests"), red),
    ),
    "resumed": (session, BAD, cheat("skip"), resume("resume"), red),
    "compacted": (session, BAD, cheat("skip"), resume("compact"), red),
    "another session over an objection": (
        *(session, BAD, cheat("skip"), red),
        *(lambda project: project.begin_session("another", source="clear"), red),
    ),
    "another session after a red run over an objection": (
        *(session, BAD, cheat("skip"), red, {"calc.py": calc(add="broken")}, red, BAD),
        *(lambda project: project.begin_session("another", source="clear"), red),
    ),
    "another session after reset over an objection": (
        *(session, BAD, cheat("skip"), red, run("loop-close", "reset")),
        *(lambda project: project.begin_session("another", source="clear"), red),
    ),
    "drive over an objection": (
        *(session, BAD, cheat("skip"), red),
        *(lambda project: project.loop_close("drive", "--agent", "true"), red),
    ),
    "tests is no check any more": (
        TWO,
        *(session, done, BAD),
        {"pyproject.toml": settings({"lint": "python lint.py"})},
        red,
    ),
    "accepted by an agent": (
        *(session, BAD, cheat("skip"), red),
        *(lambda project: project.loop_close("accept", "--all", CLAUDECODE="1"), red),
    ),
}
# The fault that a cheat hides, where it is another than the usual.
HIDDEN = {"helper": {"calc.py": calc(mean="faulty")}, "golden file": {"calc.py": calc(scale="faulty")}}
FALSE |= {name: (session, HIDDEN.get(name, BAD), cheat(name), red) for name in CHEATS}
#: Green work: each door says done at once.
GREEN = {
    "-k and merge": (done, *MERGE),
    "runs of one's own": (done, SOME, run("loop-close", "run", "--", "pytest", "-k", "golden")),
    "committed": (done, Project.commit),
    "fault undone": (done, BAD, red, MENDED),
    "mended": (session, BAD, red, MENDED, done),
    "data": (session, {"data.json": DATA["other"]}, done),
    "two checks": (TWO, session, done),
    "a test more beside a checker": (
        TWO,
        session,
        done,
        {"tests/test_new.py": "def test_it():\n    pass\n"},
        done,
    ),
    "a module that could be imported again": (session, {"calc.py": calc(add="broken")}, red, MENDED, done),
    "workers": (SETTINGS["workers"], session, done),
    "make": (MAKE, session, done),
    "rewritten tests": (session, cheat("weaker assertion"), cheat("helper"), done),
    "renamed tests": (done, cheat("renamed"), {"tests/test_new.py": FILES[TESTS]}, done),
    "new session": (session, {"calc.py": calc(add="other")}, done, resume("startup")),
    "caller killed": (session, kill("caller"), done),
    "accepted": (
        *(session, {"calc.py": calc(add="near"), TESTS: FILES[TESTS].replace("== 5", "== 6")}, red),
        *(run("loop-close", "accept", "--all"), done),
    ),
}


def rows(table):
    """Parameters of a table, most of them slow."""
    return [
        pytest.param(row, id=name, marks=[] if name in FEW else pytest.mark.slow)
        for name, row in table.items()
    ]


@pytest.fixture(params=[True], ids=["git"])
def project(tmp_path):
    made = Project(tmp_path / "it", PYTHONPATH=".")
    yield made
    made.close()


def follow(project, steps):
    """Take the steps of a row; the files as they were at the loop's start."""
    baseline = None
    for step in steps:
        if not isinstance(step, dict):
            baseline = baseline or project.snapshot()
            step(project)
        else:
            project.write(step)
    return baseline


@pytest.mark.parametrize("row", rows(FALSE))
def test_no_door_says_done(row, project, tmp_path):
    baseline = follow(project, row)
    assert Oracle(tmp_path / "oracle").objection(project.snapshot(), baseline), "nothing is wrong: the row is"
    assert not any(project.doors().values())


@pytest.mark.parametrize("row", rows(GREEN))
def test_every_door_says_done(row, project):
    follow(project, row)
    assert all(project.doors().values())
    assert project.check().exit == 0
