"""What the prompt says of runs before: pytest run again and again on a project that is edited."""

import os
import sqlite3
import subprocess
import sys
import time

import pytest
from plugin_harness import SHARDS

from loop_close.pytest_plugin import session

INTERPRETER = session.interpreter
PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def total(items):
            return sum(items) + 1


        def mean(items):
            return sum(items) / len(items) if items else None
        """,
    "test_shop.py": """
        import pytest
        import shop


        def test_total():
            assert shop.total([1, 2, 3]) == 6


        def test_mean():
            assert shop.mean([]) == 0
        """,
}


@pytest.fixture
def loop(run, pytester):
    """Edit files (replace texts in them), then run pytest."""

    def turn(*args, is_prompt=True, **edits):
        for name, (old, new) in edits.items():
            path = next(p for p in pytester.path.rglob("*.py") if p.stem == name)
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new))
        for name in ("shop", "test_shop", "test_renamed", "conftest"):
            sys.modules.pop(name, None)
        return run(
            {} if (pytester.path / "pytest.ini").exists() else PROJECT,
            *args,
            remembers=True,
            is_prompt=is_prompt,
        )

    return turn


def progress(done):
    return {k: len(v) for k, v in done.report["progress"].items() if isinstance(v, list) and v}


def signals(done):
    return [s["kind"] for s in done.report["signals"]]


OTHERS = {
    "pytest.ini": "",
    "shop.py": """
        def first(): return 0
        def second(): return 1
        def third(): return 1
        """,
    "test_shop.py": """
        import shop


        def test_first():
            assert shop.first() == 1


        def test_second():
            assert shop.second() == 1


        def test_third():
            assert shop.third() == 1
        """,
}
BREAK_TWO = (
    "return 0\ndef second(): return 1\ndef third(): return 1",
    "return 1\ndef second(): return 0\ndef third(): return 0",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("README.md", "a note"),
        ("data.json", "{}"),
        ("conftest.py", "SIZE = 1\n"),
        ("test_shop.py", "\n\ndef helper():\n    return 1\n"),
        ("test_shop.py", "\n\ndef test_new():\n    assert 0\n"),
    ],
)
def test_what_broke_had_passed_whatever_else_was_edited(loop, run, pytester, file, text):
    run(OTHERS, remembers=True)
    with (pytester.path / file).open("a") as added:
        added.write(text)
    done = loop(shop=BREAK_TWO)
    assert len(done.report["progress"]["broken"]) == 2
    assert done.says("(2 had passed). No progress.")


def test_new_cases_that_fail_are_not_said_to_be_broken(loop, run, pytester):
    cases = """
        import json, pathlib, pytest, shop

        CASES = json.loads(pathlib.Path(__file__).with_name("cases.json").read_text())


        @pytest.mark.parametrize("case", CASES)
        def test_case(case):
            assert shop.first() == case


        def test_first():
            assert shop.first() == 1
        """
    run({**OTHERS, "test_shop.py": cases, "cases.json": "[1]"}, remembers=True)
    (pytester.path / "cases.json").write_text("[1, 2]")
    done = loop(shop=("first(): return 0", "first(): return 1"))
    assert "broken" not in progress(done)
    assert done.says(
        "Progress: tests that had failed pass; the new failures are not known to have passed before."
    )


@pytest.mark.slow
def test_a_failure_that_returns_after_each_green_run_is_an_oscillation(loop, run):
    run({**OTHERS, "shop.py": OTHERS["shop.py"].replace("return 0", "return 1")}, remembers=True)
    for _ in range(2):
        assert "oscillation" not in signals(loop(shop=("first(): return 1", "first(): return 0")))
        loop(shop=("first(): return 0", "first(): return 1"))
    done = loop(shop=("first(): return 1", "first(): return 0"))
    assert done.says("the same failure in runs 2, 4 and 6, each time after it had been fixed")


def test_first_run_says_nothing_of_a_loop(loop):
    done = loop()
    assert "of this loop" not in done.prompt
    assert done.report["verdict"] == "first-failure"
    assert progress(done) == {"new": 2}


def test_a_fault_fixed_is_progress_and_the_last_one_is_green(loop):
    loop()
    done = loop(shop=("+ 1", "+ 0"))
    assert done.report["verdict"] == "progress"
    assert progress(done) == {"fixed": 1, "unresolved": 1}
    assert done.says("Run 2 of this loop: 1 fixed, 1 unresolved. Progress: more was fixed than broken.")
    assert done.says("| 2 | `total`: `return sum(items) + 1` → `return sum(items) + 0` | 1 fixed; 1 fails |")
    done = loop(shop=("else None", "else 0"))
    assert done.ret == 0
    assert done.report["verdict"] == "green"
    assert done.says(
        "2 tests that had failed pass after 3 runs: `test_shop.py::test_mean`, `test_shop.py::test_total`."
    )


def test_values_that_go_round_end_with_a_person(loop):
    loop()
    verdicts, prompts = [], []
    for old, new in (("+ 1", "- 1"), ("- 1", "+ 1"), ("+ 1", "- 1")):
        done = loop(shop=(old, new))
        verdicts.append((done.report["verdict"], done.report["breaker"]["state"], signals(done)))
        prompts.append(done.prompt)
    assert verdicts == [
        ("no-progress", "closed", []),
        ("no-progress", "half_open", ["repeated-failure"]),
        ("stuck", "open", ["repeated-failure"]),
    ]
    assert "The value follows the edits of `total` (`shop.py`)" in prompts[1]
    assert "Got `5`, `7`, `5`; wanted `6`." in prompts[2]
    assert "For a person: is `6` right in `test_shop.py::test_total`?" in prompts[2]
    assert done.report["decision"] == {"action": "stop", "reason": "stuck"}
    assert "run 4 of this loop: stuck" in done.summary[0]
    assert done.ret == 1


def test_comments_are_no_edit(loop):
    loop()
    done = loop(shop=("return sum(items) + 1", "return sum(items) + 1  # really?"))
    assert done.says("Only comments, formatting, docstrings or prose changed since the run before.")
    done = loop(shop=("really?", "indeed."))
    assert signals(done) == ["no-effective-edit"]


@pytest.mark.slow
def test_nothing_edited(loop):
    loop()
    done = loop()
    assert done.says("No file of the project changed since the run before.")
    assert signals(done) == []
    assert signals(loop()) == ["no-edit"]
    assert loop().report["verdict"] == "stuck"


def test_a_subset_updates_what_it_ran_only(loop):
    loop()
    done = loop("-k", "total", shop=("+ 1", "+ 0"))
    assert done.ret == 0
    assert done.report["verdict"] == "progress"
    assert progress(done) == {"fixed": 1, "not_run": 1}
    assert done.title == "# 1 earlier failure not run again, 1 passes (exit 0)"
    assert done.rerun.endswith("test_shop.py::test_mean")
    assert done.report["decision"]["action"] == "continue"


def test_a_skip_is_no_fix(loop):
    loop()
    done = loop(test_shop=("def test_mean", "@pytest.mark.skip\ndef test_mean"))
    assert signals(done) == ["test-tampering"]
    assert done.says("## Tests that were changed", "`test_shop.py::test_mean` (no longer run)")
    done = loop(shop=("+ 1", "+ 0"))
    assert done.report["verdict"] == "green"
    assert done.report["decision"] == {"action": "continue", "reason": "test-tampering"}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("def test_mean():\n    assert shop.mean([]) == 0", ""), "`test_shop.py::test_mean` (deleted)"),
        (("assert shop.mean([]) == 0", "shop.mean([])"), "`test_shop.py::test_mean` (weakened)"),
        (("def test_mean", "def check_mean"), "`test_shop.py::test_mean` (no longer run)"),
    ],
)
def test_what_is_done_to_a_test_is_told(loop, edit, said):
    loop()
    done = loop(test_shop=edit)
    assert signals(done) == ["test-tampering"]
    assert done.says(said)


def test_a_renamed_file_keeps_its_failures(loop, pytester):
    loop()
    (pytester.path / "test_shop.py").rename(pytester.path / "test_renamed.py")
    done = loop()
    assert progress(done) == {"unresolved": 2}
    assert signals(done) == []


def test_a_test_that_is_fixed_and_moved_at_once_is_fixed(loop, pytester):
    loop()
    (pytester.path / "test_shop.py").rename(pytester.path / "test_renamed.py")
    done = loop(shop=("+ 1", "+ 0"))
    assert progress(done) == {"fixed": 1, "unresolved": 1}


def test_a_case_of_another_test_does_not_stand_for_one_that_did_not_run(loop, pytester):
    case = "import pytest\n@pytest.mark.parametrize('x', [1, 2])\ndef test_add(x): assert x != {}\n"
    for name, failing in (("int", 1), ("float", 2)):
        (pytester.path / f"test_{name}.py").write_text(case.format(failing))
    loop()
    done = loop("test_float.py::test_add[1]", "test_int.py::test_add[2]")
    assert progress(done) == {"not_run": 4}
    assert "passes" not in done.prompt.partition("\n")[2]


def test_a_file_that_cannot_be_collected_hides_no_progress(loop):
    loop()
    done = loop(test_shop=("import shop", "import shopp"))
    assert progress(done)["new"] == 1
    done = loop(test_shop=("import shopp", "import shop"))
    assert progress(done) == {"fixed": 1, "unresolved": 2}


def test_stopping_at_the_first_failure(loop):
    done = loop("-x")
    assert progress(done) == {"new": 1}
    done = loop("-x", shop=("+ 1", "+ 0"))
    assert done.report["verdict"] == "progress"
    assert progress(done) == {"fixed": 1, "new": 1}


@pytest.mark.slow
def test_workers_tell_the_same(loop, run, pytester):
    loop()
    done = run({}, "-n2", remembers=True, own_process=True, plugins=("xdist",))
    assert progress(done) == {"unresolved": 2}
    text = (pytester.path / "shop.py").read_text()
    (pytester.path / "shop.py").write_text(text.replace("+ 1", "+ 0"))
    done = run({}, "-n2", remembers=True, own_process=True, plugins=("xdist",))
    assert progress(done) == {"fixed": 1, "unresolved": 1}


def test_off_means_off(run, pytester):
    for _ in range(2):
        done = run(PROJECT, "--loop-close-history=off")
    assert "of this loop" not in done.prompt
    assert not (pytester.path / ".loop-close" / "history.sqlite3").exists()


def test_sources_have_an_episode_each(loop, monkeypatch):
    monkeypatch.setenv("TOX_ENV_NAME", "py311")
    loop()
    monkeypatch.setenv("TOX_ENV_NAME", "py312")
    done = loop()
    assert done.report["verdict"] == "first-failure"
    assert done.report["source"] == "pytest:py312"
    monkeypatch.setenv("TOX_ENV_NAME", "py311")
    done = loop(shop=("+ 1", "+ 0"))
    assert done.says("Run 2 of this loop: 1 fixed, 1 unresolved.", "| 2 | `total`: ")
    monkeypatch.setenv("TOX_ENV_NAME", "py312")
    assert loop().says("Run 2 of the loop of `pytest:py312`: 1 fixed, 1 unresolved.", "| 2 | `total`: ")


def test_another_interpreter_is_another_source(loop, monkeypatch):
    loop()
    monkeypatch.setattr(session, "interpreter", lambda: "cpython-3.99")
    done = loop()
    assert done.report["source"] == "pytest:cpython-3.99-linux"
    assert "of this loop" not in done.prompt
    assert "No file of the project changed" not in done.prompt
    done = loop(shop=("+ 1", "+ 0"))
    assert done.says("Run 2 of this loop: 1 fixed, 1 unresolved.")
    monkeypatch.setattr(session, "interpreter", INTERPRETER)
    done = loop()
    assert done.report["source"] == "pytest"
    assert done.says("Run 2 of the loop of `pytest`: 1 fixed, 1 unresolved.")


def test_green_runs_of_two_interpreters_are_two_sources(loop, run, monkeypatch):
    run({**OTHERS, "shop.py": OTHERS["shop.py"].replace("return 0", "return 1")}, remembers=True)
    monkeypatch.setattr(session, "interpreter", lambda: "pypy-3.11")
    done = loop(shop=("first(): return 1", "first(): return 0"))
    assert done.report["source"] == "pytest:pypy-3.11-linux"


def test_a_shard_updates_only_what_it_ran(loop, run):
    run({**PROJECT, "conftest.py": SHARDS}, "--splits", "2", "--group", "1", remembers=True)
    done = loop("--splits", "2", "--group", "2")
    assert progress(done) == {"new": 1, "not_run": 1}
    done = loop("--splits", "2", "--group", "2", shop=("if items else None", "if items else 0"))
    assert progress(done) == {"fixed": 1, "not_run": 1}
    assert done.report["verdict"] != "green"


@pytest.mark.parametrize(
    ("variable", "value", "source"),
    [
        ("NOX_CURRENT_SESSION", "tests-3.12", "pytest:tests-3.12"),
        ("HATCH_ENV_ACTIVE", "py312", "pytest:py312"),
        ("HATCH_ENV_ACTIVE", "default", "pytest"),
    ],
)
def test_an_environment_is_a_source(loop, monkeypatch, variable, value, source):
    monkeypatch.delenv("TOX_ENV_NAME", raising=False)
    monkeypatch.setenv(variable, value)
    assert loop().report["source"] == source


def test_a_green_source_does_not_hide_a_red_one(loop, pytester, monkeypatch):
    monkeypatch.setenv("TOX_ENV_NAME", "py311")
    loop()
    monkeypatch.setenv("TOX_ENV_NAME", "lint")
    done = loop("-k", "nothing or total", shop=("+ 1", "+ 0"))
    assert "Not green on the same files" not in done.prompt  # the code is another one
    assert done.says("Not green, and not run on these files: `pytest:py311` (first-failure in its run 1).")
    monkeypatch.setenv("TOX_ENV_NAME", "py311")
    loop()
    monkeypatch.setenv("TOX_ENV_NAME", "lint")
    done = loop("-k", "total")
    assert done.title.startswith("# 1 test fails, 1 passes")
    assert done.says(
        "- `pytest:py311`: 1 test fails, 1 passes", "- Green: `pytest:lint`", "Fails on `pytest:py311`."
    )
    assert done.summary[0] == "loop-close: the tests pass: 1 passed"
    assert done.summary[1].startswith(
        "loop-close: not green either, on the same files: pytest:py311 (1 test fails"
    )
    assert done.report["decision"] == {"action": "continue", "reason": ""}
    (pytester.path / ".loop-close" / "reports" / "pytest@py311.json").write_text("{")
    done = loop("-k", "total")
    assert done.title == "# The tests pass: 1 passed"
    assert done.says("Not green on the same files: `pytest:py311` (progress in its run 2).")
    assert done.report["decision"] == {"action": "continue", "reason": "elsewhere"}


def test_a_broken_history_is_set_aside_and_said(loop, pytester):
    loop()
    history = pytester.path / ".loop-close" / "history.sqlite3"
    history.write_bytes(b"no database at all" * 100)
    done = loop()
    assert done.says("Note: ", "renamed to history.sqlite3.broken-1")
    assert done.report["verdict"] == "first-failure"
    assert history.with_name("history.sqlite3.broken-1").read_bytes().startswith(b"no database")
    assert loop().says("Run 2 of this loop")


def test_a_newer_history_is_left_alone(loop, pytester):
    loop()
    history = pytester.path / ".loop-close" / "history.sqlite3"
    connection = sqlite3.connect(history)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = history.read_bytes()
    done = loop()
    assert done.ret == 1
    assert done.says("was written by a newer loop-close", "this run is not recorded")
    assert history.read_bytes() == before


@pytest.mark.parametrize("at", ["take_snapshot", "Memory._record"])
def test_a_fault_of_ours_costs_a_note(loop, monkeypatch, at):
    def fail(*args):
        raise ZeroDivisionError("ours")

    loop()
    monkeypatch.setattr(f"loop_close.remember.{at}", fail)
    done = loop()
    assert done.ret == 1
    assert done.says("internal error of loop-close: ZeroDivisionError: ours; this run is not recorded")
    monkeypatch.undo()


def test_a_killed_run_is_known_at_the_next(run, pytester):
    pytester.makepyfile(
        test_a="""
        import os, pathlib, time

        def test_a():
            pathlib.Path("started").touch()
            while os.environ.get("HANG"):
                time.sleep(0.01)
            assert 1 == 2
        """
    )
    run({"pytest.ini": ""}, remembers=True)
    (pytester.path / "started").unlink()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--loop-close"],
        env={**os.environ, "HANG": "1"},
        stdout=subprocess.DEVNULL,
    )
    while not (pytester.path / "started").exists():
        time.sleep(0.01)
    assert (pytester.path / "nextprompt.md").read_text().startswith("# Tests are running")
    process.kill()
    process.wait()
    done = run({}, remembers=True)
    assert done.says("Note: `run 2 started but did not finish`", "| 2 | ")
    assert done.report["progress"]["position"] == 3


def test_what_the_tests_write_is_no_edit(run, pytester):
    files = {
        "pytest.ini": "",
        "test_a.py": """
            import pathlib, uuid

            def test_a():
                pathlib.Path("out.json").write_text(str(uuid.uuid4()))
                assert 1 == 2
            """,
    }
    run(files, remembers=True)
    done = run({}, remembers=True)
    assert done.report["progress"]["edit"] == "none"


def test_conftest_that_breaks_is_part_of_the_loop(loop, pytester):
    loop()
    (pytester.path / "conftest.py").write_text("import nonsense_that_is_not_there\n")
    done = loop()
    assert done.says("nonsense_that_is_not_there", "Run 2 of this loop: 1 new", "2 not run")
    (pytester.path / "conftest.py").unlink()
    assert loop().says("Run 3 of this loop: 1 fixed, 2 unresolved.")


@pytest.mark.slow
def test_two_runs_at_once_are_both_remembered(run, pytester):
    run({**PROJECT}, remembers=True)
    command = [sys.executable, "-m", "pytest", "--loop-close", "-q"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in started] == [1] * 4
    done = run({}, remembers=True)
    assert done.report["progress"]["position"] == 6


@pytest.mark.parametrize(
    "words",
    [
        ("--deselect=test_shop.py::test_total",),
        ("--ignore", "test_shop.py"),
        ("-o", "python_functions=nothing*"),
    ],
)
def test_a_run_of_fewer_tests_is_not_one_of_all(loop, pytester, words):
    (pytester.path / "test_other.py").write_text("def test_other(): pass\n")
    loop()
    done = loop(*words, shop=("else None", "else 0"))
    assert done.report["verdict"] != "green"
    assert signals(done) == []


def test_a_run_from_below_the_root_is_not_one_of_all(loop, pytester, monkeypatch):
    loop()
    (pytester.path / "other").mkdir()
    (pytester.path / "other" / "test_other.py").write_text("def test_other(): pass\n")
    monkeypatch.chdir(pytester.path / "other")
    done = loop("--loop-close-json=../report.json")
    assert done.title == "# 2 earlier failures not run again, 1 passes (exit 0)"


def test_what_passed_before_the_last_edit_may_be_broken(loop):
    loop()
    loop(shop=("+ 1", "+ 0"))
    done = loop("--deselect=test_shop.py::test_total", shop=("else None", "else 0"))
    assert done.report["verdict"] == "green"
    assert done.says(
        "1 test that had failed passes after 3 runs: `test_shop.py::test_mean`.",
        "The other tests did not run.",
    )
    assert done.report["decision"] == {"action": "continue", "reason": "subset"}
    assert loop().report["verdict"] == "green"


@pytest.mark.slow
def test_code_outside_of_the_root_is_looked_at(run, pytester):
    subprocess.run(["git", "init", "-q", "."], cwd=pytester.path, check=True)
    files = {
        "tests/pytest.ini": "[pytest]\npythonpath = ..\n",
        "beside.py": "def f(): return 1\n",
        "tests/test_a.py": "import beside\n\ndef test_a(): assert beside.f() == 3\n",
    }
    command = ("--rootdir=tests", "-c", "tests/pytest.ini", "tests", "--loop-close-file=nextprompt.md")
    run(files, *command, remembers=True, own_process=True)
    (pytester.path / "beside.py").write_text("def f(): return 22\n")
    done = run({}, *command, remembers=True, own_process=True)
    assert done.says("| 2 | `f`: `def f(): return 1` → `def f(): return 22` | 1 with other values; 1 fails |")


@pytest.mark.slow
def test_a_child_of_a_test_does_not_remember_the_run(run):
    files = {
        "pytest.ini": "",
        "test_a.py": """
            import os

            def test_a():
                child = os.fork()
                if child:  # which goes on to the end of the run
                    os.waitpid(child, 0)
                assert 1 == 2
            """,
    }
    for _ in range(2):
        done = run(files, "-p", "no:warnings", remembers=True, own_process=True)
    done = run({"test_a.py": "def test_a(): assert 1 == 2"}, remembers=True, own_process=True)
    assert done.report["progress"]["position"] == 3


@pytest.mark.slow
def test_descriptors_that_tests_close_are_not_ours(run):
    files = {
        "pytest.ini": "",
        "test_a.py": "import os\n\ndef test_a():\n    os.closerange(3, 300)\n    assert 1 == 2\n",
    }
    for _ in range(2):
        done = run(files, "-s", remembers=True, own_process=True)
    assert done.says("Run 2 of this loop: 1 unresolved.")


def test_ctrl_c_at_our_end_leaves_the_evidence(loop, monkeypatch):
    from loop_close.remember import Memory

    def interrupted(*args):
        raise KeyboardInterrupt

    loop()
    monkeypatch.setattr(Memory, "_record", interrupted)
    done = loop(is_prompt=False)
    assert done.ret == 1
    assert done.title.startswith("# loop-close could not read this run")
    assert "test_shop.py::test_total" in done.prompt


def test_a_mistyped_path_is_no_run(loop):
    loop("tests_typo.py")
    done = loop()
    assert done.report["verdict"] == "first-failure"
    assert done.report["progress"]["position"] == 1


@pytest.mark.slow
def test_odd_escapes_in_values_and_sources_warn_nobody(run):
    """A value that a message shows, a module that gives None: what the parser says of them is not shown."""
    files = {
        "src/shop.py": 'PATTERN = "\\."\n\ndef price(item):\n    if item:\n        return\n    return 1\n',
        "test_shop.py": """
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from shop import price

        class Odd:
            def __repr__(self):
                return '"\\\\."'

        def test_value():
            assert Odd() == "b"

        def test_none():
            assert price(1) + 1 == 2
        """,
        "pytest.ini": "[pytest]\npythonpath = src\n",
    }
    for _ in range(2):
        done = run(files, remembers=True, own_process=True)
        assert "SyntaxWarning" not in done.stdout + done.stderr
        assert "DeprecationWarning" not in done.stdout + done.stderr
    assert done.report["progress"]["position"] == 2


WORDINGS = """
import pytest
class Box:
    def __init__(self, value): self.value = value
    def __repr__(self): return f"Box({self.value})"
