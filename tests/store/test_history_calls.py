"""What tests called, from run to run."""

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import zlib

import pytest
from history_cases import ask, begin, database, numbers, red, save

from loop_close.calls import Called, Calls
from loop_close.cli.recorded import read
from loop_close.store import HistoryError, KeptCalls, NewCalls, checksum, project
from loop_close.store.schema import FORMAT
from loop_close.store.sqlite import DAMAGED_CALLS, open_history


def called(function="f", line=10, passed=2, lines=((10, 1), (12, 1)), digest="d", **fields):
    place = {"file": "shop.py", "line": line, "end_line": line + 5}
    return Called(function=function, passed=passed, lines=dict(lines), digest=digest, **place, **fields)


def new(passed=2, *functions, most=None, tests=("a", "b"), **fields):
    calls = Calls(passed=passed, functions=functions or (called(passed=passed),), **fields)
    return NewCalls(calls=calls, most=most, tests=tests)


def keep(path, calls, source="pytest"):
    """Keep it with a run; the writes that it took."""
    with open_history(path) as history:
        begun = begin(history, source)
        written = []
        history.database.connection.set_trace_callback(written.append)
        history.keep_green(begun, passed=1, skipped=0, calls=calls)
        return [each for each in written if "INTO calls" in each]


def kept(path, source="pytest"):
    with open_history(path) as history:
        return history.calls(source)


def passed_of(path, source="pytest"):
    found = kept(path, source)
    return found and found.calls.passed


def test_nothing_is_kept_at_first(path):
    red(path)
    assert kept(path) is None


def test_calls_come_back_without_what_tells_where_functions_stood(path):
    keep(path, new(7, called(passed=5), called("g", 30, 0, ()), failed={"bad": ((0, 10),)}))
    function = called(passed=5)._replace(line=0, end_line=5, lines={0: 1, 2: 1})
    assert kept(path) == KeptCalls(
        calls=Calls(passed=7, functions=(function,)),
        failed=frozenset({"bad"}),
        tests=frozenset(map(checksum, "ab")),
    )
    assert [kept(path).has_passed(test) for test in ("a", "bad", "c")] == [True, False, False]


def test_what_gave_none_comes_back(path):
    keep(path, new(7, called(passed=5, returned_none=2), called("g", 30, 1)))
    assert [each.returned_none for each in kept(path).calls.functions] == [2, 0]


def test_tests_that_are_not_known_are_taken_for_passed(path):
    keep(path, new(tests=(), failed={"bad": ()}))
    assert [kept(path).has_passed(test) for test in ("a", "bad")] == [True, False]


@pytest.mark.parametrize("name", ["t\ud800", "t" * 9_000, "it's", "é"])
def test_names_of_any_kind(path, name):
    keep(path, new(2, called(name)._replace(file=f"{name}.py"), failed={name: ()}, tests=[name]))
    found = kept(path)
    assert (found.failed, found.calls.functions[0].function) == ({name}, name)


def test_calls_are_kept_with_a_red_run_too(path):
    with open_history(path) as history:
        begun = begin(history)
        with history.transaction(begun) as transaction:
            from loop_close.memory import Episode, Run

            transaction.save(Run(number=1), Episode(first=1), {}, calls=new(3))
        assert history.calls("pytest").calls.passed == 3


@pytest.mark.parametrize(("first", "second", "most", "expected"), [
    (5, 4, 4, 5), (5, 5, 5, 5), (5, 6, 6, 6), (5, 3, 6, 3), (5, 2, 4, 5), (5, 1, None, 1),
])  # fmt: skip
def test_fuller_calls_stay(path, first, second, most, expected):
    keep(path, new(first))
    keep(path, new(second, most=most))
    assert passed_of(path) == expected


def test_each_source_has_its_own(path):
    keep(path, new(2))
    keep(path, new(3), "other")
    assert (passed_of(path), passed_of(path, "other"), passed_of(path, "third")) == (2, 3, None)


