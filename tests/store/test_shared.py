"""The database that machines share: its tables, what runs ask of it, and what others may have put there."""

import json
import re
import threading
from pathlib import Path
from time import monotonic, time

import pytest

pytest.importorskip("psycopg", reason="the extra postgres is not installed")

import psycopg
from postgres_server import CONNECTIONS
from shared_reading import ReadableStore

from loop_close.sharing import sent
from loop_close.store.postgres import FORMAT, RefusedRowError, SharedHistoryError
from loop_close.store.shared import Agent, SharedAttempt, SharedRun, SharedStore

A, B, C = (Agent("shop", machine, f"w{machine}", "main") for machine in "abc")
_NUMBERS = iter(range(1, 1 << 30))


def run(agent=A, causes=(), *, began=100.0, lasted=1.0, **fields):
    number = fields.pop("number", next(_NUMBERS))
    ended = None if lasted is None else began + lasted
    made = {"id": f"{number:032x}", "agent": tuple(agent), "source": "pytest", "number": number}
    made |= {"state": "done" if lasted is not None else "running", "started": began, "ended": ended}
    made |= {"is_full": True, "version": "1", "causes": dict.fromkeys(causes, 2)}
    made |= {"verdict": "first-failure" if causes else "green", "failures": len(causes)}
    return SharedRun(**{**made, **fields})


def attempt(*causes, cleared=(), edit="e1", edits=(("cart.py", "total", "a", "b"),)):
    return SharedAttempt(causes=causes, cleared=cleared, edit=edit, edits=edits)


@pytest.fixture
def store(database):
    opened = ReadableStore(database)
    yield opened
    opened.close()


def ask(url, statement, values=()):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def test_tables_are_made_once_though_many_come_at_once(database):
    failed = []

    def open_it():
        try:
            SharedStore(database, monotonic() + 60).close()
        except SharedHistoryError as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ask(database, "SELECT number FROM loop_close.format") == [(FORMAT,)]


def test_newer_format_is_neither_read_nor_written(database):
    SharedStore(database).close()
    ask(database, "UPDATE loop_close.format SET number = 99")
    with pytest.raises(
        SharedHistoryError, match=r"^it was written by a newer loop-close \(format 99; this one"
    ):
        SharedStore(database)
    assert ask(database, "SELECT count(*) FROM loop_close.runs") == [(0,)]


def test_schema_may_be_made_by_an_administrator(database):
    """A role without the right to create a schema, which is the default, uses the one that exists."""
    ask(database, "DROP ROLE IF EXISTS agent_of_tests")
    ask(database, "CREATE ROLE agent_of_tests LOGIN")
    url = database.replace("loop@", "agent_of_tests@")
    with pytest.raises(SharedHistoryError, match=r"^permission denied$"):
        SharedStore(url)
    ask(database, "CREATE SCHEMA loop_close AUTHORIZATION agent_of_tests")
    opened = SharedStore(url)
    opened.send([run(A, number=1)])
    opened.close()
    assert ask(database, "SELECT number FROM loop_close.runs") == [(1,)]
    ask(database, "DROP OWNED BY agent_of_tests CASCADE")


_PAGE = Path(__file__).parents[2] / "docs" / "shared-history.md"


