"""``loop-close explain``: why signals fired in the last run, and what the others lack."""

import pytest
from jsonschema import validate
from remembered import begin, called, document, execute, opened, remember

from loop_close.settings import SIGNAL_NAMES

TEXT = {"type": "string"}
SCHEMA = {
    "required": ["schema", "source", "run", "verdict", "breaker", "thresholds", "signals", "failures"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "loop-close.explain/1"},
        "source": TEXT,
        "run": {"type": "integer"},
        "verdict": TEXT,
        "others": {
            "items": {
                "required": ["source", "verdict", "run"],
                "additionalProperties": False,
                "properties": {"source": TEXT, "verdict": TEXT, "run": {"type": "integer"}},
            }
        },
        "breaker": {"required": ["state", "reason"]},
        "thresholds": {
            "required": [
                *("repeats", "half_open_after", "open_after", "varied", "mole", "cooldown", "similarity"),
                "off",
            ]
        },
        "signals": {
            "items": {
                "required": ["kind", "fired", "runs", "tests", "explanation"],
                "properties": {"kind": {"enum": list(SIGNAL_NAMES)}, "fired": {"type": "boolean"}},
            }
        },
        "failures": {
            "items": {
                "required": ["run", "test", "exact", "shape", "message"],
                "additionalProperties": False,
                "properties": {
                    "run": {"type": "integer"},
                    "test": TEXT,
                    "exact": TEXT,
                    "shape": TEXT,
                    "message": TEXT,
                },
            }
        },
    },
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def explained(*words):
    code, found = document("explain", *words)
    validate(found, SCHEMA)
    assert code == 0
    return found


def test_every_signal_is_explained_those_that_fired_first(tmp_path):
    remember(tmp_path, *["a"] * 4)
    code, shown, errors = called("explain")
    assert (code, errors) == (0, "")
    head, fired, *others = shown.split("\n\n")
    assert head == (
        "pytest, run 4: stuck\n"
        "stuck: no progress for 3 runs\n"
        "current thresholds: repeats 3, half_open_after 2, open_after 3, varied 6, mole 3, cooldown 0, similarity 0.9"
    )
    assert fired.startswith("no-edit: FIRED, by runs 1, 2, 3, 4\n  no project file changed between")
    assert sorted(other.partition(":")[0] for other in others) == sorted(set(SIGNAL_NAMES) - {"no-edit"})
    assert all(
        other.splitlines()[0].endswith(": not fired") and other.splitlines()[1].strip() for other in others
    )


def test_signal_that_fired_with_the_failures_it_is_about(tmp_path):
    remember(tmp_path, *["a b=1", "a b=2", "a b=1", "a b=3"], edit="effective")
    code, shown, _ = called("explain", "repeated-failure")
    assert code == 0
    assert shown.endswith(
        "\nrepeated-failure: FIRED, by runs 1, 2, 3, 4\n"
        "  same failure in runs 1, 2, 3 and 4, despite edits between them\n"
        "  - test_a.py::a\n"
        "\n"
        "test_a.py::a\n"
        "  runs 1, 2, 3, 4: exact ea, shape sa\n"
        "    m\n"
    )


def test_failure_that_changes_shows_each_of_its_keys(tmp_path):
    remember(tmp_path, "a", "a=2", "a", "a=2", "a")
    shown = called("explain", "no-edit")[1]
    assert (
        "\ntest_a.py::a\n  runs 1, 3, 5: exact ea, shape sa\n    m\n  runs 2, 4: exact ea2, shape sa2\n"
        in shown
    )


def test_signal_that_did_not_fire(tmp_path):
    remember(tmp_path, "a", "a")
    shown = called("explain", "no-edit")[1]
    assert shown.endswith("\nno-edit: not fired\n  2 of 3 required runs on the same code\n")
    found = explained("no-edit")
    assert [(each["kind"], each["fired"]) for each in found["signals"]] == [("no-edit", False)]
    assert found["failures"] == []


