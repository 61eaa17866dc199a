import os

import pytest

from loop_close.look import edits_since, look
from loop_close.memory import Episode, Run
from loop_close.store.sqlite import open_history


class Loop:
    """Runs of a project, as far as its files go."""

    def __init__(self, root):
        self.root = root
        self.path = root / ".loop-close" / "history.sqlite3"
        self.now = 1000.0

    def run(self, during=lambda: None):
        with open_history(self.path) as history:
            seen = look(self.root, history.files(), ())
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
            with history.turn(begun) as turn:
                turn.save(Run(number=begun.number), Episode(), {}, now=self.now + 5)
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
    from loop_close.workspace import listing

    loop.run()
    (loop.root / ".git").mkdir()
    loop.write("ignored.py", "SECRET = 1\n")
    monkeypatch.setattr(listing, "_by_git", lambda root: (["a.py"], ""))
    assert loop.run()[0].kind == "unknown"
    assert loop.run()[0].kind == "none"
    monkeypatch.setattr(listing, "_by_git", lambda root: ([], "fatal: detected dubious ownership"))
    assert loop.run()[0].kind == "unknown"
    assert loop.run()[0].kind == "none"


def test_files_beside_the_root(tmp_path):
    root = tmp_path / "tests"
    for name, text in (("tests/test_a.py", "a"), ("beside.py", "b"), ("data.json", "c")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = look(root, {}, (), [tmp_path])
    assert {n for n in found.entries if not n.endswith("//listed")} == {"test_a.py", "../beside.py"}
    again = look(root, found.entries, (), [tmp_path])
    assert again.entries.keys() == found.entries.keys()
    assert again.code() == found.code()