def test_what_is_as_it_was_is_not_written_again(path):
    assert len(keep(path, new())) == 1
    assert keep(path, new()) == []
    moved = called(line=90, lines=((90, 1), (92, 1)), in_import=True)
    assert keep(path, new(2, moved)) == []
    assert len(keep(path, new(2, called(digest="e")))) == 1


def test_what_is_too_large_is_not_kept(path, monkeypatch):
    monkeypatch.setattr(project, "MAX_TEXT", 300)
    keep(path, new(2))
    keep(path, new(3, *(called(f"f{number}") for number in range(20))))
    assert passed_of(path) == 2
    with open_history(path) as history:
        assert (history.notes, numbers(history.runs())) == ([], [1, 2])


def test_reset_forgets_calls(path):
    for source in ("pytest", "other"):
        keep(path, new(), source)
    with open_history(path) as history:
        history.reset("other")
    assert (passed_of(path), passed_of(path, "other")) == (2, None)
    with open_history(path) as history:
        history.reset()
    assert ask(path, "SELECT count(*) FROM calls") == [(0,)]


@pytest.mark.large
def test_calls_of_a_source_without_runs_are_pruned(path):
    keep(path, new(), "old")
    keep(path, new())
    with open_history(path, max_runs=10) as history:
        for _ in range(80):
            save(history, begin(history))
        assert history.runs("old") == ()
    assert (passed_of(path), passed_of(path, "old")) == (2, None)


def test_calls_go_when_there_is_nothing_else(path):
    chance = random.Random(1)
    lines = {number: chance.randrange(10**9) for number in range(40_000)}
    keep(path, new(2, called(lines=lines.items())))
    with open_history(path, max_bytes=100_000) as history:
        begun = begin(history)
        save(history, begun, steps=2)
        assert history.calls("pytest") is None
    assert path.stat().st_size < 100_000


def rows(text, passed=1):
    return f'{{"passed":{passed},"failed":[],"tests":[],"files":{{"a":{text}}}}}'


def assert_forgotten(path):
    """Nothing but the counts is lost, which the next run writes anew."""
    with open_history(path) as history:
        assert history.calls("pytest") is None
        assert history.notes == [DAMAGED_CALLS]
    with open_history(path) as history:
        assert (history.calls("pytest"), history.notes, numbers(history.runs())) == (None, [], [1])
    assert len(keep(path, new(2, most=2))) == 1
    assert passed_of(path) == 2
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("data", [
    "5", "", "{}", "[]", b"", b"\0", zlib.compress(b"{}"), zlib.compress(b"[" * 30_000_000), 5, 1.5,
    '{"passed":1,"failed":null,"tests":[],"files":{}}', "[" * 100_000, '{"passed":' + "9" * 5_000,
    *map(rows, (
        "5", "[5]", "[[]]", '["fghij"]', '[["f","d",1,1,[1]]]', '[["f","d",1,1,["x","y"]]]', '[["f","d",1,1,"xy"]]',
        '[["f",1,1,1,[]]]', '[["f","d",1.5,1,[]]]', '[["f","d",1,true,[]]]', '[["f","d",1,1,[],"x"]]',
        '[["f","d",1,1,[],0,2]]',
        '[["f","d",1,1,[],0,1,1]]',
    )),
    '{"passed":1,"failed":[5],"tests":[],"files":{}}', '{"passed":1,"failed":[],"tests":["x"],"files":{}}',
    '{"passed":"x","failed":[],"tests":[],"files":{}}', '{"passed":1,"failed":[],"tests":[],"files":[]}',
])  # fmt: skip
def test_what_is_no_record_of_ours_is_dropped_alone(path, data):
    keep(path, new(1, called(lines=(), passed=1)))
    ask(path, "UPDATE calls SET data = ?", data)
    assert_forgotten(path)


