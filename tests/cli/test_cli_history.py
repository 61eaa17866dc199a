"""``loop-close history``: the runs as a table, at a terminal and elsewhere, and as JSON."""

import json
import re
import time

import pytest
from cli_harness import Terminal
from jsonschema import validate
from remembered import START, begin, called, document, execute, opened, remember, run_of

from loop_close.cli.history import bars
from loop_close.memory import Run
from loop_close.store.records import to_record

SCHEMA = {
    "type": "object",
    "required": ["schema", "runs"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "loop-close.history/1"},
        "runs": {
            "items": {
                "required": ["source", "number", "state", "started", "ended", "record", "summary"],
                "additionalProperties": False,
                "properties": {
                    "source": {"type": "string"},
                    "number": {"type": "integer", "minimum": 1},
                    "state": {"enum": ["running", "done", "killed"]},
                    "started": {"type": "number"},
                    "ended": {"type": ["number", "null"]},
                    "record": {"type": ["object", "null"]},
                    "summary": {"type": "object"},
                },
            }
        },
    },
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_utc")
def test_table(tmp_path):
    remember(tmp_path, "a b", "a b", "a", "", edit="effective")
    remember(tmp_path, "x", source="mypy", at=100.0)
    assert called("history") == (
        0,
        "run  source  when        verdict        fail  fix  new  chg  stuck  signals\n"
        "  1  pytest  2023-11-14  first-failure     2    0    2    0  no\n"
        "  2  pytest  2023-11-14  no-progress       2    0    0    0  no\n"
        "  3  pytest  2023-11-14  progress          1    1    0    0  no\n"
        "  4  pytest  2023-11-14  green             0    1    0    0  no\n"
        "  1  mypy    2023-11-14  first-failure     1    0    1    0  no\n"
        "pytest: failing ▇▇▄▁ 2 → 0\n",
        "",
    )


@pytest.mark.usefixtures("_utc")
@pytest.mark.parametrize(
    ("ago", "shown"), [(0.0, r"\d\d:\d\d"), (2 * 86_400.0, r"\d\d-\d\d \d\d:\d\d|\d{4}-\d\d-\d\d")]
)
def test_time_is_as_short_as_it_can_be(tmp_path, ago, shown):
    remember(tmp_path, "a", at=time.time() - ago - START)
    assert re.search(rf"  1  pytest  (?:{shown})  first", called("history")[1])


@pytest.mark.parametrize("started", [1e300, -1e300, 9e18])
def test_invalid_time(tmp_path, started):
    remember(tmp_path, "a")
    execute(tmp_path, "UPDATE runs SET started = ?", started)
    assert "  1  pytest  ?     first-failure" in called("history")[1]


@pytest.mark.large
def test_only_the_last_runs_are_shown(tmp_path):
    remember(tmp_path, *["a"] * 25)
    numbers = [int(line.split()[0]) for line in called("history")[1].splitlines()[1:-1]]
    assert numbers == list(range(6, 26))
    assert len(called("history", "--limit", "3")[1].splitlines()) == 5
    assert len(called("history", "--limit", "999")[1].splitlines()) == 27


@pytest.mark.parametrize("limit", ["0", "-1", "x", "", "1.5", "9" * 30, "²"])
def test_invalid_limit(tmp_path, limit):
    remember(tmp_path, "a")
    code, shown, errors = called("history", f"--limit={limit}")
    assert (code, shown) == (64, "")
    assert f"must be a whole number of at least 1, not '{limit}'" in errors


def test_runs_that_have_not_ended(tmp_path):
    remember(tmp_path, "a")
    with opened(tmp_path) as history:
        begin(history, "pytest", 50.0)
    shown = called("history")[1].splitlines()
    assert re.fullmatch(r"  2  pytest  \S+  running", shown[2])
    with opened(tmp_path) as history:
        begin(history, "pytest", 90.0, is_alive=lambda pid, birth: False, birth="c")
    assert re.fullmatch(r"  2  pytest  \S+  killed", called("history")[1].splitlines()[2])


