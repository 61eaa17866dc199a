import os
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from loop_close.records import Run
from loop_close.store import Store, StoreError
from loop_close.store.database import FORMAT

WORK = """
import os, sys
from pathlib import Path
from uuid import uuid4
from loop_close.records import Run
from loop_close.store import Store, StoreError

path = Path(sys.argv[1])

def one(store):
    scope = os.urandom(20_000).hex()
    run = Run(id=str(uuid4()), scope=scope, outcomes={"pytest": {f"test_{n}": "passed" for n in range(300)}})
    number = store.begin(run)
    store.finish(run)
    return number
"""


def started(path, code):
    """A process that does ``code`` with a store."""
    program = WORK + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)


def filled(path, runs=1):
    with Store(path) as store:
        for number in range(runs):
            store.finish(Run(id=str(number), tree="t" * 50, check="tests"))
    return path


def state(path):
    with Store(path, readonly=True) as store:
        return store.state


def beside(path):
    return sorted(each.name for each in path.parent.iterdir())


def rewrite(path, statement, *values):
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


def garbage(path):
    path.write_bytes(os.urandom(5_000))


def page(path):
    data = bytearray(path.read_bytes())
    data[4096 * 2 + 8 : 4096 * 8] = b"\xff" * (4096 * 6 - 8)
    path.write_bytes(data)


def record(path):
    rewrite(path, "UPDATE runs SET record = ?", b"=\x81\xa2id\x05")


def packed(path):
    rewrite(path, "UPDATE runs SET record = ?", b"zzz")


def text(path):
    rewrite(path, "UPDATE runs SET record = 'x'")


def outcomes(path):
    rewrite(path, "INSERT INTO outcomes VALUES(1, 'pytest', x'00', x'3d')")


def table(path):
    rewrite(path, "DROP TABLE runs")


@pytest.mark.parametrize("damage", [garbage, page, record, packed, text, outcomes, table])
def test_damaged_file_is_renamed_and_a_new_one_begun(path, damage):
    damage(filled(path))
    with Store(path, readonly=True) as store:
        assert (store.runs(), store.state) == ([], "damaged")
        assert len(store.notes) == 1
    assert beside(path) == ["history.sqlite3"]
    old = path.read_bytes()
    with Store(path) as store:
        assert store.runs() == []
        store.finish(Run(id="new"))
        (note,) = store.notes
        assert [run.id for run in store.runs()] == ["new"]
    assert note.startswith("history.sqlite3 cannot be read: ")
    assert "it was renamed to history.sqlite3.damaged-1 and a new one begun" in note
    assert "\n" not in note
    assert path.with_name("history.sqlite3.damaged-1").read_bytes() == old


def test_result_of_a_run_during_which_the_file_broke_is_kept(path):
    run = Run(id="a")
    with Store(path) as store:
        number = store.begin(run)
        rewrite(path, "DROP TABLE outcomes")
        store.finish(Run(id="a", number=number, outcomes={"pytest": {"t": "passed"}}))
        assert [found.outcomes for found in store.runs()] == [{"pytest": {"t": "passed"}}]
        assert len(store.notes) == 1


@pytest.mark.parametrize("gone", [os.unlink, lambda path: os.rename(path, f"{path}.damaged-1")])
def test_result_of_a_run_during_which_the_file_went_is_kept(path, gone):
    with Store(path) as store:
        store.finish(Run(id="a"))
        gone(path)
        store.finish(Run(id="b"))
    with Store(path) as store:
        assert [run.id for run in store.runs()] == ["b"]


@pytest.mark.parametrize("other", [FORMAT - 1, FORMAT + 1])
def test_file_of_another_version_is_renamed(path, other):
    rewrite(filled(path), f"PRAGMA user_version = {other}")
    assert state(path) == "damaged"
    with Store(path) as store:
        assert store.notes == [
            f"history.sqlite3 cannot be read: it is not a store of loop-close in format {FORMAT};"
            " it was renamed to history.sqlite3.damaged-1 and a new one begun"
        ]


@pytest.mark.parametrize("content", [b"notes", b"x" * 5_000, None])
def test_file_that_is_not_ours_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.db"
    if content is None:
        rewrite(path, "CREATE TABLE notes(text)")
    else:
        path.write_bytes(content)
    old = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"notes.db exists and is not a store of loop-close; name another file"
    ):
        Store(path)
    assert (path.read_bytes(), beside(path)) == (old, ["notes.db"])


@pytest.mark.parametrize("where", ["folder", "file"])
def test_symbolic_link_is_refused(tmp_path, path, where):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if where == "folder":
        path.parent.symlink_to(elsewhere)
    else:
        path.parent.mkdir()
        path.symlink_to(elsewhere / "file")
    with pytest.raises(StoreError, match="is a symbolic link"):
        Store(path)
    with pytest.raises(StoreError, match="is a symbolic link"):
        state(path)
    assert [*elsewhere.iterdir()] == []