def check(left, right):
    __tracebackhide__ = True
    assert left == right
@pytest.fixture
def broken(): assert Box([*range(100)]) == 3
def test_box(): assert Box([*range(100)]) == Box([*range(99)])
def test_list(): assert [{"id": n} for n in range(40)] == [{"id": n} for n in range(41)]
def test_text(): assert "a\\n" * 50 + "x" == "a\\n" * 50 + "y"
def test_set(): assert {*range(60)} == {*range(1, 61)}
def test_helper(): check([*range(100)], [*range(101)])
def test_fixture(broken): pass
def test_wrapped():
    try: assert Box([*range(100)]) == 3
    except AssertionError as error: raise ValueError(f"wrapped: {error}") from error
def test_raises():
    with pytest.raises(ValueError, match="x"): raise ValueError("y" * 400)
"""
#: Says it in other words, as pytest-clarity does.
CLARITY = """
def pytest_assertrepr_compare(op, left, right):
    return ["other words", f"left: {left}", f"right: {right}"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("-vv",), ("--tb=short",), ("--tb=no", "-q"), ("--tb=native", "-l"), ("--full-trace",), ("clarity",)],
)
@pytest.mark.parametrize("is_edited", [True, False])
def test_what_only_changes_the_wording_changes_no_failure(run, options, is_edited):
    run({"test_a.py": WORDINGS}, remembers=True)
    files = {"test_a.py": f"{WORDINGS}# edited\n" if is_edited else WORDINGS}
    if options == ("clarity",):
        files, options = {**files, "conftest.py": CLARITY}, ()
    done = run(files, *options, remembers=True)
    found = done.report["progress"]
    assert (found["fixed"], found["new"], found["changed"]) == ([], [], [])
    assert len(found["unresolved"]) == 8


def test_a_run_of_other_tests_is_no_attempt(run):
    files = {"test_a.py": "def test_a(): assert 1 == 2\n", "test_b.py": "def test_b(): assert 3 == 4\n"}
    run(files, "test_a.py", remembers=True)
    done = run({}, "test_b.py", remembers=True)
    assert done.says("Run 2 of this loop: 1 new, 1 not run. It ran other tests than the run before")
    assert "No progress" not in done.prompt
    assert "No file of the project changed" not in done.prompt
