import os
from sqlite3 import SQLITE_DELETE

import pytest
from benchmarks.many_runs import many_runs
from history_cases import ask, begin, mark, numbers, red, save

from loop_close.store.sqlite import open_history


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite3"


def consistent(path):
    """Nothing is kept that nobody refers to, nothing is missing that somebody refers to."""
    lost = "SELECT count(*) FROM failures WHERE mark NOT IN (SELECT id FROM marks)"
    orphans = "SELECT count(*) FROM failures WHERE run NOT IN (SELECT id FROM runs)"
    return [ask(path, query)[0][0] for query in (lost, orphans)] == [0, 0] and ask(
        path, "PRAGMA integrity_check"
    ) == [("ok",)]


@pytest.mark.slow
def test_oldest_runs_go_and_numbers_are_not_used_again(path):
    with open_history(path, max_runs=20) as history:
        for index in range(200):
            save(history, begin(history), marks=(mark(index),))
            assert len(history.runs("pytest", 999)) <= 20 + 64
        kept = numbers(history.runs("pytest", 999))
        assert kept == list(range(kept[0], 201))
        assert begin(history).number == 201
    assert consistent(path)
    assert ask(path, "SELECT count(*) FROM marks")[0][0] <= 20 + 64 + 16


@pytest.mark.slow
def test_file_stays_below_its_bound(path):
    bound = 400_000
    with open_history(path, max_bytes=bound) as history:
        sizes = []
        for run in range(150):
            marks = tuple(mark(1_000 * run + index, message="x" * 200) for index in range(40))
            save(
                history,
                begin(history, files={"a": str(run)}, contents={str(run): os.urandom(3_000)}),
                marks=marks,
            )
            sizes.append(path.stat().st_size)
        assert max(sizes) > bound * 0.9
        assert max(sizes[50:]) < bound * 1.15
        assert 3 < len(history.runs("pytest", 999)) < 100
        assert history.notes == []
        assert history.changes_since_last(begin(history, files={"a": "new"})) == (("a", "149", "new"),)
    assert consistent(path)


@pytest.mark.slow
def test_runs_of_the_current_episode_stay(path):
    with open_history(path, max_runs=5) as history:
        for _ in range(200):
            begun = begin(history)
            save(history, begun, steps=min(begun.number, 120))
        kept = numbers(history.runs("pytest", 999))
        assert set(range(101, 201)) <= set(kept)
        assert len(kept) < 100 + 64 + 10
        for _ in range(200):
            save(history, begin(history))
        assert len(history.runs("pytest", 999)) <= 5 + 64
    assert consistent(path)


@pytest.mark.slow
def test_marks_of_an_old_episode_stay_with_its_runs(path):
    with open_history(path, max_runs=40) as history:
        for index in range(300):
            if index % 30 == 0:
                begun = begin(history, "slow")
                save(history, begun, 3, steps=begun.number)
            save(history, begin(history, "quick"), marks=(mark(index + 10),))
        assert len(history.runs("quick", 999)) < 40 + 64
        assert [len(run.marks) for run in history.recorded("slow", 99)] == [3] * 10
    assert consistent(path)


@pytest.mark.slow
def test_episode_of_a_source_that_is_no_longer_run_does_not_stay_for_ever(path):
    with open_history(path, max_runs=10) as history:
        for _ in range(10):
            begun = begin(history, "old")
            save(history, begun, 3, steps=begun.number)
        for _ in range(200):
            save(history, begin(history, "new"))
        assert history.runs("old") == ()
        assert begin(history, "old").number == 11
        assert begin(history, "old").watched


@pytest.mark.large
def test_runs_under_way_stay(path):
    with open_history(path, max_runs=10) as history:
        begun = begin(history, "slow")
        for _ in range(200):
            save(history, begin(history, is_alive=lambda pid, birth: True))
        save(history, begun)
        assert [row.state for row in history.runs("slow")] == ["done"]


@pytest.mark.large
def test_contents_that_no_run_needs_go(path):
    with open_history(path, max_runs=10) as history:
        save(history, begin(history, files={"a": "first"}, contents={"first": b"1"}))
        for index in range(130):
            digest = f"d{index}"
            save(history, begin(history, files={"a": digest}, contents={digest: b"x"}))
        assert [history.content(digest) for digest in ("first", "d0", "d129")] == [None, None, b"x"]
    assert ask(path, "SELECT count(*) FROM blobs")[0][0] < 70