def test_nobody_else_may_read_it(path):
    mask = os.umask(0)
    try:
        filled(path)
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        filled(path)
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(mask)


def test_journal_that_names_another_file_is_not_played_back(path, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("x")
    filled(path)
    name = str(victim).encode()
    checksum = sum(name) & 0xFFFFFFFF
    tail = (
        name + len(name).to_bytes(4, "big") + checksum.to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    )
    path.with_name("history.sqlite3-journal").write_bytes(b"\0" * 512 + tail)
    with Store(path) as store:
        assert "its journal names another file" in store.notes[0]
    assert victim.read_text() == "x"
    assert "history.sqlite3.damaged-1-journal" in beside(path)


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_lies_beside_it_is_not_followed(path, tmp_path, end):
    filled(path)
    path.with_name(f"history.sqlite3{end}").symlink_to(tmp_path / "victim")
    Store(path).close()
    assert not (tmp_path / "victim").exists()


# --- what cannot be written


def test_locked_file_is_reported_and_not_waited_for_longer(path):
    filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    words = r"^history.sqlite3 is busy: another process has locked it for 0.1 seconds$"
    for readonly in (True, False):
        with pytest.raises(StoreError, match=words):
            Store(path, readonly=readonly, timeout=0.1)
    other.execute("ROLLBACK")
    with Store(path, timeout=0.1) as store:
        other.execute("BEGIN IMMEDIATE")
        assert len(store.runs()) == 1
        with pytest.raises(StoreError, match="is busy"):
            store.begin(Run(id="b"))
        other.execute("ROLLBACK")
        assert store.begin(Run(id="b")) == 2
    other.close()


def test_read_only_disk(path, monkeypatch):
    """A file of the kernel's that even root cannot write would need a mount: SQLite is told that it cannot."""
    connect = sqlite3.connect
    filled(path)
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **o: connect(name.replace("mode=rw", "mode=ro"), **o)
    )
    with Store(path) as store:
        assert [run.id for run in store.runs()] == ["0"]
        with pytest.raises(
            StoreError, match=r"^cannot write history.sqlite3: attempt to write a readonly database$"
        ):
            store.begin(Run(id="b"))
    monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
    with pytest.raises(StoreError, match=r"^cannot open other: Read-only file system$"):
        Store(path.with_name("other"))


def test_full_disk(path):
    filled(path)
    process = started(
        path,
        """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        store = Store(path)
        try:
            while True:
                one(store)
        except StoreError as error:
            print(error)
        print(len(store.runs()) > 1, store.notes)
        """,
    )
    said = process.communicate()[0].splitlines()
    assert said[0].startswith("cannot write history.sqlite3: ")
    assert said[1:] == ["True []"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    with Store(path) as store:
        assert store.notes == []


# --- several processes


def test_runs_at_once_lose_nothing(path):
    processes = [
        started(path, "for _ in range(15):\n    with Store(path, timeout=60) as s: one(s)") for _ in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    for process in processes:
        process.stdout.close()
    with Store(path) as store:
        runs = store.runs()
        assert ([run.number for run in runs], store.notes) == ([*range(1, 61)], [])
        assert all(len(run.outcomes["pytest"]) == 300 for run in runs)


def test_two_that_find_it_damaged_set_aside_one_file(path):
    garbage(filled(path))
    processes = [started(path, "with Store(path, timeout=60) as s: one(s)") for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    for process in processes:
        process.stdout.close()
    assert beside(path) == ["history.sqlite3", "history.sqlite3.damaged-1"]
    with Store(path) as store:
        assert len(store.runs()) == 4


@pytest.mark.parametrize("after", [3, 9, 14])
def test_kill_in_mid_write_loses_no_finished_run(path, after):
    process = started(path, "with Store(path) as s:\n    while True: print(one(s), flush=True)")
    for line in process.stdout:
        if int(line) >= after:
            break
    process.send_signal(signal.SIGKILL)
    last = [int(line) for line in process.stdout] or [after]
    process.wait()
    process.stdout.close()
    with Store(path, readonly=True) as store:
        numbers = [run.number for run in store.runs() if run.is_finished]
        assert store.state == "ok"
    assert [*range(1, last[-1] + 1)] == numbers[: last[-1]]
    with Store(path) as store:
        assert store.notes == []
        assert store.begin(Run(id="next")) > last[-1]


def test_hot_journal_is_played_back_even_if_the_store_is_only_read(path):
    filled(path)
    code = """
    import sqlite3, signal
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE runs SET id = 'half written'")
    for n in range(200):
        connection.execute("INSERT INTO contents VALUES(?, randomblob(5000))", (str(n),))
    os.kill(os.getpid(), signal.SIGKILL)
    """
    process = started(path, code)
    process.wait()
    process.stdout.close()
    assert path.with_name("history.sqlite3-journal").stat().st_size > 0
    with Store(path, readonly=True) as store:
        assert ([run.id for run in store.runs()], store.state, store.notes) == (["0"], "ok", [])