@pytest.mark.skipif(not _PAGE.exists(), reason="the docs are not here")
def test_statements_of_the_docs_for_administrators(store, database):
    """Rights that are enough for an agent of another role, and no old runs."""
    grant, remove = re.findall(r"```sql\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    ask(database, "DROP ROLE IF EXISTS agents")
    ask(database, "CREATE ROLE agents LOGIN")
    other = database.replace("loop@", "agents@")
    with pytest.raises(SharedHistoryError, match=r"^permission denied$"):
        SharedStore(other)
    ask(database, grant)
    agent = SharedStore(other)
    begun = run(A, began=time(), lasted=None, number=1)
    agent.announce(begun)
    agent.withdraw(begun)
    agent.send(
        [run(A, ["1c"], attempt=attempt("1c"), began=time() - days * 86_400, number=days) for days in (1, 91)]
    )
    assert [row.number for row in agent.attempts(C, ["1c"], "1")] == [1, 91]
    assert agent.overlapping(C, 0, time()) == ["a"]
    ask(database, remove)
    assert [row.number for row in agent.attempts(C, ["1c"], "1")] == [1]
    assert ask(database, "SELECT count(*) FROM loop_close.causes") == [(1,)]
    agent.close()
    ask(database, "DROP OWNED BY agents")


def test_read_only_database_is_named(store, database):
    ask(
        database,
        f"ALTER DATABASE {database.partition('@/')[2].partition('?')[0]} SET default_transaction_read_only = on",
    )
    other = SharedStore(database)
    with pytest.raises(SharedHistoryError, match=r"^the database is read-only$"):
        other.send([run()])
    other.close()


def test_transaction_that_is_left_open_is_ended_by_the_server(store):
    with store.together():
        (limits,) = store.execute(
            "SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')"
        ).fetchall()
    assert limits == ("2s", "10s")


def test_row_that_is_never_taken_does_not_stop_the_others(store, database):
    bad, good = run(number=1, passed=1 << 40), run(number=2, exit_code=0xC0000005)
    with pytest.raises(RefusedRowError):
        store.send([good, bad])
    assert ask(database, "SELECT number FROM loop_close.runs") == []
    assert sent([bad, good], store)
    assert ask(database, "SELECT number, exit_code FROM loop_close.runs") == [(2, 0xC0000005)]


def test_failed_migration_leaves_nothing(database, monkeypatch):
    from loop_close.store import postgres

    broken = {1: (*postgres._FORMATS[1], "CREATE TABLE loop_close.runs(again text)")}
    monkeypatch.setattr(postgres, "_FORMATS", broken)
    with pytest.raises(SharedHistoryError, match=r"^the server reports error 42P07$"):
        SharedStore(database)
    assert ask(database, "SELECT to_regclass('loop_close.runs')") == [(None,)]
    monkeypatch.undo()
    SharedStore(database).close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda url: url.replace("host=/", "host=/nowhere/"), "cannot connect"),
        (lambda url: url.replace("/test_", "/not_there_"), None),
        (lambda url: "postgresql://me:secret@[", "cannot connect"),
    ],
)
def test_errors_name_neither_host_nor_user(database, change, words):
    url = change(database)
    with pytest.raises(SharedHistoryError) as caught:
        SharedStore(url)
    text = str(caught.value)
    assert caught.value.__suppress_context__
    assert words in (None, text)
    assert not {"loop", "secret", "nowhere", "me:"} & {*text.replace("'", " ").split()}
    assert "/" not in text


def test_server_that_is_slow_to_connect_is_asked_again_while_there_is_time(database, monkeypatch):
    connect, asked = psycopg.connect, []

    def slow(*given, **options):
        asked.append(given)
        if len(asked) == 1:
            raise psycopg.errors.ConnectionTimeout("connection timeout expired")
        return connect(*given, **options)

    monkeypatch.setattr(psycopg, "connect", slow)
    SharedStore(database, monotonic() + 60).close()
    assert len(asked) == 2
    asked.clear()
    with pytest.raises(SharedHistoryError, match=r"^cannot connect$"):
        SharedStore(database)
    assert len(asked) == 1


def test_what_waits_for_the_server_can_be_ended(store):
    failed = []

    def wait():
        try:
            store._connection.execute("SELECT pg_sleep(3600)")
        except psycopg.Error as error:
            failed.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    store.abort()
    thread.join()
    assert len(failed) == 1
    store.close()
    store.abort()


