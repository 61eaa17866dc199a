"""Runs of several agents that share a history: each with a store of its own, and a real PostgreSQL server."""

import os
import socket
import subprocess
import sys
import threading
import time
from uuid import UUID, uuid4

import msgspec
import pytest

from loop_close.keys import records_of
from loop_close.model import Evidence, Failure, RootCause
from loop_close.records import Edit, Edits, FailureRecord, Run
from loop_close.sharing import FORMAT, SharedError, SharedStore, Sharing, agent_of, edit_key, within
from loop_close.store.database import pack, unpack

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")

FAILURE = Failure(nodeid="test_a.py::test_a", phase="call", message="assert 1 == 2", file="test_a.py", line=1)
CAUSE = RootCause(
    id="c0ffee00",
    kind="test-failure",
    evidence=(Evidence(kind="test-failure", snippet="x", file="test_a.py", failure=FAILURE),),
)
(KEY,) = {record.cause for record in records_of([CAUSE], "")}
FAILED = FailureRecord(source="pytest@cpython-3.13", test="test_a.py::test_a", cause=KEY)
EDIT = Edits(kind="effective", edits=(Edit(file="a.py", function="f", diff=" def f():\n-    1\n+    2"),))


def ask(url, statement, values=()):
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement, values)
        return done.fetchall() if done.description else []


class Agent:
    """A clone of the project on a machine of its name."""

    def __init__(self, folder, url, name, project="shop"):
        self.root = folder / name
        self.root.mkdir(exist_ok=True)
        self.url, self.names = url, {"machine": name, "project": project}
        self.sharing = self.share()

    def share(self):
        sharing = Sharing(self.url, self.root)
        sharing.agent = sharing.agent._replace(**self.names)
        return sharing

    def run(self, *failures, before=(), **fields):
        """A run that ends, and is sent."""
        began = time.time() + fields.pop("later", 0)
        fields = {"id": str(uuid4()), "number": 7, "began": began, **fields}
        run = Run(exit_code=int(bool(failures)), failures=failures, **fields)
        sharing = self.sharing = self.share()
        sharing.exchange([(run, sharing.attempts_of(run, before))], [])
        return run

    def learn(self, edits=()):
        self.sharing = self.share()
        return self.sharing.exchange([], [CAUSE], edits)


@pytest.fixture
def agents(tmp_path, database):
    return lambda name, **names: Agent(tmp_path, database, name, **names)


def test_what_another_agent_tried_for_the_cause(agents):
    there, here = agents("there"), agents("here")
    there.run(FAILED)
    tried = there.run(FAILED, before=[FAILED], edits=EDIT)
    (found,) = here.learn()
    assert (found.cause, found.machine, found.run, found.failing) == (CAUSE.id, "there", tried.number, 1)
    assert found.edits == (("a.py", "f", "1", "2"),)
    assert (found.is_cleared, found.is_same) == (False, False)
    there.run(before=[FAILED], edits=EDIT, later=1)
    found = here.learn([EDIT])
    assert [(each.is_cleared, each.is_same, each.failing) for each in found] == [
        (True, True, 0),
        (False, True, 1),
    ]
    assert there.learn() == ()


def test_run_of_some_tests_does_not_say_that_a_cause_is_gone(agents):
    agents("there").run(before=[FAILED], edits=EDIT, scope="-k other")
    assert [each.is_cleared for each in agents("here").learn()] == [False]


def test_run_without_an_edit_is_no_attempt(agents):
    agents("there").run(FAILED, before=[FAILED], edits=Edits(kind="ineffective", edits=EDIT.edits))
    assert agents("here").learn() == ()


def test_a_run_is_sent_once_and_not_at_all_without_a_server(agents, tmp_path, database):
    offline = Agent(tmp_path, "postgresql://nobody@/none?host=/nowhere", "a")
    offline.run(FAILED, before=[FAILED], edits=EDIT)
    assert offline.sharing.note == "shared history: cannot connect"
    assert offline.learn() == ()
    for _ in range(2):
        agents("a").run(FAILED, before=[FAILED], edits=EDIT, id=str(UUID(int=1)))
    assert ask(database, "SELECT count(*) FROM loop_close.attempts") == [(1,)]


def test_server_that_does_not_answer_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("loop_close.sharing.SECONDS", 0.3)
    server = socket.create_server(("127.0.0.1", 0))
    silent = Agent(tmp_path, f"postgresql://me:hunter2@127.0.0.1:{server.getsockname()[1]}/x", "a")
    silent.run(FAILED, before=[FAILED], edits=EDIT)
    assert silent.sharing.note == "shared history: no answer within 0.3 seconds"
    server.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda url: url.replace("host=/", "host=/nowhere/"), "cannot connect"),
        (lambda url: url.replace("/test_", "/not_there_"), None),
        (lambda url: "postgresql://me:secret@[", "cannot connect"),
    ],
)
def test_errors_name_neither_host_nor_user(database, change, words):
    with pytest.raises(SharedError) as caught:
        SharedStore(change(database))
    assert caught.value.__suppress_context__
    assert words in (None, str(caught.value))
    assert not {"loop", "secret", "nowhere", "me:"} & {*str(caught.value).replace("'", " ").split()}
    assert "/" not in str(caught.value)


