"""``loop-close history``, ``explain``, ``report`` and ``reset``: what they tell of runs, and leave."""

import json
import re
from pathlib import Path

import pytest
from remembered import NO_RUN, called, document, history_path, remember, run_of, state_of

RUNS = (
    "a b",
    run_of("a", check="tests", command=("pytest",)),
    run_of("a", check="tests", changed=("out.csv",)),
    run_of("", is_finished=False, exit_code=None),
    run_of("", is_done=True, check="tests"),
)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_runs_are_a_table_the_newest_last(tmp_path):
    remember(tmp_path, *RUNS)
    code, shown, errors = called("history")
    assert (code, errors) == (0, "")
    rows = [re.sub(r" {2,}", " | ", line.strip()).split(" | ") for line in shown.splitlines()]
    assert rows[0] == ["run", "when", "what", "result", "failing", "tests", "edited"]
    assert [(row[0], *row[2:]) for row in rows[1:]] == [
        ("1", "pytest -q", "red", "2", "3", "total"),
        ("2", "check tests", "red", "1", "3", "total"),
        ("3", "check tests", "void", "1", "3", "total"),
        ("4", "pytest -q", "unfinished", "0", "3", "total"),
        ("5", "check tests", "done", "0", "3", "total"),
    ]
    assert called("history", "--limit", "2")[1].splitlines()[1:] == shown.splitlines()[-2:]


def test_json_has_the_records_of_all_runs(tmp_path):
    remember(tmp_path, *["a"] * 21)
    code, shown = document("history")
    assert (code, shown["schema"], len(shown["runs"])) == (0, "loop-close.history/2", 21)
    assert len(called("history")[1].splitlines()) == 21  # with the headings: the last twenty
    run = shown["runs"][-1]
    assert (run["number"], run["exit_code"], run["failures"][0]["test"]) == (21, 1, "test_a.py::a")


def test_signals_are_told_with_their_runs_and_tests(tmp_path):
    remember(tmp_path, *["a=1"] * 5)
    code, shown, errors = called("explain")
    assert (code, errors) == (0, "")
    assert re.search(r"^repeated-failure: .* \(runs [\d, ]+\)\n  test_a\.py::a", shown, re.MULTILINE)
    assert "repeated-failure" in [each["kind"] for each in document("explain")[1]]


def test_the_page_of_the_runs_is_written_and_replaced(tmp_path):
    remember(tmp_path, *RUNS)
    code, shown, errors = called("report", "--html", "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert (code, shown, errors) == (0, f"written: out.html ({len(page.encode()):,} bytes)\n", "")
    assert "test_a.py::a" in page
    called("report", "--html", "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("mine.html", "mine.html exists and was not written by loop-close; remove it or name another file"),
        (".", ". is a folder; name a file"),
        ("mine.html/x", "mine.html/x cannot be written: "),
    ],
)
def test_the_page_replaces_nothing_of_others(tmp_path, path, said):
    remember(tmp_path, "a")
    (tmp_path / "mine.html").write_text("<!doctype html>\nmine")
    code, shown, errors = called("report", "--html", path)
    assert (code, shown) == (64, "")
    assert errors.startswith(f"loop-close: --html: {said}")
    assert (tmp_path / "mine.html").read_text() == "<!doctype html>\nmine"


def test_reset_forgets_the_runs_and_nothing_else(tmp_path):
    remember(tmp_path, "a", "a")
    for name in (".loop-close/report.json", ".loop-close/failed.txt", "nextprompt.md"):
        (tmp_path / name).write_text("kept")
    (tmp_path / ".loop-close" / "undo.json").write_text("names a run by its number")
    before = state_of(tmp_path)
    assert called("reset") == (0, "2 runs forgotten\n", "")
    after = state_of(tmp_path)
    assert {name for name in before if before[name] != after.get(name)} == {
        history_path(tmp_path).relative_to(tmp_path),
        Path(".loop-close/undo.json"),
    }
    assert called("history") == (64, "", NO_RUN)


def test_where_nothing_is_remembered_reset_makes_no_file(tmp_path):
    assert called("reset") == (0, "0 runs forgotten\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["history"], ["explain"], ["report", "--html", "x.html"]])
def test_without_a_history_each_command_says_what_to_run(tmp_path, words):
    assert called(*words) == (64, "", NO_RUN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["history"], ["explain"], ["report", "--html", "x.html"]])
def test_a_damaged_history_is_told_and_left(tmp_path, words):
    history_path(tmp_path).parent.mkdir()
    history_path(tmp_path).write_bytes(b"no history at all\n" * 200)
    before = state_of(tmp_path)
    code, shown, errors = called(*words)
    assert (code, shown) == (64, "")
    assert "history.sqlite3 is damaged" in errors
    assert state_of(tmp_path) == before


def test_reset_renames_a_damaged_history(tmp_path):
    history_path(tmp_path).parent.mkdir()
    history_path(tmp_path).write_bytes(b"no history at all\n" * 200)
    code, shown, errors = called("reset")
    assert (code, shown) == (0, "0 runs forgotten\n")
    assert "history.sqlite3" in errors
    assert len(list(history_path(tmp_path).parent.glob("history.sqlite3.*-1"))) == 1


def test_without_a_history_there_is_none_to_show(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.loop-close]\nhistory = 'off'\n")
    off = "loop-close: this project keeps no history: [tool.loop-close] history is 'off'\n"
    assert called("history") == (64, "", off)


def test_wrong_settings_are_named(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.loop-close]\nbudget = 3\n")
    said = "loop-close: [tool.loop-close] budget must be a whole number of tokens, at least 400, not 3\n"
    for words in (["history"], ["prompt"], ["reset"], ["status"]):
        assert called(*words) == (64, "", said)


def test_what_is_shown_cannot_address_the_terminal(tmp_path):
    name = "\x1b[2J\n::error::x"
    remember(tmp_path, *[run_of("a", command=("pytest", name))] * 4)
    for words in (["history"], ["explain"]):
        shown = called(*words)[1]
        assert "\x1b" not in shown
        assert "\n::" not in shown
    assert json.loads(called("history", "--json")[1])["runs"][0]["command"][1] == name