def test_trend_is_in_digits_where_there_are_no_bars(tmp_path):
    remember(tmp_path, "a b", "a b c", "a b")
    assert called("history", encoding="ascii")[1].endswith("\npytest: failing 2 3 2\n")
    assert called("history", encoding="no such")[1].endswith("\npytest: failing 2 3 2\n")


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [([0], "▁"), ([0, 0], "▁▁"), ([1, 0], "▇▁"), ([6, 3, 1, 0], "▇▄▂▁"), ([1000, 1, 0, -1], "▇▂▁▁")],
)
def test_bars(numbers, shown):
    assert bars(numbers) == shown


@pytest.mark.large
def test_json_is_all_that_is_remembered(tmp_path):
    remember(tmp_path, *["a b"] * 25)
    remember(tmp_path, "x", source="mypy", at=900.0)
    code, found = document("history")
    validate(found, SCHEMA)
    assert (code, len(found["runs"])) == (0, 26)
    assert [run["number"] for run in document("history", "--limit", "2")[1]["runs"]] == [25, 1]
    assert len(document("history", "--source", "mypy")[1]["runs"]) == 1


def test_json_gives_the_runs_back(tmp_path):
    remember(tmp_path, "a b=2", "a", edit="effective")
    with opened(tmp_path) as history:
        expected = history.recorded("pytest", 9)
        begin(history, "pytest", 99.0)
    _, found = document("history")
    validate(found, SCHEMA)
    done = found["runs"][:2]
    read = [to_record(Run, {**each["record"], "source": each["source"]}) for each in done]
    assert tuple(read) == expected
    assert [each["summary"]["verdict"] for each in done] == ["first-failure", "progress"]
    assert found["runs"][2]["record"] is None


def test_json_has_a_line_for_every_run_and_is_ascii(tmp_path):
    with opened(tmp_path) as history:
        begun = begin(history, "pytest")
        with history.transaction(begun) as transaction:
            transaction.save(
                run_of(begun, "é\udcff\x1b\n"), transaction.episode, {"verdict": "first-failure"}
            )
    _, shown, _ = called("history", "--json", encoding="ascii")
    first, run, last = shown.splitlines()
    assert (first, last) == ('{"schema": "loop-close.history/1", "runs": [', "]}")
    assert json.loads(run)["number"] == 1
    assert run.isascii()
    assert run.isprintable()


def shown_at_terminal(tmp_path, columns, *words):
    with Terminal(*words, cwd=tmp_path, size=(60, columns)) as terminal:
        code, shown = terminal.ended()
    assert code == 0, shown
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 140])
def test_terminal_has_colours_and_folds_signals(tmp_path, columns):
    pytest.importorskip("rich")
    remember(tmp_path, *["a"] * 3, edit="effective")
    remember(tmp_path, *["a"] * 4, source="pytest:py312-lowest", edit="effective")
    shown = shown_at_terminal(tmp_path, columns, "history")
    assert "\x1b[1m\x1b[31mstuck" in shown or "\x1b[1;31mstuck" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert all(len(line) <= columns for line in plain.splitlines())
    assert plain.count("repeated-failure") == 3  # whole words
    assert ("pytest:py312-lowest " in plain) == (columns == 140)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(tmp_path, monkeypatch, name, value):
    pytest.importorskip("rich")
    remember(tmp_path, *["a"] * 4)
    monkeypatch.setenv(name, value)
    monkeypatch.setattr("cli_harness.environment", _environment_with(name, value))
    shown = shown_at_terminal(tmp_path, 80, "history")
    assert "stuck" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)


def _environment_with(name, value):
    from cli_harness import environment

    return lambda **changed: environment(**{**changed, name: value})


def test_terminal_without_rich_is_not_overrun(tmp_path, monkeypatch):
    (tmp_path / "off" / "rich").mkdir(parents=True)
    (tmp_path / "off" / "rich" / "__init__.py").write_text("raise ImportError('off')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "off"))
    remember(tmp_path, *["a"] * 4, edit="effective")
    shown = shown_at_terminal(tmp_path, 80, "history")
    assert "\x1b" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    narrow = shown_at_terminal(tmp_path, 30, "history").splitlines()
    assert all(len(line) <= 30 for line in narrow)
    assert narrow[0].endswith("...")
