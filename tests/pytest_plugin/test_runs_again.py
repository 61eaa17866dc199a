"""Pytest run again and again on a project that is edited: what is recorded, whatever happens to a run."""

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
    with Store(folder / ".loop-close" / "history.sqlite3", readonly=True) as store:
        return store.runs()


def effect(done):
    """What the last run changed, by numbers of tests."""
    found = done.report["loop"]["steps"][-1]
    return {name: len(tests) for name, tests in found.items() if isinstance(tests, list) and tests}


def test_a_loop_from_red_to_green(loop, pytester):
    done = loop()
    assert "Run 1" not in done.prompt
    done = loop(shop=("+ 1", "+ 0"))
    assert effect(done) == {"fixed": 1, "unresolved": 1}
    assert done.says(
        "| 2 | `total`: `return sum(items) + 1` → `return sum(items) + 0` | 1 fixed, 1 unresolved; 1 count as failing |"
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


def test_off_means_off(run, pytester):
    for _ in range(2):
        done = run(PROJECT, "--loop-close-history=off")
    assert (done.report["loop"]["steps"], done.report["number"]) == ([], 0)
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


def test_ctrl_c_at_our_end_is_told(loop, monkeypatch):
    def interrupted(*args, **kinds):
        raise KeyboardInterrupt

    loop()
    monkeypatch.setattr("loop_close.app.conclude", interrupted)
    done = loop(is_prompt=False)
    monkeypatch.undo()
    assert done.ret == 1
    assert done.title.startswith("# loop-close could not read this run")