def test_sending_again_changes_nothing(store, database):
    row = run(causes=["1c"], attempt=attempt("1c"), number=7)
    store.send([row, row])
    store.send([row])
    store.send([run(number=7, causes=["1d"], verdict="green")])
    assert ask(database, "SELECT number, verdict FROM loop_close.runs") == [(7, "first-failure")]
    assert ask(database, "SELECT cause, tests FROM loop_close.causes WHERE cause = '1c'") == [("1c", 2)]
    assert ask(database, "SELECT count(*) FROM loop_close.attempts") == [(1,)]


def test_run_under_way_is_completed_and_one_that_is_gone_is_killed(store, database):
    begun = run(number=1, lasted=None)
    store.announce(begun)
    store.announce(run(number=2, lasted=None), running=(1,))
    states = "SELECT number, state FROM loop_close.runs ORDER BY number"
    assert ask(database, states) == [(1, "running"), (2, "running")]
    store.send([run(number=1)])
    store.announce(run(number=3, lasted=None))
    store.announce(run(B, number=4, lasted=None))
    assert ask(database, states) == [(1, "done"), (2, "killed"), (3, "running"), (4, "running")]


def test_withdrawn_run_overlaps_with_none(store, database):
    begun, done = run(B, number=1, lasted=None), run(B, number=2, began=50, lasted=1)
    store.announce(begun)
    store.send([done])
    store.withdraw(begun)
    store.withdraw(done)
    assert store.overlapping(A, 100, 200) == []
    assert ask(database, "SELECT number FROM loop_close.runs") == [(2,)]


@pytest.mark.parametrize("odd", ["\ud800", "\0", "\\x41", "ä\n\t'\"", "𝄞", "%s", "\\ud83d"])
def test_any_text_comes_back(store, odd):
    agent = Agent(f"p{odd}", f"m{odd}", odd, f"b{odd}", odd)
    edits = ((f"{odd}.py", odd, odd, odd),)
    store.send(
        [
            run(
                agent,
                [f"1{odd}"],
                source=f"s{odd}",
                attempt=attempt(f"1{odd}", edits=edits),
                summary={odd: odd},
            )
        ]
    )
    (row,) = store.runs(agent, f"s{odd}")
    assert (row.source, row.summary) == (f"s{odd}", {odd: odd})
    (found,) = store.attempts(agent._replace(worktree="x"), [f"1{odd}"], "1")
    assert (found.machine, found.branch, found.edits) == (f"m{odd}", f"b{odd}", edits)


def test_attempts_are_of_others_for_the_cause_and_the_version_of_its_key(store):
    store.send(
        [
            run(A, ["1c"], attempt=attempt("1c"), number=100),
            run(B, ["1c", "1d"], attempt=attempt("1c", edit="e2"), number=101, began=200, failures=5),
            run(B, [], attempt=attempt("1c", "1x", cleared=("1c",)), number=102, began=300),
            run(B._replace(project="other"), ["1c"], attempt=attempt("1c")),
            run(C, ["1c"], attempt=attempt("1c"), version="2"),
            run(C, ["1c"], attempt=SharedAttempt(causes=("1c",))),
        ]
    )
    found = store.attempts(A, ["1c", "1z"], "1")
    assert [(row.number, row.edit, row.failing, row.is_cleared) for row in found] == [
        (102, "e1", 0, True),
        (101, "e2", 5, False),
    ]
    assert [row.number for row in store.attempts(B, ["1c"], "1")] == [100]


def test_sessions_in_one_worktree_are_two_agents_if_both_are_known(store):
    one, two = A._replace(session="s1"), A._replace(session="s2")
    store.send([run(one, ["1c"], attempt=attempt("1c"), number=200)])
    assert [row.number for row in store.attempts(two, ["1c"], "1")] == [200]
    assert store.attempts(one, ["1c"], "1") == store.attempts(A, ["1c"], "1") == []