@pytest.mark.parametrize("data", [
    rows("[]", -1), rows("[]", 2), rows("[]", 10**30), rows("[]", "1e400"), rows("[]", "NaN"),
    *map(rows, (
        '[["f","d",1,2,[]]]', '[["f","d",1,-1,[]]]', '[["f","d",-1,1,[]]]', f'[["f","d",{10**30},1,[]]]',
        '[["f","d",1,1,[0,2]]]', '[["f","d",1,1,[],2]]', '[["f","d",1,1,[0,-1]]]', '[["f","d",1,0,[0,1]]]',
        f'[["f","d",1,1,[{10**30},1]]]', f'[["f","d",1,1,[0,{10**30}]]]',
        '[["f","d",1,1,[],-1]]',
    )),
])  # fmt: skip
def test_numbers_that_count_nothing_are_dropped_alone(path, data):
    keep(path, new(1, called(lines=(), passed=1)))
    ask(path, "UPDATE calls SET data = ?", data)
    assert_forgotten(path)


def test_text_that_is_none_is_dropped_alone(path):
    keep(path, new())
    ask(path, "UPDATE calls SET data = CAST(x'ff' AS TEXT)")
    assert_forgotten(path)


@pytest.mark.parametrize(
    "passed", ["'x'", "x'00'", "CAST(x'ff' AS TEXT)", "1.5", str(1 << 62), str(10**8), "-1"]
)
def test_wrong_number_of_passing_tests_is_written_anew(path, passed):
    keep(path, new())
    ask(path, f"UPDATE calls SET passed = {passed}")
    assert len(keep(path, new(most=2))) == 1
    with open_history(path) as history:
        assert (numbers(history.runs()), history.notes) == ([1, 2], [])
    assert passed_of(path) == 2


@pytest.mark.parametrize("passed", ["'x'", "CAST(x'ff' AS TEXT)", "3", "-1"])
def test_wrong_number_of_passing_tests_is_dropped_alone(path, passed):
    keep(path, new())
    ask(path, f"UPDATE calls SET passed = {passed}")
    assert_forgotten(path)


def test_damaged_counts_that_cannot_be_removed_are_told(path, monkeypatch):
    keep(path, new())
    ask(path, "UPDATE calls SET data = 'x'")
    with open_history(path) as history:
        monkeypatch.setattr(history.database, "write", refused)
        assert history.calls("pytest") is None
        assert len(history.notes) == 1
    assert ask(path, "SELECT data FROM calls") == [("x",)]


def refused(work):
    raise HistoryError("history.sqlite3 is busy")


def test_sound_counts_that_came_meanwhile_stay(path):
    keep(path, new())
    with database(path) as connection:
        project.remove_damaged(connection, "pytest")
    assert passed_of(path) == 2


def to_first_format(path):
    """As it was before calls and tests were remembered."""
    for table in ("calls", "baselines", "accepted", "outbox"):
        ask(path, f"DROP TABLE {table}")
    ask(path, "VACUUM")
    ask(path, "PRAGMA user_version = 1")


@pytest.fixture
def old(path):
    red(path, 3, files={"a": "d"}, contents={"d": b"text"})
    to_first_format(path)
    return path