def test_fault_in_an_exchange_costs_a_note_without_its_text():
    def fail():
        raise ValueError("postgresql://me:secret@host")

    with pytest.raises(SharedError, match=r"^internal error of loop-close: ValueError$"):
        within(60, fail)


def test_agents_that_come_at_once_make_the_tables_once(database):
    failed, start = [], threading.Barrier(12)

    def connect():
        start.wait()
        try:
            SharedStore(database).close()
        except SharedError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=connect) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ask(database, "SELECT number FROM loop_close.format") == [(FORMAT,)]


def test_tables_of_another_format_are_left_alone(database):
    SharedStore(database).close()
    ask(database, "UPDATE loop_close.format SET number = 1")
    with pytest.raises(SharedError, match=rf"another version of loop-close \(format 1, not {FORMAT}\)"):
        SharedStore(database)
    assert ask(database, "SELECT number FROM loop_close.format") == [(1,)]


def test_grant_of_the_documentation_is_enough(agents, database, tmp_path):
    SharedStore(database).close()
    ask(database, "CREATE ROLE agents LOGIN")
    try:
        ask(database, "GRANT USAGE ON SCHEMA loop_close TO agents")
        ask(database, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA loop_close TO agents")
        agent = Agent(tmp_path, database.replace("loop@", "agents@"), "a")
        agent.run(FAILED, before=[FAILED], edits=EDIT)
        assert agent.sharing.note == ""
    finally:
        ask(database, "DROP OWNED BY agents")
        ask(database, "DROP ROLE agents")


@pytest.mark.parametrize("record", [b"", b"\xff", b"=\x81\xa2id\x05", b"z\x78\x9c", b"=" + b"x" * 300_000])
def test_rows_that_are_not_ours_are_left_out(agents, database, record):
    bad, good = agents("bad"), agents("good")
    bad.run(FAILED, before=[FAILED], edits=EDIT)
    good.run(FAILED, before=[FAILED], edits=EDIT)
    ask(
        database,
        "UPDATE loop_close.attempts SET record = %s WHERE worktree = %s",
        (record, bad.sharing.agent.worktree),
    )
    assert [each.machine for each in agents("here").learn()] == ["good"]


def test_names_of_others_are_bounded_lines(agents, database):
    agents("there").run(FAILED, before=[FAILED], edits=EDIT)
    ((record,),) = ask(database, "SELECT record FROM loop_close.attempts")
    sent = msgspec.msgpack.decode(unpack(record))
    sent |= {"machine": "two\nlines", "branch": "x" * 5_000}
    ask(database, "UPDATE loop_close.attempts SET record = %s", (pack(msgspec.msgpack.encode(sent)),))
    (found,) = agents("here").learn()
    assert (found.machine, len(found.branch)) == ("two lines", 200)


@pytest.mark.parametrize("odd", ["\0", "\\x41", "ä\t'\"", "𝄞", "%s", "\ud800"])
def test_any_text_can_be_sent(agents, odd):
    there = agents("there", project=f"p{odd}")
    other = FailureRecord(source=odd, test=odd, cause=f"k{odd}")
    there.run(FAILED, before=[other, FAILED], edits=EDIT)
    assert there.sharing.note == ""
    assert len(agents("here", project=f"p{odd}").learn()) == 1


def test_edits_are_the_same_wherever_they_are_made():
    def changed(*diffs, **fields):
        return Edits(kind="effective", edits=tuple(Edit(file="a.py", diff=diff) for diff in diffs), **fields)

    assert edit_key(changed(" x\n-1\n+2", "+3")) == edit_key(changed("+3", " y\n-1\n+2 ")) != ""
    assert edit_key(changed("-1\n+2")) != edit_key(changed("-1\n+3"))
    assert edit_key(changed("-1\n+2", omitted=1)) == edit_key(changed("")) == edit_key(Edits()) == ""


def git(folder, *words):
    identity = ("-c", "user.name=n", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True)


def test_clones_are_one_project_and_two_worktrees(tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    git(first, "init", "-q", "-b", "work")
    git(first, "commit", "-q", "--allow-empty", "-m", "one")
    git(tmp_path, "clone", "-q", first, "second")
    git(tmp_path / "second", "remote", "remove", "origin")
    one, two = (agent_of(tmp_path / name, {}) for name in ("first", "second"))
    assert (one.project, one.machine, one.branch) == (two.project, two.machine, "work")
    assert one.worktree != two.worktree
    for address in ("git@host:a/b.git", "https://me:secret@HOST/a/b", "ssh://git@host:22/a/b.git/"):
        git(first, "config", "remote.origin.url", address)
        git(tmp_path / "second", "config", "remote.origin.url", "https://host/a/b")
        assert agent_of(first, {}).project == agent_of(tmp_path / "second", {}).project
    environ = {"LOOP_CLOSE_MACHINE": "me", "LOOP_CLOSE_PROJECT": "shop", "CI_COMMIT_REF_NAME": "x"}
    named = agent_of(first, environ)
    assert (named.machine, named.project, named.branch) == ("me", "shop", "work")


def test_sharing_does_not_load_the_driver_until_it_is_needed():
    code = "import sys, loop_close.sharing; print('psycopg' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=True
    )
    assert done.stdout == "False\n"
