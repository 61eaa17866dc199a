"""``loop-close replay``: remembered runs judged again, from a history or from JSON."""

import pytest
from jsonschema import validate
from remembered import begin, called, document, execute, history_path, one, opened, remember, written

SCHEMA = {
    "required": ["schema", "thresholds", "runs", "differ"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "loop-close.replay/1"},
        "thresholds": {"required": ["repeats", "off"]},
        "differ": {"type": "integer", "minimum": 0},
        "runs": {
            "items": {
                "required": ["source", "number", "verdict", "recorded", "failing", "breaker", "signals"],
                "additionalProperties": False,
                "properties": {
                    "source": {"type": "string"},
                    "number": {"type": "integer"},
                    "verdict": {"type": "string"},
                    "recorded": {"type": ["string", "null"]},
                    "failing": {"type": "integer"},
                    "breaker": {"required": ["state", "reason"]},
                    "signals": {"items": {"required": ["kind", "runs", "tests", "explanation"]}},
                },
            }
        },
    },
}
RUNS = ["a b", "a b", "a", "a", "a", "a", ""]
VERDICTS = ["first-failure", "no-progress", "progress", "no-progress", "no-progress", "stuck", "green"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def replayed(*words, data=b""):
    code, found = document("replay", *words, data=data)
    validate(found, SCHEMA)
    assert code == 0
    return found


def verdicts(found, source="pytest"):
    return [run["verdict"] for run in found["runs"] if run["source"] == source]


def test_runs_come_to_what_they_came_to(tmp_path):
    remember(tmp_path, *RUNS, edit="effective")
    remember(tmp_path, "x", "x", source="mypy", at=500.0)
    found = replayed()
    assert (verdicts(found), verdicts(found, "mypy")) == (VERDICTS, ["first-failure", "no-progress"])
    assert found["differ"] == 0
    code, shown, errors = called("replay")
    assert (code, errors) == (0, "")
    assert shown.splitlines()[0].split() == ["run", "source", "verdict", "was", "fail", "stuck", "signals"]
    assert shown.endswith("  7  pytest  green                  0  no\n9 runs: same verdicts as recorded\n")


@pytest.mark.parametrize("words", [["--history"], []])
def test_file_is_a_history_or_what_history_prints(tmp_path, words):
    remember(tmp_path, *RUNS, edit="effective")
    expected = replayed()
    (tmp_path / "runs.json").write_text(called("history", "--json")[1])
    assert replayed("runs.json") == expected
    assert replayed("-", data=(tmp_path / "runs.json").read_bytes()) == expected
    assert replayed(*words, history_path(tmp_path)) == expected


def test_file_needs_no_project(tmp_path, monkeypatch):
    remember(tmp_path, "a")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "bare")
    assert verdicts(replayed(history_path(tmp_path))) == ["first-failure"]


def test_file_and_history_are_one_too_many(tmp_path):
    said = "loop-close: give either a FILE or --history, not both\n"
    assert called("replay", "a", "--history", "b") == (64, "", said)


def test_thresholds_can_be_tried(tmp_path):
    remember(tmp_path, *["a"] * 5)
    found = replayed("--set", "open_after=9", "--set", "repeats=4")
    assert verdicts(found) == ["first-failure", *["no-progress"] * 4]
    assert (found["differ"], found["thresholds"]["open_after"], found["thresholds"]["repeats"]) == (2, 9, 4)
    assert [bool(run["signals"]) for run in found["runs"]] == [False, False, False, True, True]
    shown = called("replay", "--set", "open_after=9")[1].splitlines()
    assert shown[4].split() == ["4", "pytest", "no-progress", "stuck", "1", "almost", "no-edit"]
    assert shown[-1] == "2 of 5 runs now have another verdict"


def test_settings_are_below_the_command_line(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.loop-close]\nthresholds = {open_after = 2, repeats = 5}\nsignals_off = ['no-edit']\n"
    )
    remember(tmp_path, *["a"] * 3)
    found = replayed("--set", "repeats=2")
    thresholds = found["thresholds"]
    assert (thresholds["open_after"], thresholds["repeats"], thresholds["off"]) == (2, 2, ["no-edit"])
    assert verdicts(found) == ["first-failure", "no-progress", "stuck"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("repeats", "must be NAME=NUMBER, for example repeats=4, not 'repeats'"),
        ("repeats=x", "must be NAME=NUMBER, for example repeats=4, not 'repeats=x'"),
        ("repeats=1.5", "not 'repeats=1.5'"),
        ("=3", "repeats, half_open_after, open_after, varied, mole, cooldown, similarity"),
        ("repeat=3", "repeats, half_open_after, open_after, varied, mole, cooldown, similarity"),
        ("repeats=1", "--set repeats=1: thresholds must be"),
        ("similarity=1.5", "similarity a number from 0 to 1"),
        ("similarity=nan", "similarity a number from 0 to 1"),
        ("off=1", "must be a table of"),
    ],
)
def test_invalid_threshold(tmp_path, word, said):
    remember(tmp_path, "a")
    code, shown, errors = called("replay", "--set", word)
    assert (code, shown) == (64, "")
    assert said in errors


def test_killed_runs_are_replayed_as_such(tmp_path):
    remember(tmp_path, "a")
    with opened(tmp_path) as history:
        begin(history, "pytest", 50.0, pid=2)
        begin(history, "pytest", 60.0, is_alive=lambda pid, birth: False, pid=3)
    found = replayed()
    assert verdicts(found) == ["first-failure", "killed"]
    assert (found["differ"], found["runs"][1]["recorded"]) == (0, None)


def test_error_stays_an_error(tmp_path):
    remember(tmp_path, *["a"] * 5)
    execute(tmp_path, "UPDATE runs SET summary = ? WHERE number = 5", '{"verdict": "error"}')
    found = replayed()
    assert (verdicts(found)[-1], found["differ"]) == ("error", 0)


def test_forgotten_beginning_is_reported(tmp_path):
    remember(tmp_path, "a", "a", "a")
    execute(tmp_path, "DELETE FROM runs WHERE number < 3")
    shown = called("replay")[1].splitlines()
    assert shown[2] == "pytest: runs before run 3 are missing, so the first verdicts may differ"
    assert shown[3] == "1 of 1 run now have another verdict"


def test_runs_are_put_in_order_by_source_and_number(tmp_path):
    remember(tmp_path, *RUNS, edit="effective")
    remember(tmp_path, "x", source="mypy")
    runs = document("history")[1]["runs"]
    assert replayed(written(tmp_path, runs[::-1])) == replayed()


def test_one_source_is_asked_for(tmp_path):
    runs = [one(), one(source="mypy"), one(source="mypy", number=2)]
    found = replayed(written(tmp_path, runs), "--source", "mypy")
    assert [(run["source"], run["number"]) for run in found["runs"]] == [("mypy", 1), ("mypy", 2)]
    said = "runs.json has no finished run of 'ruff'\n"
    assert called("replay", "runs.json", "--source", "ruff") == (64, "", f"loop-close: {said}")


def test_run_without_a_verdict_differs_from_none(tmp_path):
    found = replayed(written(tmp_path, [one()]))
    assert (verdicts(found), found["differ"], found["runs"][0]["recorded"]) == (["first-failure"], 0, None)


def test_what_is_not_known_is_passed_over(tmp_path):
    run = one(more=1, summary=3, record={"marks": [{"test": "t", "colour": "red"}], "weather": 1})
    assert verdicts(replayed(written(tmp_path, [run]))) == ["first-failure"]
