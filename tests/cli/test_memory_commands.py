"""What all commands do alike that tell what is remembered."""

import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_harness import environment, loop_close
from remembered import (
    NO_RUN,
    START,
    USELESS,
    begin,
    called,
    database,
    document,
    execute,
    history_path,
    opened,
    remember,
    state_of,
)

from loop_close.cli.parser import parse

MAGIC = bytes.fromhex("d9d505f920a163d7")
READING = ("status", "history", "explain", "replay")
ALL = (*READING, "reset")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", [(), ("--json",)])
@pytest.mark.parametrize("command", READING)
def test_missing_history_is_reported_and_not_created(tmp_path, command, words):
    assert called(command, *words) == (64, "", NO_RUN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", READING)
def test_history_without_runs(tmp_path, command):
    with opened(tmp_path):
        pass
    assert called(command) == (64, "", NO_RUN)


@pytest.mark.parametrize("command", READING)
def test_empty_file(tmp_path, command):
    history_path(tmp_path).parent.mkdir()
    history_path(tmp_path).touch()
    assert called(command) == (64, "", NO_RUN)


@pytest.mark.parametrize("kind", USELESS)
@pytest.mark.parametrize("command", ALL)
def test_useless_file_is_reported_and_left_alone(tmp_path, command, kind):
    make, said = USELESS[kind]
    history_path(tmp_path).parent.mkdir()
    make(history_path(tmp_path))
    before = state_of(tmp_path)
    code, shown, errors = called(command)
    assert (code, shown) == (64, "")
    assert said in errors
    assert state_of(tmp_path) == before


@pytest.mark.parametrize("command", READING)
def test_damage_is_reported_and_left_alone(tmp_path, command):
    remember(tmp_path, "a", "a")
    execute(tmp_path, "UPDATE runs SET record = 'x', summary = 'x'")
    before = state_of(tmp_path)
    code, shown, errors = called(command)
    assert (code, shown) == (64, "")
    assert re.search(r"history.sqlite3 is damaged \(.*\); run loop-close reset to start a new one\n", errors)
    assert state_of(tmp_path) == before


def chained_journal(path, victim):
    """A journal that is to be played back, after which SQLite removes the file that it names."""
    page, name = path.read_bytes()[:4096], os.fsencode(victim)
    header = (MAGIC + struct.pack(">5I", 1, 0, path.stat().st_size // 4096, 512, 4096)).ljust(512, b"\0")
    record = struct.pack(">I", 1) + page + struct.pack(">I", sum(page[at] for at in range(3896, 0, -200)))
    end = struct.pack(">I", (1 << 18) + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    path.with_name(f"{path.name}-journal").write_bytes(header + record + end)


def _beside(make):
    return lambda root: make(root / ".loop-close" / "history.sqlite3-journal")


def _sql(statement):
    return lambda root: execute(root, statement)


PREPARED = {
    "a journal that names a file": lambda root: chained_journal(history_path(root), root / "victim"),
    "a pipe for a journal": _beside(os.mkfifo),
    "a folder for a journal": _beside(Path.mkdir),
    "log mode": _sql("PRAGMA journal_mode = WAL"),
    "a trigger": _sql("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM marks; END"),
    "a view": _sql("CREATE VIEW v AS SELECT 1"),
    "a path for a process": _sql("UPDATE runs SET state = 'running', pid = 'self/cwd/d'"),
    "a huge process": _sql("UPDATE runs SET state = 'running', pid = 1 << 40"),
    "no time": _sql("UPDATE runs SET state = 'running', host = 'other', started = 'x'"),
    "no number": _sql("UPDATE runs SET state = 'running', host = 'other', number = 'x'"),
    "no end": _sql("UPDATE runs SET ended = 'x'"),
}


@pytest.mark.parametrize("kind", PREPARED)
@pytest.mark.parametrize("command", ["status", "history", "reset"])
def test_prepared_history_is_damage(tmp_path, command, kind):
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d" / "stat")
    remember(tmp_path, "a")
    PREPARED[kind](tmp_path)
    code, _, errors = called(command)
    if command != "reset":
        assert code == 64
        assert re.search(
            r"history.sqlite3 is damaged \(.*\); run loop-close reset to start a new one\n", errors
        )
        assert not list(tmp_path.glob(".loop-close/*broken*"))
    else:
        assert code == 0
        assert called("status") == (64, "", NO_RUN)
    assert (tmp_path / "victim").read_text() == "kept"


@pytest.mark.parametrize("command", ALL)
def test_foreign_database_is_not_touched(tmp_path, command):
    with database(tmp_path / "app.db") as connection:
        connection.execute("CREATE TABLE a(b)")
        connection.execute("PRAGMA journal_mode = WAL")
    before = state_of(tmp_path)
    expected = "loop-close: app.db is not a loop-close history\n"
    assert called(command, "--history", "app.db") == (64, "", expected)
    assert state_of(tmp_path) == before


@pytest.mark.parametrize("command", READING)
def test_pipe_in_its_place(tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    assert called(command, "--history", "pipe") == (64, "", "loop-close: pipe is not a regular file\n")


def test_query_that_takes_too_long_is_reported(tmp_path, monkeypatch):
    remember(tmp_path, "a")
    monkeypatch.setattr("loop_close.store.database.LONGEST", -1.0)
    monkeypatch.setattr("loop_close.store.database._OFTEN", 1)
    code, shown, errors = called("status")
    assert (code, shown) == (64, "")
    assert re.search(r"history.sqlite3: reading took longer than \S+ seconds\n", errors)


@pytest.mark.parametrize("command", READING)
def test_missing_tables(tmp_path, command):
    remember(tmp_path, "a")
    execute(tmp_path, "DROP TABLE runs")
    code, shown, errors = called(command)
    assert (code, shown) == (64, "")
    assert "is damaged (its tables are not from loop-close)" in errors


@pytest.mark.parametrize("command", READING)
def test_summary_of_another_shape_is_shown_as_far_as_it_goes(tmp_path, command):
    remember(tmp_path, "a b")
    odd = '{"verdict": 3, "breaker": [], "signals": [{"kind": 1}, 4], "best": "x", "fixed": true}'
    execute(tmp_path, "UPDATE runs SET summary = ?", odd)
    code, shown, errors = called(command)
    assert (code, errors) == (command == "status", "")
    assert "pytest" in shown


@pytest.mark.parametrize("command", READING)
def test_reading_changes_nothing(tmp_path, command):
    remember(tmp_path, "a", "a b")
    before = state_of(tmp_path)
    called(command)
    called(command, "--json")
    assert state_of(tmp_path) == before


@pytest.mark.parametrize("command", READING)
def test_source_that_is_not_there(tmp_path, command):
    remember(tmp_path, "a")
    remember(tmp_path, "", source="mypy")
    said = "loop-close: no runs of source 'mypi'; known: mypy, pytest\n"
    assert called(command, "--source", "mypi") == (64, "", said)


@pytest.mark.parametrize("command", READING)
def test_names_cannot_speak_to_the_terminal(tmp_path, command):
    remember(tmp_path, "a", "a", "a", source="\x1b[31mpy\x07test\u202e")
    _, shown, _ = called(command)
    assert "pytest" in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", shown)


@pytest.mark.parametrize("command", ALL)
def test_root_is_found_upwards_within_the_repository(tmp_path, command, monkeypatch):
    remember(tmp_path, "a")
    inner = tmp_path / "src" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert called(command)[0] == (command == "status")
    remember(tmp_path, "a")
    (inner.parent / ".git").mkdir()
    code, _, errors = called(command)
    assert (code, errors) == (0 if command == "reset" else 64, NO_RUN)


@pytest.mark.parametrize("command", ALL)
def test_root_is_where_the_settings_are(tmp_path, command, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.loop-close]\nhistory = 'kept.sqlite3'\n")
    remember(tmp_path, "a", path=tmp_path / "kept.sqlite3")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text("not TOML")
    assert called(command)[0] == (command == "status")
    remember(tmp_path, "a", path=tmp_path / "kept.sqlite3")
    monkeypatch.chdir(tmp_path / "inner")
    assert called(command)[0] == (command == "status")


@pytest.mark.parametrize("command", ALL)
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            "[tool.loop-close]\nhistory = 'off'",
            "this project keeps no history: [tool.loop-close] history is 'off'",
        ),
        ("[tool.loop-close]\nhistory = '../x'", "history must be a path below the root, not '../x'"),
        ("[tool.loop-close]\nhistori = 'x'", "unknown setting"),
        ("[tool.loop-close", "pyproject.toml is not valid TOML"),
    ],
)
def test_settings_that_name_no_history(tmp_path, command, settings, said):
    (tmp_path / "pyproject.toml").write_text(settings)
    code, shown, errors = called(command)
    assert (code, shown) == (64, "")
    assert said in errors


@pytest.mark.parametrize("command", ALL)
def test_history_may_be_named(tmp_path, command):
    (tmp_path / "pyproject.toml").write_text("[tool.loop-close]\nhistory = 'off'")
    remember(tmp_path, "a", path=tmp_path / "odd name?#%41.db")
    assert called(command, "--history", "odd name?#%41.db")[0] == (command == "status")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd name?#%41.db", "pyproject.toml"]


def test_what_a_killed_writer_left_is_undone(tmp_path):
    """A journal that has to be played back first is none of the reader's business, and never damage."""
    remember(tmp_path, "a", "b")
    path = history_path(tmp_path)
    with database(path) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE runs SET summary = ?", ("x" * 50_000,))
        connection.execute("CREATE TABLE spilled AS SELECT randomblob(200000) AS a")
        left = {name: name.read_bytes() for name in path.parent.iterdir()}
        connection.execute("ROLLBACK")
    assert path.with_name("history.sqlite3-journal") in left
    for name, content in left.items():
        name.write_bytes(content)
    code, found = document("history")
    assert (code, [run["number"] for run in found["runs"]]) == (0, [1, 2])


def test_busy_history_is_reported(tmp_path, monkeypatch):
    remember(tmp_path, "a")
    monkeypatch.setattr("loop_close.store.reader._TIMEOUT", 0.01)
    with database(history_path(tmp_path)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        code, shown, errors = called("status")
    assert (code, shown) == (64, "")
    assert "history.sqlite3 is busy: another process has locked it" in errors


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read all")
@pytest.mark.parametrize("command", READING)
def test_unreadable_history(tmp_path, command):
    remember(tmp_path, "a")
    history_path(tmp_path).chmod(0)
    code, shown, errors = called(command)
    assert (code, shown) == (64, "")
    assert "cannot read" in errors


def test_dead_run_is_not_under_way(tmp_path):
    remember(tmp_path, "")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with opened(tmp_path) as history:
        begin(history, "pytest", pid=ended.pid, birth="long ago")
    code, found = document("status")
    assert (code, found["sources"][0]["state"]) == (1, "killed")
    assert [run["state"] for run in document("history")[1]["runs"]] == ["done", "killed"]


@pytest.mark.parametrize(("age", "state"), [(60.0, "running"), (2 * 86_400.0, "killed")])
def test_run_on_another_machine_lasts_a_day_at_most(tmp_path, age, state):
    remember(tmp_path, "")
    with opened(tmp_path) as history:
        begin(history, "pytest", time.time() - age - START, host="elsewhere")
    assert document("status")[1]["sources"][0]["state"] == state


def test_closed_output_is_not_an_error(tmp_path):
    remember(tmp_path, *["a"] * 30)
    done = loop_close("history", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    read, write = os.pipe()
    os.close(read)
    gone = loop_close("history", "--json", cwd=tmp_path, stdout=write, env=environment())
    os.close(write)
    assert gone.stderr == b""


def test_commands_of_the_docs_are_commands():
    docs = Path(__file__).parents[2] / "docs" / "history.md"
    text = docs.read_text(encoding="utf-8")
    listed = re.findall(r"^- `([a-z]+)", text.partition("\n## Commands\n")[2], re.MULTILINE)
    assert {*listed} >= {*ALL}
    examples = re.findall(r"^\$ loop-close (.*)$", text, re.MULTILINE)
    assert examples
    assert all(callable(parse(words.split()).command) for words in [*listed, *examples] if words != "ask")
