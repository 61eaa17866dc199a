"""Files that are not a history, turn out to be none, or cannot be written."""

import os
import random
import sqlite3
import subprocess
import sys

import pytest
from history_cases import ask, begin, database, numbers, red, save

from loop_close.memory import Episode, FailureRecord, Run
from loop_close.store import HistoryError
from loop_close.store.schema import APPLICATION_ID
from loop_close.store.sqlite import open_history


def foreign(path, application=0):
    with database(path) as connection:
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute("CREATE TABLE theirs(a)")


def damage(path):
    """Overwrite all but the first page."""
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))


def truncate(path):
    red(path, 200)
    os.truncate(path, path.stat().st_size // 2)


BROKEN = {
    "text": lambda path: path.write_text("my notes\n" * 1_000),
    "short text": lambda path: path.write_text("x"),
    "zeros": lambda path: path.write_bytes(bytes(5_000)),
    "only the magic": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000),
    "a database": foreign,
    "a database of a program": lambda path: foreign(path, 77),
    "ours without a format": lambda path: foreign(path, APPLICATION_ID),
}


@pytest.mark.parametrize("make", BROKEN.values(), ids=BROKEN)
def test_what_is_no_history_is_set_aside(path, make):
    make(path)
    data = path.read_bytes()
    with open_history(path) as history:
        (note,) = history.notes
        save(history, begin(history))
    assert note.startswith("history.sqlite3 was not a loop-close history")
    assert note.endswith("; it was renamed to history.sqlite3.broken-1 and a new one started")
    assert (path.parent / "history.sqlite3.broken-1").read_bytes() == data
    with open_history(path) as history:
        assert history.notes == []
        assert numbers(history.runs()) == [1]


def test_truncated_history_is_set_aside_when_it_is_opened_or_used(path):
    truncate(path)
    with open_history(path) as history:
        save(history, begin(history))
        assert numbers(history.runs()) == [1]
        assert len(history.notes) == 1


def test_nothing_that_was_set_aside_is_overwritten(path):
    for name in ("broken-1", "broken-2-wal", "broken-4"):
        (path.parent / f"{path.name}.{name}").write_text(name)
    for text in ("first", "second"):
        path.write_text(text * 99)
        (path.parent / f"{path.name}-wal").write_text(text)
        open_history(path).close()
    found = {each.name.removeprefix(f"{path.name}."): each.read_bytes()[:8] for each in path.parent.iterdir()}
    del found[path.name]
    found = {name: data for name, data in found.items() if not name.endswith("-shm")}  # as SQLite likes
    assert found == {
        **{name: name.encode()[:8] for name in ("broken-1", "broken-2-wal", "broken-4")},
        "broken-3": b"firstfir",
        "broken-5": b"secondse",
        "broken-3-wal": b"first",
        "broken-5-wal": b"second",
    }


@pytest.mark.parametrize("content", [b"", None], ids=["empty file", "empty database"])
def test_empty_file_becomes_a_history(path, content):
    if content is None:
        with database(path) as connection:
            connection.execute("VACUUM")
    else:
        path.write_bytes(content)
    with open_history(path) as history:
        assert history.notes == []
        assert begin(history).number == 1


def test_newer_format_is_left_alone(path):
    red(path)
    with database(path) as connection:
        connection.execute("PRAGMA user_version = 5")
    data = path.read_bytes()
    reason = r"was written by a newer loop-close \(format 5; this one reads 4\) and is left unchanged"
    expected = rf"^history\.sqlite3 {reason}$"
    with pytest.raises(HistoryError, match=expected):
        open_history(path)
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