@pytest.mark.slow
def test_changes_stay_as_long_as_a_source_needs_them(path):
    with open_history(path) as history:
        save(history, begin(history, "slow", files={"a": "0"}, contents={"0": b"x"}))
        for index in range(1, 200):
            save(history, begin(history, "quick", files={"a": str(index)}))
        assert history.content("0") == b"x"
        assert history.changes_since_last(begin(history, "slow", files={"a": "x"})) == (("a", "0", "x"),)


@pytest.mark.slow
def test_source_that_has_not_run_for_long_is_not_told_what_changed(path):
    with open_history(path) as history:
        save(history, begin(history, "slow", files={"a": "0"}))
        for index in range(1, 700):
            history.abandon(begin(history, "quick", files={"a": str(index)}))
        for _ in range(65):
            save(history, begin(history, "quick", files={"a": "700"}))
        assert history.changes_since_last(begin(history, "slow", files={"a": "x"})) is None


def green(history, **kinds):
    """A green run of all tests."""
    begun = begin(history, **kinds)
    assert history.keep_green(begun, passed=1, skipped=0)
    return begun


@pytest.mark.slow
def test_what_a_long_episode_is_compared_with_stays(path):
    with open_history(path, max_runs=5) as history:
        green(history, files={"a": "0"}, contents={"0": b"x"})
        for index in range(1, 200):
            begun = begin(history, files={"a": str(index)})
            save(history, begun, steps=begun.number - 1)
        since = history.since_green(begun, 2, ("",))
        assert (since.run, since.changes) == (1, (("a", "0", "199"),))
        assert history.content("0") == b"x"
        first, second, *_ = numbers(history.runs("pytest", 999))
        assert first == 1 < 50 < second
    assert consistent(path)


@pytest.mark.slow
def test_what_was_green_too_long_ago_goes(path):
    with open_history(path, max_runs=5) as history:
        green(history, files={"a": "0"})
        for index in range(1, 700):
            history.abandon(begin(history, "quick", files={"a": str(index)}))
        for _ in range(65):
            begun = begin(history, files={"a": "700"})
            save(history, begun)
        assert history.since_green(begun, 2, ("",)).changes is None


@pytest.mark.slow
def test_older_green_runs_go(path):
    with open_history(path, max_runs=5) as history:
        for index in range(200):
            green(history, files={"a": str(index)})
        assert len(history.runs("pytest", 999)) <= 5 + 64
        assert ask(path, "SELECT snapshot - floor < 70 FROM project") == [(1,)]
        green(history, source="other")
        for _ in range(200):
            green(history)
        assert history.runs("other", 9) == ()


def test_contents_go_when_there_is_nothing_else(path):
    with open_history(path, max_bytes=200_000) as history:
        sizes = [10_000] * 4 + [300_000]
        contents = {f"d{index}": os.urandom(size) for index, size in enumerate(sizes)}
        files = {f"f{index}": f"d{index}" for index in range(5)}
        for index in range(6):
            save(
                history, begin(history, files=files, contents=contents if index == 0 else {}), steps=index + 1
            )
        assert [history.content(f"d{index}") is None for index in range(5)] == [False] * 4 + [True]
        assert history.files().keys() == files.keys()
    assert path.stat().st_size < 250_000


@pytest.mark.slow
def test_one_pruning_takes_a_part_only(path):
    red(path)
    many_runs(path, 2_000, 1)
    with open_history(path, max_runs=10) as history:
        save(history, begin(history))
        assert len(history.runs("pytest", 9_999)) == 2_002 - 300
        for _ in range(64 * 15):
            save(history, begin(history))
        assert len(history.runs("pytest", 9_999)) <= 74
    assert consistent(path)


def test_pruning_that_fails_is_no_more_than_a_note(path):
    red(path)
    many_runs(path, 100, 1)
    with open_history(path, max_runs=10) as history:
        begun = begin(history)
        history.database.connection.set_authorizer(
            lambda action, name, *_: 1 if (action, name) == (SQLITE_DELETE, "runs") else 0
        )
        save(history, begun)
        assert history.notes == [
            "old runs could not be removed: cannot write history.sqlite3: not authorized"
        ]
        assert history.runs("pytest", 1)[0].state == "done"
