import os
from dataclasses import asdict

import pytest

from loop_close import workspace
from loop_close.calls import Called, Calls
from loop_close.memory import Edits, Episode, FailureRecord, Run
from loop_close.model import EditsRun
from loop_close.progress.advance import advance
from loop_close.snapshot import edits_run, edits_since, since_green, take_snapshot
from loop_close.store.sqlite import open_history


class Loop:
    """Runs of a project, as far as its files go."""

    def __init__(self, root):
        self.root = root
        self.path = root / ".loop-close" / "history.sqlite3"
        self.now = 1000.0

    def run(self, during=lambda: None):
        with open_history(self.path) as history:
            seen = take_snapshot(self.root, history.files(), ())
            self.now += 10
            begun = history.begin(
                "pytest",
                seen.entries,
                seen.contents,
                pid=1,
                birth="",
                host="h",
                now=self.now,
                is_alive=lambda p, b: False,
            )
            edits = edits_since(history, begun, seen)
            during()
            with history.transaction(begun) as transaction:
                transaction.save(Run(number=begun.number), Episode(), {}, now=self.now + 5)
            return edits, seen.code()

    def write(self, name, text, at=None):
        path = self.root / name
        path.write_text(text)
        at = self.now + 7 if at is None else at  # after the last run
        os.utime(path, (at, at))


@pytest.fixture
def loop(tmp_path):
    made = Loop(tmp_path)
    made.write("a.py", "x = 1\n")
    return made


def test_the_first_run_has_nothing_to_compare_with(loop):
    assert loop.run()[0].kind == "unknown"
    assert loop.run()[0].kind == "none"


def test_an_edit_and_its_return(loop):
    _, first = loop.run()
    loop.write("a.py", "x = 2\n")
    edits, second = loop.run()
    assert [(e.file, e.function, e.change) for e in edits.edits] == [("a.py", "<module>", "edited")]
    loop.write("a.py", "x = 1\n")
    assert loop.run()[1] == first != second


def test_data_that_the_tests_wrote_is_no_edit(loop):
    loop.run(lambda: loop.write("out.json", "1", at=loop.now + 1))
    assert loop.run()[0].kind == "none"


def test_data_that_was_written_between_is_one(loop):
    loop.run()
    loop.write("out.json", "1")
    assert loop.run()[0].kind == "effective"


def test_code_that_the_tests_wrote_is_one(loop):
    loop.run(lambda: loop.write("made.py", "y = 1", at=loop.now + 1))
    assert loop.run()[0].kind == "effective"


def test_data_is_no_part_of_the_code(loop):
    _, first = loop.run()
    loop.write("out.json", "1")
    assert loop.run()[1] == first


def test_lists_of_two_kinds_are_not_compared(loop, monkeypatch):

    loop.run()
    (loop.root / ".git").mkdir()
    loop.write("ignored.py", "SECRET = 1\n")
    monkeypatch.setattr(workspace, "_by_git", lambda root: (["a.py"], ""))
    assert loop.run()[0].kind == "unknown"
    assert loop.run()[0].kind == "none"
    monkeypatch.setattr(workspace, "_by_git", lambda root: ([], "fatal: detected dubious ownership"))
    assert loop.run()[0].kind == "unknown"
    assert loop.run()[0].kind == "none"