USES = {
    "files": lambda history: history.files(),
    "begin": begin,
    "content": lambda history: history.content("d"),
    "latest": lambda history: history.latest(),
    "runs": lambda history: history.runs(),
    "recorded": lambda history: history.recorded("pytest", 9),
    "reset": lambda history: history.reset(),
    "abandon": lambda history: history.abandon(begin(history)),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_damage_that_shows_later_is_set_aside(path, use):
    red(path, 300, files={"a": "d"}, contents={"d": os.urandom(20_000)})
    with open_history(path) as history:
        history.database.connection.execute("PRAGMA cache_size = 0")
        damage(path)
        use(history)
        (note,) = history.notes
        assert note.startswith(
            "history.sqlite3 was damaged (database disk image is malformed); it was renamed to"
        )
        run = save(history, begin(history))
        assert history.recorded("pytest", 1) == (run,)


def _set(statement):
    return lambda path: ask(path, statement)


DAMAGE = {
    "no table": _set("DROP TABLE episodes"),
    "no column": _set("ALTER TABLE episodes RENAME COLUMN data TO other"),
    "no JSON": _set("UPDATE episodes SET data = '{'"),
    "no episode": _set("UPDATE episodes SET data = '{\"steps\":1}'"),
    "no text": _set("UPDATE episodes SET data = CAST(x'ff' AS TEXT)"),
    "a number": _set("UPDATE episodes SET data = 5"),
    "bytes": _set("UPDATE episodes SET data = x'00ff'"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_run_under_way_when_the_damage_shows_is_remembered(path, damage):
    red(path)
    with open_history(path) as history:
        begun = begin(history)
        damage(path)
        with history.transaction(begun) as transaction:
            assert transaction.episode == Episode()
            transaction.save(Run(number=begun.number), Episode(first=2), {})
        assert len(history.notes) == 1
        assert numbers(history.runs()) == [2]
        assert begin(history).number == 3


def test_damage_that_shows_when_the_run_is_saved_costs_the_past_only(path):
    red(path)
    with open_history(path) as history:
        begun = begin(history)
        with history.transaction(begun) as transaction:
            history.database.connection.execute("DROP TABLE failures")
            transaction.save(Run(number=begun.number, marks=(FailureRecord(test="a"),)), Episode(first=1), {})
        assert "was damaged (no such table: failures); it was renamed to" in history.notes[0]
        with history.transaction(begin(history)) as transaction:
            assert transaction.episode == Episode(first=1)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE runs SET state = 'lost'", "UPDATE runs SET number = 'x'", "UPDATE runs SET summary = '[]'"],
)
def test_row_that_is_none_of_ours_is_damage(path, statement):
    red(path)
    ask(path, statement)
    with open_history(path) as history:
        assert history.runs() == ()
        assert len(history.notes) == 1


@pytest.mark.parametrize("how", ["removed", "set aside", "replaced"])
def test_file_that_went_away_meanwhile_is_begun_anew(path, how):
    with open_history(path) as history:
        begun = begin(history)
        if how == "removed":
            path.unlink()
        else:
            path.rename(path.with_name("other"))
        if how == "replaced":
            red(path, now=9.0)
        if how != "replaced":
            run = save(history, begun)
            assert history.recorded("pytest", 9) == (run,)
        else:
            with pytest.raises(HistoryError, match="the history was reset"):
                save(history, begun)
    if how == "set aside":
        assert ask(path.with_name("other"), "SELECT state FROM runs") == [("running",)]


def test_folder_that_went_away_meanwhile_is_not_made_again(tmp_path):
    path = tmp_path / "state" / "h"
    with open_history(path) as history:
        begun = begin(history)
        path.unlink()
        path.parent.rmdir()
        with pytest.raises(HistoryError, match="cannot open h: No such file or directory"):
            save(history, begun)
        with pytest.raises(HistoryError, match="cannot write h: "):
            history.files()
    assert list(tmp_path.iterdir()) == []


def refusal(path, **kinds):
    with pytest.raises(HistoryError) as caught:
        open_history(path, **kinds)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_paths_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path / "file" / "h") == "cannot open h: file is not a folder"
    assert refusal(tmp_path / "file" / "sub" / "h") == "cannot open h: Not a directory"
    assert refusal(tmp_path / "folder") == "folder is not a regular file"
    assert refusal(tmp_path / ("h" * 300)).endswith("File name too long")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "pipe is not a regular file"


@pytest.mark.parametrize("target", ["there", "missing"])
def test_symbolic_links_are_not_followed(tmp_path, target):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / target)
    assert refusal(tmp_path / "link") == "link is a symbolic link"
    assert refusal(tmp_path / "link" / "h") in (
        "link is a symbolic link",
        "cannot open h: link is not a folder",
    )
    assert list((tmp_path / "there").iterdir()) == []
    assert not (tmp_path / "missing").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_file_and_folder_that_may_not_be_written(path):
    red(path)
    path.chmod(0o400)
    with (
        open_history(path) as history,
        pytest.raises(HistoryError, match="attempt to write a readonly database"),
    ):
        begin(history)
    path.chmod(0o600)
    path.parent.chmod(0o500)
    with (
        open_history(path) as history,
        pytest.raises(HistoryError, match=r"^cannot write history\.sqlite3: "),
    ):
        begin(history)
    path.parent.chmod(0o700)


