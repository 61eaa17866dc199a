"""``loop-close reset``: what is forgotten, and what is left."""

import pytest
from remembered import NO_RUN, called, document, execute, history_path, remember, state_of


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), "2 runs forgotten\n"),
        (("--json",), '{"forgotten": 2}\n'),
        (("--source", "mypy"), "1 run forgotten\n"),
    ],
)
def test_runs_are_forgotten(tmp_path, words, shown):
    remember(tmp_path, "a")
    remember(tmp_path, "x", source="mypy")
    assert called("reset", *words) == (0, shown, "")
    if "--source" in words:
        assert [run["source"] for run in document("history")[1]["runs"]] == ["pytest"]
    else:
        assert called("history") == (64, "", NO_RUN)


def test_next_run_is_the_first_again(tmp_path):
    remember(tmp_path, *["a"] * 4)
    assert document("status")[0] == 3
    called("reset")
    remember(tmp_path, "a")
    code, found = document("status")
    assert (code, found["sources"][0]["run"], found["sources"][0]["verdict"]) == (1, 1, "first-failure")


def test_only_the_history_is_forgotten(tmp_path):
    remember(tmp_path, "a")
    for name in (".loop-close/report.json", ".loop-close/failed.txt", "nextprompt.md"):
        (tmp_path / name).write_text("kept")
    before = state_of(tmp_path)
    called("reset")
    after = state_of(tmp_path)
    assert {name for name in before if before[name] != after.get(name)} == {
        history_path(tmp_path).relative_to(tmp_path)
    }


@pytest.mark.parametrize(
    ("words", "shown"), [((), "0 runs forgotten\n"), (("--json",), '{"forgotten": 0}\n')]
)
def test_nothing_to_forget_is_as_good_and_makes_no_file(tmp_path, words, shown):
    assert called("reset", *words) == (0, shown, NO_RUN)
    assert list(tmp_path.iterdir()) == []


def test_source_that_is_not_there(tmp_path):
    remember(tmp_path, "a")
    said = "loop-close: no runs of source 'mypi'; known: pytest\n"
    assert called("reset", "--source", "mypi") == (0, "0 runs forgotten\n", said)


def test_damaged_history_is_set_aside_or_mended(tmp_path):
    remember(tmp_path, "a", "a")
    execute(tmp_path, "DROP TABLE runs")
    code, shown, errors = called("reset")
    assert (code, shown) == (0, "0 runs forgotten\n")
    assert "it was renamed to history.sqlite3.broken-1 and a new one started" in errors
    remember(tmp_path, "a")
    assert document("status")[0] == 1


def test_link_is_not_written_through(tmp_path):
    remember(tmp_path, "a", path=tmp_path / "other.sqlite3")
    history_path(tmp_path).parent.mkdir()
    history_path(tmp_path).symlink_to(tmp_path / "other.sqlite3")
    assert called("status")[0] == 1
    assert called("reset") == (64, "", "loop-close: history.sqlite3 is a symbolic link\n")
    assert called("status")[0] == 1