def test_machines_and_since_when_they_fail(store):
    store.send(
        [
            run(A, ["1c"], began=100, commit="old"),
            run(A, [], began=200, commit="good"),
            run(A, ["1c"], began=300, commit="bad"),
            run(A, ["1c"], began=400, commit="worse"),
            run(A, ["1c"], began=500, is_full=False, commit="some"),
            run(B, [], began=350, commit="bad"),
            run(C._replace(branch="other"), ["1c"], began=350),
            run(C, ["1c"], began=350, source="mypy"),
        ]
    )
    found = {row.machine: row.failing for row in store.machines(B, "pytest", ["1c"], "1")}
    assert found["b"] == {}
    ((began, commit),) = found["a"].values()
    assert commit == "bad"
    assert found.keys() == {"a", "b"}
    assert began == store.moment(300)


def test_overlaps_are_of_other_agents_and_of_runs_that_are_not_long_gone(store):
    store.send([run(B, began=100, lasted=10), run(A, began=100, lasted=10), run(C, began=111, lasted=5)])
    assert store.overlapping(A, 105, 108) == ["b"]
    assert store.overlapping(A, 110, 120) == ["b", "c"]
    assert store.overlapping(A, 120, 130) == []
    store.announce(run(B, began=1_000, lasted=None))
    assert store.overlapping(A, 2_000, 2_001) == ["b"]
    assert store.overlapping(A, 1_000 + 7 * 3_600, 1_000 + 7 * 3_600) == []
    assert store.overlapping(A._replace(project="other"), 100, 120) == []


def test_killed_run_overlaps_only_for_a_while_whenever_that_was_noticed(store, database):
    store.announce(run(B, number=1, began=1_000, lasted=None))
    assert ask(database, "SELECT upper_inf(span) FROM loop_close.runs") == [(False,)]
    store.announce(run(B, number=2, began=1_000 + 100 * 3_600, lasted=None))
    assert store.overlapping(A, 1_000 + 3_600, 1_000 + 3_600) == ["b"]
    assert store.overlapping(A, 1_000 + 50 * 3_600, 1_000 + 50 * 3_600) == []


def test_what_failed_only_during_an_overlap(store):
    store.send(
        [
            run(A, ["1c"], began=100, lasted=10, tree="t", number=300),
            run(B, began=105, lasted=10, tree="u"),
            run(A, [], began=200, tree="t"),
            run(A, ["1d"], began=300, tree="t", number=301),
        ]
    )
    rows = {row.cause: row.is_overlapped for row in store.runs_with(C, ["1c", "1d"], "1")}
    assert rows == {"1c": True, "1d": False}
    assert store.passed_alone(C, "pytest", {("1c", "t"), ("1c", "u"), ("1c", "")}) == {"1c"}
    assert store.passed_alone(C, "pytest", {("1c", "u")}) == set()
    store.send([run(A, ["1c"], began=1_000 + number, tree="t") for number in range(9)])
    assert store.passed_alone(C, "pytest", {("1c", "t")}) == {"1c"}  # though the last ones have it
    assert store.passed_alone(C, "mypy", {("1c", "t")}) == set()


def test_last_full_run_on_a_tree_says_whether_a_source_is_green(store):
    store.send(
        [
            run(A, tree="t", began=100),
            run(B, ["1c"], tree="t", began=200),
            run(C, tree="t", source="mypy", began=100),
            run(C, tree="t", source="ruff", is_full=False),
            run(C, tree="u", source="docs"),
        ]
    )
    assert store.green_sources(A, "t", ["pytest", "mypy", "ruff", "docs"]) == {"mypy": "c"}
    store.send([run(C, tree="t", began=300)])
    assert store.green_sources(A, "t", ["pytest"]) == {"pytest": "c"}


HOSTILE = {
    "edits": [
        b"",
        b"\xff",
        b"[",
        b"\x78\x9c\x00",
        b'[["a"]]',
        b"9" * 2_000_000,
        json.dumps([[1, 2, 3, 4]]).encode(),
    ],
    "machine": ["x" * 5_000, "\\", "\\x"],
}