def test_busy_file_says_so(path):
    red(path)
    with database(path) as connection, open_history(path, timeout=0.01) as history:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            HistoryError, match=r"^history\.sqlite3 is busy: another process has locked it for 0\.01 seconds$"
        ):
            begin(history)
        assert "is busy" in refusal(path, timeout=0.01)
        connection.execute("ROLLBACK")
        assert begin(history).number == 2
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.large
def test_full_disk_leaves_what_was(path):
    red(path)
    with open_history(path) as history:
        begun = begin(history)
        pages = history.database.connection.execute("PRAGMA page_count").fetchone()[0]
        history.database.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(HistoryError, match=r"^cannot write history\.sqlite3: database or disk is full$"):
            save(history, begun, 5_000)
        with pytest.raises(HistoryError, match="is full"):
            begin(history, contents={"d": os.urandom(100_000)}, files={"a": "d"})
        assert [row.state for row in history.runs()] == ["done", "running"]
        assert history.notes == []
    with open_history(path) as history:
        save(history, begun, 5_000)
        assert [row.state for row in history.runs()] == ["done", "done"]


LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from history_cases import begin, save
from loop_close.store import HistoryError
from loop_close.store.sqlite import open_history
size = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    with open_history(Path(sys.argv[1])) as history:
        save(history, begin(history), 5_000)
except HistoryError as error:
    print(error)
"""


def child(code, *arguments):
    here = os.path.dirname(__file__)
    command = [sys.executable, "-c", code, arguments[0], here, *map(str, arguments[1:])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name == "nt", reason="there are no such limits")
@pytest.mark.parametrize("size", [0, 1_000, 30_000, 200_000])
def test_limit_on_the_size_of_files_is_told_in_a_line(path, size):
    out, err = child(LIMITED, path, size).communicate()
    assert err == ""
    assert out.startswith("cannot write history.sqlite3: ")
    assert out.count("\n") == 1
    with open_history(path) as history:
        save(history, begin(history))
        assert history.notes == []


ENDLESS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from history_cases import begin, save
from loop_close.store.sqlite import open_history
print("begun", flush=True)
number = 0
while True:
    number += 1
    with open_history(Path(sys.argv[1]), max_runs=20) as history:
        begun = begin(history, pid=number, files={"a": str(number)}, contents={str(number): b"x" * 9_000})
        save(history, begun, 30)
        print(begun.number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_killed_processes_leave_a_usable_history(path):
    chance = random.Random(20)
    saved = []
    for _ in range(20):
        started = [child(ENDLESS, path) for _ in range(2)]
        for each in started:
            each.stdout.readline()
        for each in started:
            with pytest.raises(subprocess.TimeoutExpired):
                each.wait(chance.uniform(0, 0.05))
            each.kill()
        saved += [int(line) for each in started for line in each.communicate()[0].split()]
        with open_history(path, max_runs=20) as history:
            assert history.notes == []
            assert begin(history, pid=10**6).number > max(saved, default=0)
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert len(saved) == len(set(saved))
    assert not list(path.parent.glob("*broken*"))


def test_hot_journal_of_a_killed_process_is_rolled_back(path):
    red(path)
    code = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "c.execute('DELETE FROM runs')\n"
        "c.execute('CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999)"
        " SELECT i FROM n')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    child(code, path).communicate()
    assert (path.parent / f"{path.name}-journal").exists()
    with open_history(path) as history:
        assert numbers(history.runs()) == [1]
        assert history.notes == []


def test_error_of_our_own_is_not_taken_for_damage(path):
    with open_history(path) as history, pytest.raises(HistoryError):
        history.database.read(lambda connection: connection.execute("SELEC 1"))
    assert list(path.parent.iterdir()) == [path]
    with open_history(path) as history, pytest.raises(HistoryError):
        history.database.read(lambda connection: connection.execute("SELECT ?", (1, 2)))
    assert sqlite3.sqlite_version
    assert list(path.parent.iterdir()) == [path]
