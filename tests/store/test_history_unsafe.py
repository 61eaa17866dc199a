"""Histories that somebody has prepared, and files that are not ours to touch."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from history_cases import ask, begin, chained_journal, database, numbers, red, save

from loop_close.store import HistoryError
from loop_close.store.database import file_state
from loop_close.store.sqlite import open_history


@pytest.fixture
def elsewhere(tmp_path):
    return tmp_path / "app.db"


def beside(path, end):
    return path.with_name(f"{path.name}{end}")


def in_wal_mode(path):
    with database(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


UNSAFE = {
    "a journal that names a file": lambda path: chained_journal(path, path.parent.parent / "victim"),
    "a pipe for a journal": lambda path: os.mkfifo(beside(path, "-journal")),
    "a folder for a journal": lambda path: beside(path, "-journal").mkdir(),
    "a link for a journal": lambda path: beside(path, "-journal").symlink_to(path.parent.parent / "victim"),
    "a pipe for a log": lambda path: os.mkfifo(beside(path, "-wal")),
    "a log": lambda path: beside(path, "-wal").touch(),
    "a pipe for its index": lambda path: os.mkfifo(beside(path, "-shm")),
    "log mode": in_wal_mode,
}


@pytest.mark.parametrize("prepare", UNSAFE.values(), ids=UNSAFE)
def test_what_sqlite_must_not_look_at_is_set_aside(path, tmp_path, prepare):
    (tmp_path / "victim").write_text("kept")
    red(path)
    prepare(path)
    with open_history(path) as history:
        (note,) = history.notes
        save(history, begin(history))
        assert numbers(history.runs()) == [1]
    assert note.startswith("history.sqlite3 was damaged (it")
    assert "it was renamed to history.sqlite3.broken-1" in note
    assert (tmp_path / "victim").read_text() == "kept"


@pytest.mark.parametrize("prepare", [each for name, each in UNSAFE.items() if name != "log mode"])
def test_what_is_put_beside_it_meanwhile_is_set_aside(path, tmp_path, prepare):
    (tmp_path / "victim").write_text("kept")
    with open_history(path) as history:
        begun = begin(history)
        prepare(path)
        run = save(history, begun)
        assert history.recorded("pytest", 9) == (run,)
        assert len(history.notes) == 1
    assert (tmp_path / "victim").read_text() == "kept"


def test_empty_journal_is_none(path):
    red(path)
    beside(path, "-journal").touch()
    with open_history(path) as history:
        assert (history.notes, numbers(history.runs())) == ([], [1])


def test_journal_beside_no_file(path):
    os.mkfifo(beside(path, "-journal"))
    with open_history(path) as history:
        assert begin(history).number == 1
        assert len(history.notes) == 1


def program(path):
    with database(path) as connection:
        connection.execute("CREATE TABLE theirs(a)")


THEIRS = {
    "text": lambda path: path.write_text("def test(): pass\n"),
    "long text": lambda path: path.write_text("[core]\n" * 9_000),
    "a database": program,
    "a database with a log": lambda path: (program(path), in_wal_mode(path)),
    "a view": lambda path: ask(path, "CREATE VIEW v AS SELECT 1"),
}


@pytest.mark.parametrize("make", THEIRS.values(), ids=THEIRS)
def test_file_of_somebody_else_is_not_touched(elsewhere, make):
    make(elsewhere)
    before = elsewhere.read_bytes(), elsewhere.stat().st_mtime_ns
    expected = r"^app\.db exists and is not a loop-close history; name another file$"
    with pytest.raises(HistoryError, match=expected):
        open_history(elsewhere)
    assert (elsewhere.read_bytes(), elsewhere.stat().st_mtime_ns) == before
    assert list(elsewhere.parent.glob("app*")) == [elsewhere]


EMPTY = {
    "file": Path.touch,
    "database": lambda path: ask(path, "VACUUM"),
    "history in the making": lambda path: ask(path, "PRAGMA auto_vacuum = INCREMENTAL"),
}


@pytest.mark.parametrize("make", EMPTY.values(), ids=EMPTY)
def test_empty_file_elsewhere_may_be_used(elsewhere, make):
    make(elsewhere)
    assert file_state(elsewhere).is_history
    red(elsewhere)
    with open_history(elsewhere) as history:
        assert numbers(history.runs()) == [1]


def test_our_own_file_elsewhere_is_set_aside_when_it_is_broken(elsewhere):
    red(elsewhere)
    ask(elsewhere, "DROP TABLE runs")
    with open_history(elsewhere) as history:
        assert "renamed to app.db.broken-1" in history.notes[0]


def test_pipe_beside_an_empty_file_elsewhere(elsewhere):
    os.mkfifo(beside(elsewhere, "-journal"))
    with pytest.raises(HistoryError, match=r"^cannot open app\.db: its -journal is not a regular file$"):
        open_history(elsewhere)


OBJECTS = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM marks; END",
    "view": "CREATE VIEW v AS SELECT 1",
    "table": "CREATE TABLE more(a)",
    "index": "CREATE INDEX more ON runs(state)",
    "column": "ALTER TABLE runs ADD COLUMN more",
    "no index": "DROP INDEX marks_last",
}


@pytest.mark.parametrize("statement", OBJECTS.values(), ids=OBJECTS)
def test_what_is_not_in_our_schema_is_damage(path, statement):
    red(path)
    ask(path, statement)
    with open_history(path) as history:
        (note,) = history.notes
        assert "(its tables are not from loop-close); it was renamed to" in note
        assert begin(history).number == 1


def test_trigger_with_a_name_of_sqlite_is_damage(path):
    red(path)
    with database(path) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM marks; END")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET name = 'sqlite_t' WHERE name = 't'")
    with open_history(path) as history:
        assert len(history.notes) == 1


def test_statistics_of_sqlite_are_none(path):
    red(path)
    ask(path, "ANALYZE")
    with open_history(path) as history:
        assert (history.notes, numbers(history.runs())) == ([], [1])


COLUMNS = [
    "UPDATE sources SET last = 'x'",
    f"UPDATE sources SET last = {2**63 - 1}",
    "UPDATE runs SET started = 'x', state = 'running', host = 'other'",
    "UPDATE runs SET pid = 'self/cwd/d', state = 'running'",
    f"UPDATE runs SET pid = {2**40}, state = 'running'",
    "UPDATE runs SET pid = 0, state = 'running'",
    "UPDATE runs SET pid = 2, number = 'x', state = 'running'",
    "UPDATE project SET snapshot = 'x'",
    "UPDATE project SET floor = 'x'",
    "UPDATE files SET size = 'x'",
    "UPDATE files SET mtime_ns = 'x'",
    "DELETE FROM project",
    "UPDATE project SET pruned = 'x'",
    f"UPDATE sqlite_sequence SET seq = {2**63 - 1}",
    f"UPDATE runs SET id = {2**63 - 1}",
    f"UPDATE marks SET id = {2**63 - 1}, digest = x'00'",
    "UPDATE marks SET last = 'x'",
]


@pytest.mark.parametrize("statement", COLUMNS)
def test_wrong_type_in_a_column_is_damage(path, statement):
    red(path, files={"a": "d"})
    ask(path, statement)
    with open_history(path) as history:
        history.files()
        begun = begin(history, files={"b": "e"}, is_alive=lambda pid, birth: True)
        history.changes_since_last(begun)
        save(history, begun)
    with open_history(path) as history:
        assert history.notes == []
        save(history, begin(history))
        assert len(list(path.parent.iterdir())) == 2


@pytest.mark.parametrize("ended", ["'x'", "x'00'"])
def test_wrong_end_of_a_run_is_damage(path, ended):
    red(path)
    ask(path, f"UPDATE runs SET ended = {ended}")
    with open_history(path) as history:
        begun = begin(history)
        assert history.window_before(begun) == (0.0, 0.0)
        assert len(history.notes) == 1


@pytest.mark.parametrize("now", ["x", None, float("nan"), float("inf"), 10**400, object()])
def test_time_that_is_none(path, now):
    with open_history(path) as history:
        begun = begin(history, now=now)
        assert begun.started == 0.0
        save(history, begun, now=0 if now is None else now)
        assert [(row.started, row.ended) for row in history.runs()] == [(0.0, 0.0)]
        assert history.notes == []


def test_clock_of_the_program_under_test_is_not_asked(path, monkeypatch):
    with open_history(path) as history:
        begun = begin(history)
        monkeypatch.setattr(time, "time", lambda: "later")
        assert history.keep_green(begun, passed=1, skipped=0)
        assert history.runs()[0].ended > 0


@pytest.mark.parametrize("mtime", [2**63, -(2**64)])
def test_file_from_far_away_in_time_is_no_damage(path, mtime):
    with open_history(path) as history:
        history.begin(
            "p",
            {"a": (1, mtime, "d")},
            {},
            pid=1,
            birth="",
            host="",
            now=1.0,
            is_alive=lambda pid, birth: True,
        )
        assert history.notes == []
        assert history.files()["a"][0::2] == (1, "d")


def project_of(path, project):
    with open_history(path, project=project) as history:
        return begin(history).number


def test_history_of_another_project_is_refused(elsewhere):
    assert project_of(elsewhere, "one") == 1
    assert project_of(elsewhere, "one") == 2
    assert project_of(elsewhere, "") == 3
    expected = r"^app\.db belongs to another project; name another file$"
    with pytest.raises(HistoryError, match=expected):
        project_of(elsewhere, "two")
    with open_history(elsewhere) as history:
        history.reset()
    assert project_of(elsewhere, "two") == 1


def test_history_in_its_own_place_goes_where_the_project_goes(path):
    assert project_of(path, "one") == 1
    assert project_of(path, "two") == 2


def test_history_of_nobody_becomes_the_first_ones(elsewhere):
    red(elsewhere)
    assert project_of(elsewhere, "one") == 2
    with pytest.raises(HistoryError, match="to another project"):
        project_of(elsewhere, "two")


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_endless_statement_ends(path, monkeypatch):
    monkeypatch.setattr("loop_close.store.database.LONGEST", 0.05)
    with open_history(path) as history:
        with pytest.raises(
            HistoryError, match=r"^history\.sqlite3: reading or writing took longer than \S+ seconds"
        ):
            history.database.read(lambda connection: connection.execute(ENDLESS).fetchone())
        assert history.notes == []


INTERRUPTED = """
import sys
from pathlib import Path
from loop_close.store.sqlite import open_history
with open_history(Path(sys.argv[1])) as history:
    print(flush=True)
    if sys.argv[2:]:
        history.database.read(lambda connection: connection.execute(sys.argv[2]).fetchone())
    else:
        history.reset()
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
@pytest.mark.parametrize("arguments", [[ENDLESS], []], ids=["endless", "waiting"])
def test_interrupt_is_heard(path, arguments):
    red(path)
    with database(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        command = [
            sys.executable,
            "-c",
            "import signal; signal.signal(2, signal.default_int_handler)\n" + INTERRUPTED,
        ]
        process = subprocess.Popen(
            [*command, path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(0.2)  # so that it waits by now, most of the time
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=8)
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_busy_file_is_waited_for_in_steps(path, monkeypatch):
    monkeypatch.setattr("loop_close.store.database.STEP", 0.01)
    red(path)
    with database(path) as connection, open_history(path) as history:
        connection.execute("BEGIN IMMEDIATE")
        tries = []
        real = history.database.connection
        monkeypatch.setattr(
            "loop_close.store.database.is_busy",
            lambda error: tries.append(error) or len(tries) < 4 or bool(connection.execute("ROLLBACK")),
        )
        assert begin(history).number == 2
        assert history.database.connection is real
        assert len(tries) == 4
