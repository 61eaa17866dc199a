import os
import stat
import subprocess
import sys
import threading

import pytest
from history_cases import Shared, ask, begin, entry, mark, numbers, red, save

from loop_close.memory import Episode, FailureRecord, Run
from loop_close.store import HistoryError
from loop_close.store.sqlite import open_history


@pytest.fixture(params=["sqlite", "postgresql"])
def history(path, request):
    """A history of this machine alone, and one whose runs are shared: the second has to keep the same contract."""
    if request.param == "sqlite":
        with open_history(path) as opened:
            yield opened
        return
    with Shared(path, request.getfixturevalue("database")) as opened:
        yield opened


def test_new_history_is_empty(history, path):
    assert history.files() == {}
    assert history.latest() == history.runs() == history.recorded("pytest", 9) == ()
    assert history.notes == []
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("mode", [None, 0o644])
def test_folder_is_made_and_nobody_else_may_read_the_file_unless_it_was_so(tmp_path, mode):
    path = tmp_path / "a" / "b" / "h"
    if mode:
        path.parent.mkdir(parents=True)
        path.touch()
        path.chmod(mode)
    open_history(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == (mode or 0o600)


def test_closing_twice_is_fine_and_what_is_closed_says_so(path):
    history = open_history(path)
    history.close()
    history.close()
    with pytest.raises(HistoryError, match=r"cannot write history\.sqlite3: "):
        history.files()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_run_is_remembered(history):
    begun = begin(history, now=5.0)
    assert (begun.number, begun.watched, begun.killed, begun.running) == (1, (), (), ())
    assert [row.state for row in history.runs()] == ["running"]
    run = save(history, begun, 3, now=7.5, exit_code=1, passed=4, skipped=2, omitted_marks=10)
    (row,) = history.runs()
    assert (row.number, row.source, row.state, row.started, row.ended) == (1, "pytest", "done", 5.0, 7.5)
    assert (row.exit_code, row.passed, row.skipped, row.failures) == (1, 4, 2, 13)
    assert row.summary == {"failed": 3}
    assert history.recorded("pytest", 9) == (run,)


def test_episode_is_given_to_the_next_run(history):
    save(history, begin(history), 2)
    begun = begin(history)
    assert begun.watched == ("test_a.py::test_0", "test_a.py::test_1")
    with history.transaction(begun) as transaction:
        assert [step.run for step in transaction.episode.steps] == [1]
        assert transaction.killed == ()
    assert begin(history, "other").watched == ()


def test_order_of_failures_and_equal_ones_survive(history):
    marks = (mark(2), mark(1), mark(2), FailureRecord(test="\ud800[\0]", message="ä" * 3_000))
    save(history, begin(history), marks=marks)
    assert history.recorded("pytest", 1)[0].marks == marks


def test_same_failure_is_stored_once(history, path):
    for _ in range(40):
        save(history, begin(history), 5)
    assert ask(path, "SELECT count(*) FROM marks") == [(5,)]
    assert ask(path, "SELECT count(*) FROM failures") == [(200,)]


def test_more_failures_than_sqlite_takes_parameters(history):
    run = save(history, begin(history), 2_500)
    assert history.recorded("pytest", 1) == (run,)


def test_sources_have_their_own_numbers_and_episodes(history):
    for source in ("pytest", "tox\udcff", "pytest"):
        save(history, begin(history, source))
    assert [(row.source, row.number) for row in history.runs()] == [
        ("pytest", 1),
        ("tox\udcff", 1),
        ("pytest", 2),
    ]
    assert numbers(history.runs("pytest")) == [1, 2]
    assert numbers(history.runs("pytest", limit=1)) == [2]
    assert {(row.source, row.number) for row in history.latest()} == {("pytest", 2), ("tox\udcff", 1)}
    assert numbers(history.latest("pytest")) == [2]
    assert history.latest("none") == ()


def test_turn_that_saves_nothing_or_fails_changes_nothing(history):
    begun = begin(history)
    with history.transaction(begun):
        pass
    with pytest.raises(RuntimeError, match="mine"):
        _fail_after_saving(history, begun)
    assert [row.state for row in history.runs()] == ["running"]
    save(history, begun)
    assert [row.state for row in history.runs()] == ["done"]


def _fail_after_saving(history, begun):
    with history.transaction(begun) as transaction:
        transaction.save(Run(number=1), Episode(first=1), {})
        raise RuntimeError("mine")


def test_abandoned_run_leaves_no_gap(history):
    save(history, begin(history))
    history.abandon(begin(history))
    begun, later = begin(history), begin(history)
    assert (begun.number, later.number) == (2, 3)
    history.abandon(begun)
    assert begin(history).number == 4
    assert numbers(history.runs()) == [1, 3, 4]


def test_abandoning_what_is_done_or_gone_does_nothing(history):
    begun = begin(history)
    save(history, begun)
    history.abandon(begun)
    assert numbers(history.runs()) == [1]
    history.reset()
    history.abandon(begun)
    assert begin(history).number == 1


@pytest.mark.parametrize(
    ("pid", "process", "now", "is_dead"),
    [
        (8, {}, 2.0, False),
        (9, {}, 2.0, True),
        (1, {}, 2.0, False),
        (1, {"birth": "b0"}, 2.0, True),
        (9, {"host": "there"}, 2.0, False),
        (9, {"host": "there"}, 86_402.0, True),
        (9, {"host": "there"}, -5.0, False),
    ],
    ids=["alive", "dead", "self", "reborn", "elsewhere", "elsewhere long ago", "clock set back"],
)
def test_who_is_taken_for_killed(history, pid, process, now, is_dead):
    begin(history, pid=pid, **process)
    begun = begin(history, now=now, is_alive=lambda pid, birth: pid == 8)
    assert begun.killed == ((1,) if is_dead else ())
    is_own = (pid, process) == (1, {})
    assert begun.running == (() if is_dead or is_own else (1,))
    assert history.runs()[0].state == ("killed" if is_dead else "running")


def test_killed_run_is_told_until_a_run_has_saved_it(history):
    begin(history, pid=7)
    first = begin(history)
    second = begin(history)
    assert first.killed == second.killed == (1,)
    begin(history, pid=7)
    fifth = begin(history, "pytest")
    assert fifth.killed == (1, 4)
    with history.transaction(second) as transaction:
        assert transaction.killed == (1,)
        transaction.save(Run(number=3), Episode(), {})
    with history.transaction(first) as transaction:
        assert transaction.killed == ()
    with history.transaction(fifth) as transaction:
        assert transaction.killed == (4,)


def test_killed_runs_are_replayed(history):
    begin(history, pid=7)
    run = save(history, begin(history))
    assert history.recorded("pytest", 9) == (Run(number=1, is_killed=True), run)
    assert history.recorded("pytest", 1) == (run,)


def test_run_that_was_taken_for_dead_can_still_be_saved(history):
    slow = begin(history, pid=7)
    begin(history)
    save(history, slow)
    assert [row.state for row in history.runs()] == ["done", "running"]


def test_running_runs_of_all_sources_are_told(history):
    begin(history, "a", pid=8)
    begin(history, "b", pid=8)
    assert begin(history, "b", is_alive=lambda pid, birth: True).running == (1, 1)


def test_the_source_that_advanced_since_the_run_before(history):
    def ran(source, advanced="", code="d1"):
        begun = begin(history, source, files={"a.py": code}, contents={code: code.encode()})
        found = history.advanced_since(begun)
        with history.transaction(begun) as transaction:
            run = Run(number=begun.number, source=source)
            transaction.save(run, Episode(), {"advanced": advanced}, now=2.0)
        return found

    none = "", ""
    ran("pytest", "fixed")
    assert ran("mypy") == none  # its first
    assert ran("mypy") == none
    ran("pytest", "later", code="d2")
    ran("ruff", code="d2")
    assert ran("mypy", code="d2") == ("pytest", "")
    assert ran("mypy", "elsewhere", code="d2") == none
    assert ran("ruff", code="d2") == none  # what only another source advanced is no progress again
    ran("pytest", "fixed", code="d2")
    assert ran("mypy", code="d3") == ("", "pytest")  # on the files that mypy saw before
    assert ran("mypy", code="d4") == none


def test_reset_of_a_source_leaves_the_others(history):
    for source in ("a", "b", "a"):
        save(history, begin(history, source))
    assert history.reset("a") == 2
    assert history.reset("a") == 0
    assert [row.source for row in history.runs()] == ["b"]
    begun = begin(history, "a")
    assert (begun.number, begun.watched) == (1, ())
    assert begin(history, "b").watched


def test_reset_empties_the_file(history, path):
    content = os.urandom(300_000)
    save(history, begin(history, files={"a": "d1"}, contents={"d1": content}), 500)
    before = path.stat().st_size
    assert history.reset() == 1
    assert path.stat().st_size < before / 4
    assert history.files() == {}
    assert history.runs() == ()
    assert history.content("d1") is None


@pytest.mark.parametrize("source", [None, "pytest"])
def test_run_under_way_survives_a_reset(history, path, source):
    begun = begin(history, files={"a": "d1"})
    with open_history(path) as other:
        assert other.reset(source) == 1
    run = save(history, begun)
    assert history.recorded("pytest", 9) == (run,)
    after = begin(history, files={"a": "d2"})
    assert after.number == 2
    assert history.changes_since_last(after) is None


def test_run_whose_number_was_given_again_after_a_reset_is_refused(history, path):
    begun = begin(history, now=1.0)
    history.reset()
    other = begin(history, now=2.0)
    with pytest.raises(HistoryError, match="the history was reset during the test run"):
        save(history, begun)
    run = save(history, other)
    assert history.recorded("pytest", 9) == (run,)


CHANGES = [
    ("nothing", [{"a": "1"}], ()),
    ("edited", [{"a": "2"}], (("a", "1", "2"),)),
    ("edited twice", [{"a": "2"}, {"a": "3"}], (("a", "1", "3"),)),
    ("put back", [{"a": "2"}, {"a": "1"}], ()),
    ("added and removed", [{"b": "1"}], (("a", "1", None), ("b", None, "1"))),
    ("added, then removed", [{"a": "1", "b": "1"}, {"a": "1"}], ()),
    ("removed, then added", [{}, {"a": "2"}], (("a", "1", "2"),)),
    ("no UTF-8", [{"a": "1", "\udcff": "1"}], (("\udcff", None, "1"),)),
]


@pytest.mark.parametrize(
    ("states", "expected"), [each[1:] for each in CHANGES], ids=[each[0] for each in CHANGES]
)
def test_changes_since_the_last_run_of_the_source(history, states, expected):
    save(history, begin(history, files={"a": "1"}))
    for state in states[:-1]:
        save(history, begin(history, "other", files=state))
    begun = begin(history, files=states[-1])
    assert history.changes_since_last(begun) == expected
    assert history.files() == {path: entry(digest) for path, digest in states[-1].items()}


def test_changes_are_those_since_a_run_that_has_finished(history):
    first = begin(history, files={"a": "1"})
    assert history.changes_since_last(first) is None
    save(history, first)
    begin(history, files={"a": "killed"}, pid=7)
    second = begin(history, files={"a": "2"})
    assert history.changes_since_last(second) == (("a", "1", "2"),)
    third = begin(history, files={"a": "3"})
    assert history.changes_since_last(third) == (("a", "1", "3"),)
    save(history, second)
    assert history.changes_since_last(third) == (("a", "2", "3"),)
    history.abandon(third)
    assert history.changes_since_last(third) is None
    assert history.changes_since_last(begin(history, files={"a": "4"})) == (("a", "2", "4"),)


def test_changes_are_not_known_where_the_files_are_not(history):
    save(history, begin(history, files={"a": "1"}))
    blind = begin(history, files=None)
    assert history.changes_since_last(blind) is None
    save(history, blind)
    after = begin(history, files={"a": "2"})
    assert history.changes_since_last(after) is None
    save(history, after)
    assert history.changes_since_last(begin(history, files={"a": "3"})) == (("a", "2", "3"),)


def test_touched_file_is_no_change(history):
    process = {"pid": 1, "birth": "", "host": "", "now": 1.0, "is_alive": lambda pid, birth: True}
    save(history, history.begin("pytest", {"a": (1, 1, "d")}, {}, **process))
    begun = history.begin("pytest", {"a": (1, 2, "d")}, {}, **process)
    assert history.changes_since_last(begun) == ()
    assert history.files() == {"a": (1, 2, "d")}


def test_contents_are_kept_once(history, path):
    contents = {f"d{index}": b"x" * index for index in range(1_200)}
    for _ in range(2):
        begin(history, files={"a": "d1"}, contents=contents)
    assert ask(path, "SELECT count(*) FROM blobs") == [(1_200,)]
    assert [history.content(digest) for digest in ("d0", "d7", "none")] == [b"", b"x" * 7, None]


@pytest.mark.slow
def test_reading_does_not_depend_on_how_much_there_is(path):
    from benchmarks.many_runs import many_runs

    red(path)
    steps = [_steps(path)]
    many_runs(path, 3_000, 20)
    steps.append(_steps(path))
    assert steps[1] < steps[0] * 1.5


def _steps(path):
    """How many hundreds of instructions of SQLite's machine it takes to begin and to read the episode."""
    count = 0

    def tick():
        nonlocal count
        count += 1

    with open_history(path) as history:
        history.database.connection.set_progress_handler(tick, 1)
        begun = begin(history)
        history.changes_since_last(begun)
        with history.transaction(begun):
            pass
        history.abandon(begun)
    return count


def test_threads_lose_nothing(path):
    threads = [threading.Thread(target=lambda: [red(path) for _ in range(5)]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_history(path) as history:
        assert numbers(history.runs("pytest", 99)) == list(range(1, 31))
        assert {row.state for row in history.runs("pytest", 99)} == {"done"}


RUNS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from history_cases import red
for _ in range(3):
    print(red(Path(sys.argv[1])).number)
"""


def processes(path, count):
    here = os.path.dirname(__file__)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RUNS, path, here], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(count)
    ]
    return [each.communicate() for each in started]


@pytest.mark.slow
@pytest.mark.parametrize("garbage", [None, b"no database" * 1_000], ids=["new", "broken"])
def test_twenty_processes_lose_nothing(path, garbage):
    if garbage:
        path.write_bytes(garbage)
    said = processes(path, 20)
    assert [err for _, err in said if err] == []
    assert sorted(int(number) for out, _ in said for number in out.split()) == list(range(1, 61))
    with open_history(path) as history:
        assert numbers(history.runs("pytest", 99)) == list(range(1, 61))
    names = {path.name, f"{path.name}.broken-1"} if garbage else {path.name}
    assert {each.name for each in path.parent.iterdir()} == names


@pytest.mark.parametrize(
    ("merged", "name"),
    [
        ([["pytest", "first-failure", "cpython-3.11-linux"]], "pytest:cpython-3.12-linux"),
        ([["pytest", "green"], [], 7, ["pytest"], None], "pytest"),
        ("pytest", "pytest"),
    ],
)
def test_of_a_merge_that_is_damaged_no_interpreter_is_known(history, merged, name):
    begun = begin(history, "merge")
    with history.transaction(begun) as transaction:
        transaction.save(Run(number=1, source="merge"), Episode(), {"sources": merged}, now=2.0)
    assert history.source_of("pytest", "cpython-3.12-linux") == name
