"""The tests at the start of a loop, as the history keeps them."""

import pytest
from history_cases import ask, begin, save

from loop_close.memory import Episode, Run
from loop_close.store import NewBaseline, project
from loop_close.store.prune import Bounds, prune
from loop_close.store.sqlite import open_history

FILES = {"test_a.py": "d1", "src.py": "s1", "pytest.ini": "i1"}
CONTENTS = {"d1": b"one", "s1": b"code"}
NEW = NewBaseline(
    files={"test_a.py": ("d1", "d1"), "pytest.ini": ("i1", "kept")}, contents={"kept": b"[pytest]"}
)


def started(history, files, contents=(), source="pytest"):
    return begin(history, source, files, dict(contents))


@pytest.fixture
def history(path):
    with open_history(path) as history:
        begun = started(history, FILES, CONTENTS)
        assert begun.tests is None
        assert history.keep_green(begun, passed=1, skipped=0, baseline=NEW)
        yield history


def test_files_that_differ_are_told_by_what_they_held(history):
    assert started(history, FILES).tests == ()
    files = {"test_a.py": "d2", "src.py": "s2", "conftest.py": "c1"}
    assert started(history, files).tests == (
        ("conftest.py", None, "c1"),
        ("pytest.ini", "kept", None),
        ("test_a.py", "d1", "d2"),
    )
    assert history.baseline("pytest") == {"test_a.py": "d1", "pytest.ini": "kept"}
    assert [history.content(digest) for digest in ("d1", "kept")] == [b"one", b"[pytest]"]


def test_files_that_are_no_tests_differ_in_nothing(history):
    begun = started(history, {**FILES, "src.py": "s2"})
    assert begun.tests == ()
    assert started(history, None).tests == ()


def test_each_source_has_its_own(history):
    begun = started(history, FILES, source="mypy")
    assert begun.tests is None
    save(history, begun, 1)
    assert started(history, FILES, source="mypy").tests is None
    assert history.baseline("mypy") == {}


def test_red_run_may_begin_one(path):
    with open_history(path) as history:
        begun = started(history, FILES, CONTENTS)
        with history.transaction(begun) as transaction:
            transaction.save(Run(number=1), Episode(), {}, baseline=NEW)
        assert started(history, FILES).tests == ()


def test_it_moves(history):
    begun = started(history, {"test_a.py": "d2"}, {"d2": b"two"})
    new = NewBaseline(files={"test_a.py": ("d2", "d2")}, contents={})
    assert history.keep_green(begun, passed=1, skipped=0, baseline=new)
    assert started(history, {"test_a.py": "d2"}).tests == ()
    assert started(history, FILES).tests == (("pytest.ini", None, "i1"), ("test_a.py", "d2", "d1"))


def test_its_contents_outlive_the_files(history, path):
    for number in range(4):
        save(history, started(history, {"test_a.py": f"x{number}"}, {f"x{number}": b"x"}))
    history.database.write(lambda connection: prune(connection, Bounds(runs=1, bytes=1 << 20)))
    assert history.content("kept") == b"[pytest]"
    history.reset("pytest")
    assert ask(path, "SELECT count(*) FROM baselines") == [(0,)]


def test_reset_forgets_what_was_accepted(history):
    history.accept({"f": {"id": "test_a.py"}}, 3.0)
    assert history.accepted() == {"f": {"id": "test_a.py"}}
    history.reset()
    assert history.accepted() == {}
    assert started(history, FILES).tests is None


def test_accepted_changes_are_bounded(history, monkeypatch):
    monkeypatch.setattr(project, "_MOST_ACCEPTED", 2)
    for number in range(4):
        history.accept({f"f{number}": {}}, float(number))
    assert sorted(history.accepted()) == ["f2", "f3"]


def test_damaged_baseline_is_damage_of_the_file(history, path):
    ask(path, "DELETE FROM baselines WHERE path = ''")
    assert started(history, FILES).number == 1  # in a new file
    assert "was renamed to" in history.notes[0]