def test_history_of_the_first_format_loses_nothing(old):
    tables = [name for (name,) in ask(old, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    before = {name: ask(old, f"SELECT * FROM {name}") for name in tables}
    with open_history(old) as history:
        assert history.notes == []
        assert history.calls("pytest") is None
        assert history.content("d") == b"text"
    assert {name: ask(old, f"SELECT * FROM {name}") for name in tables} == before
    assert ask(old, "PRAGMA user_version") == [(FORMAT,)]
    keep(old, new(4), "other")
    assert passed_of(old, "other") == 4
    assert list(old.parent.iterdir()) == [old]


def test_first_format_can_be_looked_at_as_it_is(old):
    assert read(old, lambda remembered: numbers(remembered.rows())) == [1]
    assert ask(old, "PRAGMA user_version") == [(1,)]


def test_run_of_the_first_format_under_way_is_remembered(path):
    with open_history(path) as history:
        begun = begin(history)
    to_first_format(path)
    with open_history(path) as history:
        run = save(history, begun)
        assert history.recorded("pytest", 9) == (run,)


@pytest.mark.parametrize("statement", [
    "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM marks; END",
    "CREATE TABLE calls(a)",
    "DROP TABLE marks",
])  # fmt: skip
def test_first_format_with_other_tables_is_damage(old, statement):
    ask(old, statement)
    with open_history(old) as history:
        assert "(its tables are not from loop-close); it was renamed to" in history.notes[0]
        assert begin(history).number == 1


@pytest.mark.parametrize("version", [2, FORMAT])
def test_later_format_without_its_tables_is_damage(old, version):
    ask(old, f"PRAGMA user_version = {version}")
    with open_history(old) as history:
        assert len(history.notes) == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_first_format_that_may_not_be_written_is_told_in_a_line(old):
    old.chmod(0o400)
    expected = r"^cannot write history\.sqlite3: attempt to write a readonly database$"
    with pytest.raises(HistoryError, match=expected):
        open_history(old)
    old.chmod(0o600)
    assert ask(old, "PRAGMA user_version") == [(1,)]


def test_first_format_on_a_full_disk_stays(old, monkeypatch):
    connect = sqlite3.connect

    def small(*args, **kinds):
        connection = connect(*args, **kinds)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr("loop_close.store.database.sqlite3.connect", small)
    with pytest.raises(HistoryError, match=r"^cannot write history\.sqlite3: database or disk is full$"):
        open_history(old)
    monkeypatch.undo()
    assert ask(old, "PRAGMA user_version") == [(1,)]
    with open_history(old) as history:
        assert (history.notes, numbers(history.runs())) == ([], [1])


def test_first_format_is_waited_for(old):
    with database(old) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryError, match="is busy"):
            open_history(old, timeout=0.01)
        connection.execute("ROLLBACK")
    with open_history(old) as history:
        assert numbers(history.runs()) == [1]


def test_journal_of_a_process_killed_while_it_added_the_table(old):
    code = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "c.execute('CREATE TABLE calls(a)')\n"
        "c.execute('PRAGMA user_version = 3')\n"
        "c.execute('CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999)"
        " SELECT i FROM n')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, old], check=False)
    assert (old.parent / f"{old.name}-journal").exists()
    keep(old, new(), "other")
    with open_history(old) as history:
        assert (history.notes, numbers(history.runs("pytest"))) == ([], [1])


OPENED = """
import sys
from pathlib import Path
from loop_close.store.sqlite import DAMAGED_CALLS, open_history
import sqlite3
print(flush=True)
sys.stdin.readline()
with open_history(Path(sys.argv[1])) as history:
    print(len(history.runs()), *history.notes, flush=True)
"""


def start(path):
    command = [sys.executable, "-c", OPENED, path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def test_processes_that_come_at_once_add_the_table_once(old):
    started = [start(old) for _ in range(3)]
    for each in started:
        each.stdin.write("\n")
        each.stdin.flush()
    assert [each.communicate()[0] for each in started] == ["1\n"] * 3
    assert ask(old, "PRAGMA user_version") == [(FORMAT,)]
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_processes_killed_meanwhile_leave_a_usable_history(old):
    chance = random.Random(20)
    for _ in range(5):
        started = [start(old) for _ in range(2)]
        for each in started:
            each.stdin.write("\n")
            each.stdin.flush()
        for each in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.wait(chance.uniform(0.0005, 0.005))
            each.kill()
            each.communicate()
        assert ask(old, "PRAGMA user_version")[0][0] in (1, FORMAT)
        with open_history(old) as history:
            assert (history.notes, numbers(history.runs())) == ([], [1])
        to_first_format(old)
    assert ask(old, "PRAGMA integrity_check") == [("ok",)]