def test_files_beside_the_root(tmp_path):
    root = tmp_path / "tests"
    for name, text in (("tests/test_a.py", "a"), ("beside.py", "b"), ("data.json", "c")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = take_snapshot(root, {}, (), [tmp_path])
    assert {n for n in found.entries if not n.endswith("//listed")} == {"test_a.py", "../beside.py"}
    again = take_snapshot(root, found.entries, (), [tmp_path])
    assert again.entries.keys() == found.entries.keys()
    assert again.code() == found.code()


class Episodes(Loop):
    """Runs with their outcomes, and the edits since the last green one."""

    def turn(self, *failing, selection="", during=lambda: None, calls=None):
        """A run in which these tests fail; its number of the green run, its edits since that, or which it ran."""
        with open_history(self.path) as history:
            seen = take_snapshot(self.root, history.files(), ())
            self.now += 10
            process = {"pid": 1, "birth": "", "host": "h", "is_alive": lambda p, b: False}
            begun = history.begin("pytest", seen.entries, seen.contents, now=self.now, **process)
            during()
            green, ran = edits_run(history, begun, calls) if calls is not None else (0, None)
            run = Run(
                number=begun.number,
                marks=tuple(
                    FailureRecord(test=f"test_a.py::{test}", exact=test, shape=test) for test in failing
                ),
                outcomes={"test_a.py::one": "passed"} if "one" not in failing and not selection else {},
                edits=edits_since(history, begun, seen),
                is_good=not failing,
                exit_code=1 if failing else 0,
                selection=selection,
                is_full=not selection,
            )
            with history.transaction(begun) as transaction:
                made = advance(transaction.episode, run)
                verdict = "green" if run.is_good and not made.progress.step.unresolved else "no-progress"
                told = {"edits_run": {**asdict(ran), "since": green}} if ran is not None else {}
                transaction.save(run, made.episode, {"verdict": verdict, **told}, now=self.now + 5)
            if calls is not None:
                return ran
            return since_green(history, begun, seen, made.progress.episode)


@pytest.fixture
def episodes(tmp_path):
    made = Episodes(tmp_path)
    made.write("a.py", "def f():\n    return 1\n\n\ndef g():\n    return 1\n")
    return made


def functions(edits):
    return [(edit.function, edit.diff.splitlines()[1:]) for edit in edits.edits]


def edit(episodes, old, new):
    episodes.write("a.py", (episodes.root / "a.py").read_text().replace(old, new, 1))


def test_the_diff_since_green_is_the_net_one_in_every_run_of_the_episode(episodes):
    episodes.turn()
    for number in (2, 3):
        edit(episodes, f"return {number - 1}", f"return {number}")
        run, edits = episodes.turn("one")
        assert (run, functions(edits)) == (1, [("f", ["-    return 1", f"+    return {number}"])])
    run, edits = episodes.turn("one")
    assert (run, edits.kind, len(edits.edits)) == (1, "effective", 1)
    edit(episodes, "return 3", "return 1")
    assert episodes.turn("one") == (1, Edits(kind="none"))


def test_it_begins_anew_after_the_next_green_run(episodes):
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    episodes.turn("one")
    episodes.turn()
    edit(episodes, "return 1", "return 5")
    run, edits = episodes.turn("one")
    assert (run, [name for name, _ in functions(edits)]) == (3, ["g"])


def test_without_a_green_run_nothing_is_known_of_it(episodes):
    assert episodes.turn("one") == (0, None)
    edit(episodes, "return 1", "return 2")
    assert episodes.turn("one") == (0, None)


def test_a_green_run_of_some_tests_hides_no_edit(episodes):
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    episodes.turn(selection="-k two")
    edit(episodes, "return 1", "return 3")
    run, edits = episodes.turn("one")
    assert (run, [name for name, _ in functions(edits)]) == (1, ["f", "g"])


def test_a_green_run_of_the_same_tests_will_do_until_others_fail(episodes):
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    episodes.turn(selection="-k two")
    edit(episodes, "return 1", "return 3")
    run, edits = episodes.turn("two", selection="-k two")
    assert (run, [name for name, _ in functions(edits)]) == (2, ["g"])
    run, edits = episodes.turn("two", "one")  # of all tests: this one may have failed before run 2
    assert (run, [name for name, _ in functions(edits)]) == (1, ["f", "g"])


def test_data_that_tests_wrote_in_any_of_the_runs_is_no_edit_since_green(episodes):
    episodes.turn(during=lambda: episodes.write("out.json", "1", at=episodes.now + 1))
    episodes.turn("one", during=lambda: episodes.write("more.json", "1", at=episodes.now + 1))
    episodes.turn("one")
    assert episodes.turn("one") == (1, Edits(kind="none"))
    episodes.write("out.json", "23")
    assert [each.file for each in episodes.turn("one")[1].edits] == ["out.json"]


def test_code_comes_first(episodes):
    episodes.turn()
    for name in ("a.json", "conftest.py", "test_a.py", "z.py"):
        episodes.write(name, "x = 1\n")
    edit(episodes, "return 1", "return 2")
    edits = episodes.turn("one")[1]
    assert [each.file for each in edits.edits] == ["a.py", "z.py", "a.json", "conftest.py", "test_a.py"]


def test_what_is_not_kept_any_more_is_not_known(episodes):
    import sqlite3

    episodes.turn()
    edit(episodes, "return 1", "return 2")
    episodes.turn("one")
    connection = sqlite3.connect(episodes.path, isolation_level=None)
    connection.execute("UPDATE project SET floor = snapshot")
    connection.close()
    assert episodes.turn("one") == (0, None)


def test_files_that_were_listed_otherwise_are_not_compared_with_the_green_run(episodes, monkeypatch):

    episodes.turn()
    (episodes.root / ".git").mkdir()
    monkeypatch.setattr(workspace, "_by_git", lambda root: (["a.py"], ""))
    assert episodes.turn("one") == (0, None)


def calls(*functions, passed=1):
    return Calls(
        passed=1, functions=tuple(Called(file="a.py", line=1, function=f, passed=passed) for f in functions)
    )


def test_edited_functions_that_no_test_ran(episodes):
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    edit(episodes, "return 1", "return 2")
    assert episodes.turn(calls=calls("f")) == EditsRun(edited=2, not_run=(("a.py", "g"),))


def test_they_are_named_until_a_test_runs_them_or_code_is_edited(episodes):
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    left = EditsRun(edited=1, not_run=(("a.py", "f"),))
    assert [episodes.turn(calls=calls("g")) for _ in range(3)] == [left] * 3
    episodes.write("test_a.py", "x = 1\n")
    assert episodes.turn(calls=calls("g")) == left
    assert episodes.turn(calls=calls("g", "f")) == EditsRun(edited=1)
    assert episodes.turn(calls=calls("g")) == EditsRun()
    edit(episodes, "return 2", "return 3")
    assert episodes.turn(calls=calls("g")) == left
    edit(episodes, "return 1", "return 4")
    assert episodes.turn(calls=calls("g")) == EditsRun(edited=1)


def test_the_edits_of_the_whole_episode_count(episodes):
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    episodes.turn("one")
    edit(episodes, "return 1", "return 2")
    episodes.turn(selection="-k two")
    assert episodes.turn(calls=calls("x")) == EditsRun(edited=2, not_run=(("a.py", "f"), ("a.py", "g")))


def test_without_a_green_run_the_run_before_counts(episodes):
    assert episodes.turn(calls=calls("f")) is None
    (episodes.root / ".loop-close" / "history.sqlite3").unlink()
    episodes.turn("one")
    edit(episodes, "return 1", "return 2")
    assert episodes.turn(calls=calls("g")) == EditsRun(edited=1, not_run=(("a.py", "f"),))


def test_tests_that_run_nothing_that_is_seen_tell_nothing(episodes):
    """As in processes of their own."""
    episodes.turn()
    edit(episodes, "return 1", "return 2")
    assert episodes.turn(calls=calls("f", passed=0)) is None
    assert episodes.turn(calls=calls()) is None


def test_tests_and_data_are_no_code_under_test(episodes):
    episodes.turn()
    for name in ("test_a.py", "conftest.py", "tests.py", "a.pyi", "a.txt"):
        episodes.write(name, "def h():\n    return 1\n")
    assert episodes.turn(calls=calls("f")) == EditsRun()


def test_of_many_functions_some_are_named(episodes):
    episodes.turn()
    episodes.write("b.py", "".join(f"def f{n:03}():\n    return {n}\n\n" for n in range(60)))
    ran = episodes.turn(calls=calls("f"))
    assert (ran.edited, len(ran.not_run), ran.omitted) == (60, 40, 20)
    assert ran.not_run[0] == ("b.py", "f000")


def test_a_run_knows_from_its_begin_whether_code_was_edited(episodes):
    def is_edited():
        with open_history(episodes.path) as history:
            seen = take_snapshot(episodes.root, history.files(), ())
            process = {"pid": 1, "birth": "", "host": "h", "is_alive": lambda p, b: False}
            begun = history.begin("pytest", seen.entries, seen.contents, now=episodes.now, **process)
            history.abandon(begun)
            return begun.is_edited

    assert not is_edited()
    episodes.turn()
    assert not is_edited()
    episodes.write("test_a.py", "x = 1\n")
    episodes.write("data.json", "1")
    assert not is_edited()
    edit(episodes, "return 1", "return 2")
    assert is_edited()
    episodes.turn(selection="-k two")
    assert is_edited()
    episodes.turn()
    assert not is_edited()
