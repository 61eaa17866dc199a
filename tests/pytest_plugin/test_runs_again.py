"""Pytest run again and again on a project that is edited: what is recorded, whatever happens to a run."""

import os
import subprocess
import sys
import time

import pytest

from loop_close.store import Store, StoreError

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


def rows(folder):
    """The runs in the history, oldest first."""
    with Store.open(folder / ".loop-close" / "history.sqlite3", readonly=True) as store:
        return store.runs()


def effect(done):
    """What the last run changed, by numbers of tests."""
    found = done.report["loop"]["steps"][-1]["effect"]
    return {name: len(tests) for name, tests in found.items() if isinstance(tests, list)}


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


def test_a_loop_from_red_to_green(loop, pytester):
    done = loop()
    assert "Run 1" not in done.prompt
    done = loop(shop=("+ 1", "+ 0"))
    assert effect(done) == {"fixed": 1, "unresolved": 1}
    assert done.says(
        "| 2 | `total`: `return sum(items) + 1` → `return sum(items) + 0` | 1 fixed, 1 unresolved; 1 fails |"
    )
    done = loop(shop=("else None", "else 0"))
    assert (done.ret, done.report["verdict"]) == (0, "green")
    found = rows(pytester.path)
    assert [(run.number, run.exit_code, run.is_green, run.is_finished) for run in found] == [
        (1, 1, False, True),
        (2, 1, False, True),
        (3, 0, True, True),
    ]
    assert not any(run.is_done or run.check for run in found)
    assert {run.tree for run in found} == {run.tree_after for run in found}
    assert found[2].outcomes == {
        done.report["source"]: {f"test_shop.py::test_{n}": "passed" for n in ("total", "mean")}
    }


def test_three_attempts_that_do_not_advance_are_stuck(loop):
    loop()
    for edit in (("+ 1", "- 1"), ("- 1", "+ 2"), ("+ 2", "- 2")):
        done = loop(shop=edit)
    assert done.report["loop"]["stalled"] == 3
    assert "repeated-failure" in [each["kind"] for each in done.report["signals"]]
    assert done.ret == 1


@pytest.mark.slow
def test_workers_record_the_same(loop, run, pytester):
    workers = {"remembers": True, "own_process": True, "plugins": ("xdist",)}
    loop()
    done = run({}, "-n2", **workers)
    assert effect(done) == {"unresolved": 2}
    text = (pytester.path / "shop.py").read_text()
    (pytester.path / "shop.py").write_text(text.replace("+ 1", "+ 0"))
    assert effect(run({}, "-n2", **workers)) == {"fixed": 1, "unresolved": 1}
    first, second, _ = rows(pytester.path)
    assert (first.failures, first.outcomes) == (second.failures, second.outcomes)


def test_off_means_off(run, pytester):
    for _ in range(2):
        done = run(PROJECT, "--loop-close-history=off")
    assert (done.report["loop"], done.report["number"]) == (None, 0)
    assert not (pytester.path / ".loop-close" / "history.sqlite3").exists()


def test_a_broken_history_is_set_aside_and_said(loop, pytester):
    loop()
    history = pytester.path / ".loop-close" / "history.sqlite3"
    history.write_bytes(b"no database at all" * 100)
    done = loop()
    assert done.says("renamed to history.sqlite3.damaged-1")
    assert done.report["number"] == 1
    assert history.with_name("history.sqlite3.damaged-1").read_bytes().startswith(b"no database")
    assert loop().report["number"] == 2


@pytest.mark.parametrize("at", ["store.Store.begin", "store.Store.finish", "gate.take_tree"])
def test_a_run_that_cannot_be_recorded_costs_a_note(loop, monkeypatch, at):
    """As on a full disk."""

    def fail(*args):
        raise StoreError("database or disk is full")

    loop()
    monkeypatch.setattr(f"loop_close.{at}", fail)
    done = loop()
    monkeypatch.undo()
    assert done.ret == 1
    assert done.says("assert 7 == 6", "this run is not recorded: database or disk is full")


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
    assert done.report["number"] == 3
    assert [each.is_finished for each in rows(pytester.path)] == [True, False, True]


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
    run({}, remembers=True)
    assert rows(pytester.path)[-1].edits.kind == "none"


@pytest.mark.slow
def test_two_runs_at_once_are_both_remembered(run, pytester):
    run({**PROJECT}, remembers=True)
    command = [sys.executable, "-m", "pytest", "--loop-close", "-q"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in started] == [1] * 4
    assert [(each.number, each.is_finished) for each in rows(pytester.path)] == [
        (n, True) for n in range(1, 6)
    ]


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
        assert done.stdout.count("loop-close: next prompt") == 1
    assert done.report["number"] == 2


@pytest.mark.slow
def test_descriptors_that_tests_close_are_not_ours(run):
    files = {
        "pytest.ini": "",
        "test_a.py": "import os\n\ndef test_a():\n    os.closerange(3, 300)\n    assert 1 == 2\n",
    }
    for _ in range(2):
        done = run(files, "-s", remembers=True, own_process=True)
    assert done.report["number"] == 2


def test_ctrl_c_at_our_end_leaves_the_evidence(loop, monkeypatch):
    def interrupted(*args, **kinds):
        raise KeyboardInterrupt

    loop()
    monkeypatch.setattr("loop_close.app.conclude", interrupted)
    done = loop(is_prompt=False)
    monkeypatch.undo()
    assert done.ret == 1
    assert done.title.startswith("# loop-close could not read this run")
    assert "test_shop.py::test_total" in done.prompt


def test_a_mistyped_path_is_no_run(loop):
    loop("tests_typo.py")
    done = loop()
    assert (done.report["number"], len(done.report["loop"]["steps"])) == (1, 1)


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
    assert done.report["number"] == 2


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
    [
        *(("-vv",), ("--tb=short",), ("--tb=no", "-q"), ("--tb=native", "-l"), ("--full-trace",)),
        pytest.param(
            ("clarity",),
            marks=pytest.mark.xfail(
                reason="the first words of an explanation by another plugin are in the key"
            ),
        ),
    ],
)
@pytest.mark.parametrize("is_edited", [True, False])
def test_what_only_changes_the_wording_changes_no_failure(run, options, is_edited):
    run({"test_a.py": WORDINGS}, remembers=True)
    files = {"test_a.py": f"{WORDINGS}# edited\n" if is_edited else WORDINGS}
    if options == ("clarity",):
        files, options = {**files, "conftest.py": CLARITY}, ()
    done = run(files, *options, remembers=True)
    assert effect(done) == {"unresolved": 7}