@pytest.mark.parametrize(("column", "value"), [(k, v) for k, values in HOSTILE.items() for v in values])
def test_rows_that_are_not_ours_are_left_out(store, database, column, value):
    store.send([run(A, ["1c"], attempt=attempt("1c")), run(B, ["1c"], attempt=attempt("1c"), number=400)])
    ask(database, f"UPDATE loop_close.attempts SET {column} = %s WHERE number <> 400", (value,))
    assert [row.number for row in store.attempts(C, ["1c"], "1")] == [400]


@pytest.mark.parametrize("column", ["machine", "branch", "edit"])
def test_huge_text_of_others_is_not_fetched(store, database, column):
    store.send([run(A, ["1c"], attempt=attempt("1c"))])
    ask(database, f"UPDATE loop_close.attempts SET {column} = repeat('x', 5000000)")
    sizes = []
    rows = store.rows
    store.rows = lambda *given: [
        sizes.append(max(len(v) for v in row if isinstance(v, str))) or row for row in rows(*given)
    ]
    assert store.attempts(C, ["1c"], "1") == []
    assert sizes == [2_001]


@pytest.mark.parametrize("value", [b"", b"\xff\xfe", b"[]", b'{"marks": 5}', b"\x78\x9cxx"])
def test_damaged_records_are_left_out(store, database, value):
    store.send([run(A, record={"passed": 3}, number=1), run(A, record={"passed": 3}, number=2)])
    ask(database, "UPDATE loop_close.runs SET record = %s, summary = %s WHERE number = 1", (value, value))
    assert [each.number for each in store.recorded(A, "pytest", 9)] == [2]
    assert 2 in [row.number for row in store.runs(A)]


@pytest.mark.slow
def test_every_question_goes_by_an_index(store, database, monkeypatch):
    from benchmarks import shared

    monkeypatch.setattr(shared, "_RUNS", 20_000)
    shared._fill(database)
    plans = []

    def explained(statement, values):
        plan = store.work(lambda: store.execute(f"EXPLAIN {statement}", values).fetchall())
        plans.append("\n".join(line for (line,) in plan))
        return []

    monkeypatch.setattr(store, "rows", explained)
    agent, causes = Agent("shop", "m3", "w3", "main"), ["1c1", "1c2"]
    store.attempts(agent, causes, "1")
    store.machines(agent, "pytest", causes, "1")
    store.overlapping(agent, 1.0, 2.0)
    store.runs_with(agent, causes, "1")
    store.passed_alone(agent, "pytest", {("1c1", "t5"), ("1c2", "t6")})
    store.green_sources(agent, "t5", ["pytest", "mypy"])
    store.runs(agent, "pytest", 9)
    store.recorded(agent, "pytest", 9)
    assert len(plans) == 8
    assert [plan for plan in plans if "Seq Scan" in plan] == []


@pytest.mark.slow
def test_two_hundred_writers_at_once_lose_nothing(database):
    """Each with a connection of its own, of which the server allows fewer: those that are refused try again."""
    writers, each = 200, 5
    assert writers > 3 * CONNECTIONS
    start, failed = threading.Barrier(writers), []

    def write(writer):
        agent = Agent("shop", f"m{writer}", "w", "main")
        rows = [run(agent, ["1c"], number=number, began=100.0 * number) for number in range(1, each + 1)]
        rows = [SharedRun(**{**fields(row), "id": f"{writer:016x}{row.number:016x}"}) for row in rows]
        start.wait()
        try:
            for row in rows:
                store = SharedStore(database, monotonic() + 120)
                store.send([row])
                store.close()
        except SharedHistoryError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ask(database, "SELECT count(*), count(DISTINCT machine) FROM loop_close.runs") == [(1_000, 200)]
    assert ask(database, "SELECT count(*) FROM loop_close.causes") == [(1_000,)]


def fields(row):
    return {name: getattr(row, name) for name in row.__dataclass_fields__}
