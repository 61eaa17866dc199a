import dataclasses

import pytest

from loop_close.memory import Thresholds
from loop_close.progress import signals
from loop_close.settings import (
    _LEAST,
    MIN_BUDGET,
    SIGNALS,
    Settings,
    SettingsError,
    check_setting,
    parse_settings,
)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, Settings()),
        ({"budget": MIN_BUDGET}, Settings(budget=MIN_BUDGET)),
        ({"budget": 10**9}, Settings(budget=10**9)),
        ({"file": "a/b.md", "json": "c.json"}, Settings(file="a/b.md", json="c.json")),
        ({"history": "off"}, Settings(history="off")),
        (
            {"thresholds": {"repeats": 4, "similarity": 0.8}, "signals_off": ["no-edit"]},
            Settings(thresholds={"repeats": 4, "similarity": 0.8}, signals_off=["no-edit"]),
        ),
    ],
)
def test_good_table_becomes_settings(table, expected):
    assert parse_settings(table) == expected


@pytest.mark.parametrize("table", [None, 5, True, "budget", ["budget"], []])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(SettingsError, match=r"^\[tool\.loop-close\] must be a table of settings$"):
        parse_settings(table)


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        ("budget", "900", "a whole number of tokens, at least 400, not '900'"),
        ("budget", 900.0, "a whole number of tokens, at least 400, not 900.0"),
        ("budget", True, "a whole number of tokens, at least 400, not True"),
        ("budget", MIN_BUDGET - 1, "a whole number of tokens, at least 400, not 399"),
        ("budget", None, "a whole number of tokens, at least 400, not None"),
        ("file", "", "a file path, as a string, not ''"),
        ("file", "  ", "a file path, as a string, not '  '"),
        ("file", 5, "a file path, as a string, not 5"),
        ("json", {"a": 1}, "a file path, as a string, not {'a': 1}"),
        (
            "history",
            "postgresql://db/x",
            "a file path, as a string, or 'off', not 'postgresql://db/x'",
        ),
        ("history", False, "a file path, as a string, or 'off', not False"),
    ],
)
def test_value_that_cannot_be_is_refused_by_name_and_told_what_it_takes(key, value, takes):
    with pytest.raises(SettingsError) as caught:
        parse_settings({key: value})
    assert str(caught.value) == f"[tool.loop-close] {key} must be {takes}"


@pytest.mark.parametrize(
    "thresholds",
    [
        5,
        {"nonsense": 3},
        {"repeats": 1},
        {"repeats": 2.5},
        {"similarity": 1.1},
        {"open_after": True},
        {"mole": "3"},
    ],
)
def test_thresholds_that_cannot_be_are_refused_and_told_what_there_is(thresholds):
    with pytest.raises(
        SettingsError, match=r"thresholds must be a table of repeats, half_open_after, open_after"
    ):
        parse_settings({"thresholds": thresholds})


@pytest.mark.parametrize("kinds", ["no-edit", ["no-edits"], [1], {"no-edit": True}])
def test_signals_that_are_none_are_refused_and_all_are_listed(kinds):
    with pytest.raises(SettingsError, match=r"signals_off must be a list of test-tampering, oscillation"):
        parse_settings({"signals_off": kinds})


def test_settings_know_every_threshold_and_signal():
    assert set(_LEAST) == {f.name for f in dataclasses.fields(Thresholds)} - {"off"}
    assert tuple(signals.SIGNALS) == SIGNALS


@pytest.mark.parametrize("key", ["Budget", "budgets", "", "loop-close", "__class__"])
def test_unknown_key_is_refused_and_the_known_ones_are_listed(key):
    with pytest.raises(
        SettingsError,
        match=r"unknown setting; known settings: budget, ci, file, history, json, require_edits_run, signals_off,"
        r" strategy, suspects, test_command, thresholds$",
    ):
        parse_settings({key: 1})


def test_every_setting_can_be_checked():
    for field in dataclasses.fields(Settings):
        with pytest.raises(SettingsError, match=r"^--option must be "):
            check_setting("--option", field.name, object())


@pytest.mark.parametrize("value", ["auto", "on", "off"])
def test_whether_to_look_at_calls(value):
    assert parse_settings({"suspects": value}).suspects == value


@pytest.mark.parametrize("value", ["", "yes", "ON", True, None, ["on"]])
def test_other_values_of_suspects(value):
    with pytest.raises(SettingsError, match=r"suspects must be 'auto', 'on' or 'off', not "):
        parse_settings({"suspects": value})


@pytest.mark.parametrize("value", ["auto", "github", "gitlab", "off"])
def test_the_ci_system(value):
    assert parse_settings({"ci": value}).ci == value


@pytest.mark.parametrize("value", ["", "on", "GitHub", True, None, ["github"]])
def test_other_values_of_ci(value):
    with pytest.raises(SettingsError, match=r"ci must be 'auto', 'github', 'gitlab' or 'off', not "):
        parse_settings({"ci": value})


def test_a_command_that_runs_the_tests():
    assert parse_settings({}).test_command == "pytest --loop-close"
    assert parse_settings({"test_command": "tox -q -e 'py 312'"}).test_command == "tox -q -e 'py 312'"


@pytest.mark.parametrize("value", ["", "  ", 1, ["pytest"], "pytest\nrm x", "a\0b"])
def test_what_is_no_command(value):
    with pytest.raises(SettingsError, match="test_command must be a command that runs the tests"):
        parse_settings({"test_command": value})


def test_an_exit_strategy():
    assert parse_settings({}).strategy == "auto"
    assert parse_settings({"strategy": "fix_plan+theirs"}).strategy == "fix_plan+theirs"


@pytest.mark.parametrize("value", ["", " ", 3, ["auto"], "auto\n"])
def test_what_names_no_exit_strategy(value):
    with pytest.raises(SettingsError, match="strategy must be the name of an exit strategy"):
        parse_settings({"strategy": value})


def test_whether_edits_have_to_be_run():
    assert parse_settings({}).require_edits_run is False
    assert parse_settings({"require_edits_run": True}).require_edits_run is True


@pytest.mark.parametrize("value", [1, "true", None, []])
def test_what_is_neither_true_nor_false(value):
    with pytest.raises(SettingsError, match="require_edits_run must be true or false"):
        parse_settings({"require_edits_run": value})