def test_unknown_signal_is_named_with_those_there_are(tmp_path):
    said = f"loop-close: unknown signal 'noedit'; known signals: {', '.join(SIGNAL_NAMES)}\n"
    assert called("explain", "noedit") == (64, "", said)
    remember(tmp_path, "a")
    assert called("explain", "--json", "noedit") == (64, "", said)


def test_json(tmp_path):
    remember(tmp_path, *["a b"] * 4)
    found = explained()
    assert [each["kind"] for each in found["signals"]] == list(SIGNAL_NAMES)
    assert (found["run"], found["verdict"], found["failures"]) == (4, "stuck", [])
    one = explained("no-edit")
    assert one["signals"][0]["runs"] == [1, 2, 3, 4]
    assert [(each["run"], each["test"]) for each in one["failures"]] == [
        (run, f"test_a.py::{test}") for run in (1, 2, 3, 4) for test in "ab"
    ]


def test_source_that_ran_last_is_explained(tmp_path):
    remember(tmp_path, "a", "a", at=100.0)
    remember(tmp_path, "x", source="mypy", at=50.0)
    assert explained()["source"] == "pytest"
    assert explained("--source", "mypy")["source"] == "mypy"


def test_other_sources_that_are_not_green_are_named(tmp_path):
    remember(tmp_path, "a", source="pytest:py311")
    remember(tmp_path, "", source="mypy", at=50.0)
    remember(tmp_path, "", source="pytest:py312", at=100.0)
    text = called("explain")[1]
    assert text.startswith("pytest:py312, run 1: green\n")
    assert "\nnot green either: pytest:py311 (first-failure in run 1); explain one with --source\n" in text
    found = {"source": "pytest:py311", "verdict": "first-failure", "run": 1}
    assert explained()["others"] == [found]
    assert explained("--source", "pytest:py311")["others"] == []


def test_run_under_way_does_not_count(tmp_path):
    with opened(tmp_path) as history:
        begin(history, "pytest")
    assert called("explain") == (64, "", "loop-close: no run has finished yet\n")
    remember(tmp_path, "a")
    with opened(tmp_path) as history:
        begin(history, "pytest", 99.0)
    assert explained()["run"] == 2


def test_green_run_that_was_compared_with_nothing(tmp_path):
    with opened(tmp_path) as history:
        history.keep_green(begin(history, "pytest"), passed=3, skipped=0)
    for words in ((), ("no-edit",)):
        shown = called("explain", *words)[1]
        assert shown.startswith("pytest, run 1: green\nnot stuck\n")
        assert shown.endswith("\nno signals yet: the run has no earlier failure to compare with\n")
    assert explained()["signals"] == []


def test_thresholds_are_those_of_the_settings(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.loop-close]\nsignals_off = ['flaky', 'no-edit']\nthresholds = {repeats = 4, similarity = 0.5}\n"
    )
    remember(tmp_path, "a")
    told = called("explain")[1].splitlines()[2]
    assert told.startswith("current thresholds: repeats 4, half_open_after 2, ")
    assert told.endswith(", similarity 0.5, off: flaky, no-edit")
    assert explained()["thresholds"]["off"] == ["flaky", "no-edit"]


def test_many_tests_are_bounded_in_words_and_not_in_json(tmp_path):
    names = " ".join(f"t{number:02}" for number in range(30))
    remember(tmp_path, *[names] * 3)
    shown = called("explain", "no-edit")[1]
    assert shown.endswith("\n… 20 more tests\n")
    assert len(explained("no-edit")["failures"]) == 90


def test_runs_that_are_gone_are_passed_over(tmp_path):
    remember(tmp_path, *["a"] * 3)
    execute(tmp_path, "DELETE FROM runs WHERE number = 1")
    assert "\n  runs 2, 3: exact ea" in called("explain", "no-edit")[1]
