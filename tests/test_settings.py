import dataclasses
import datetime
import subprocess
import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.memory import TAMPERING, Thresholds
from loop_close.progress import signals
from loop_close.settings import (
    _LEAST,
    MIN_BUDGET,
    SIGNAL_NAMES,
    KnownEntry,
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
        ({"history": "postgresql://db/x"}, Settings(history="postgresql://db/x")),
        ({"required": ["mypy"]}, Settings(required=["mypy"])),
        ({"shared": {"machine": "ci"}}, Settings(shared={"machine": "ci"})),
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
            "mysql://me:word@db/x",
            "a file path or postgresql:// URL, as a string, or 'off', not 'mysql://…'",
        ),
        ("history", False, "a file path or postgresql:// URL, as a string, or 'off', not False"),
        ("required", "mypy", "a list of sources, such as ['mypy'], not 'mypy'"),
        (
            "shared",
            {"host": "x"},
            "a table of machine and project: short names, not {'host': 'x'}",
        ),
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
    assert tuple(signals.SIGNALS) == SIGNAL_NAMES


@pytest.mark.parametrize("key", ["Budget", "budgets", "", "loop-close", "__class__"])
def test_unknown_key_is_refused_and_the_known_ones_are_listed(key):
    with pytest.raises(
        SettingsError,
        match=r"unknown setting; known settings: budget, ci, file, history, json, known, require_edits_run,"
        r" required, shared, signals_off, strategy, suspects, test_command, thresholds$",
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


KNOWN = """
[tool.loop-close]
known = [
    { test = "tests/test_a.py::test_b", issue = "https://example.org/1", until = 2027-01-31 },
    { cause = "1a2b3c4d", until = "2028-02-29" },
]
"""


def test_known_failures_as_toml_has_them():
    table = tomllib.loads(KNOWN)["tool"]["loop-close"]
    assert parse_settings(table).known == (
        KnownEntry(test="tests/test_a.py::test_b", issue="https://example.org/1", until="2027-01-31"),
        KnownEntry(cause="1a2b3c4d", until="2028-02-29"),
    )
    tables = "[[tool.loop-close.known]]\ntest = 'a.py::test_a'\n"
    assert parse_settings(tomllib.loads(tables)["tool"]["loop-close"]).known == (
        KnownEntry(test="a.py::test_a"),
    )
    assert parse_settings({"known": []}).known == ()


@pytest.mark.parametrize("value", [None, "a.py::test_a", {"test": "a"}, ["a.py::test_a"], [[]], 1])
def test_known_failures_are_a_list_of_tables(value):
    with pytest.raises(
        SettingsError, match=r"^\[tool\.loop-close\] known must be a list of tables with a test"
    ):
        parse_settings({"known": value})


NO_CAUSE = "cause must be the id of a root cause, eight digits and letters from a to f, not"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"tests": "a"}, "unknown key 'tests'; known keys: test, cause, issue, until"),
        ({"issue": "#1"}, "names neither a test nor a cause; it must name one of them"),
        ({"test": "a", "cause": "1a2b3c4d"}, "names both a test and a cause; it must name one of them"),
        ({"test": ""}, "test must be the node id of a test, as a string of one line, not ''"),
        ({"test": 1}, "test must be the node id of a test, as a string of one line, not 1"),
        ({"test": "a\nb"}, "test must be the node id of a test, as a string of one line, not 'a\\nb'"),
        (
            {"test": "a", "issue": 5},
            "issue must be where the failure is tracked, as a string of one line, not 5",
        ),
        (
            {"cause": "1a2b3c4"},
            f"{NO_CAUSE} '1a2b3c4'",
        ),
        (
            {"cause": "1A2B3C4D"},
            f"{NO_CAUSE} '1A2B3C4D'",
        ),
        (
            {"cause": 12345678},
            f"{NO_CAUSE} 12345678",
        ),
        ({"test": "a", "until": "31.1.2027"}, "until must be a date such as 2027-01-31, not '31.1.2027'"),
        ({"test": "a", "until": "2027-02-29"}, "until must be a date such as 2027-01-31, not '2027-02-29'"),
        ({"test": "a", "until": "2027-13-01"}, "until must be a date such as 2027-01-31, not '2027-13-01'"),
        ({"test": "a", "until": 2027}, "until must be a date such as 2027-01-31, not 2027"),
        (
            {"test": "a", "until": datetime.time(1)},
            "until must be a date such as 2027-01-31, not datetime.time(1, 0)",
        ),
        (
            {"test": "a", "until": datetime.datetime(2027, 1, 31)},
            "until must be a date such as 2027-01-31, not datetime.datetime(2027, 1, 31, 0, 0)",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_is_named(entry, said):
    with pytest.raises(SettingsError) as error:
        parse_settings({"known": [{"test": "fine"}, entry]})
    assert str(error.value).startswith("[tool.loop-close] known, entry 2")
    assert str(error.value).endswith(said)


@given(day=st.dates())
def test_every_date_is_one_of_toml_and_of_text(day):
    found = parse_settings(
        {"known": [{"test": "a", "until": day}, {"test": "a", "until": day.isoformat()}]}
    ).known
    assert found[0] == found[1] == KnownEntry(test="a", until=day.isoformat())


@given(first=st.dates(), second=st.dates())
def test_an_entry_is_over_after_its_last_day(first, second):
    assert KnownEntry(test="a", until=first.isoformat()).is_over(second.isoformat()) == (second > first)
    assert not KnownEntry(test="a").is_over(second.isoformat())
    assert not KnownEntry(test="a", until=first.isoformat()).is_over("")


@pytest.mark.parametrize(
    ("entry", "test", "cause", "expected"),
    [
        (KnownEntry(test="a.py::test_b"), "a.py::test_b", "1a2b3c4d", True),
        (KnownEntry(test="a.py::test_b"), "a.py::test_b[1]", "", False),
        (KnownEntry(test="a.py::test_b[*]"), "a.py::test_b[1]", "", True),
        (KnownEntry(test="a.py::test_b[*]"), "a.py::test_b", "", False),
        (KnownEntry(test="a.py::*"), "a.py::A::test_b", "", True),
        (KnownEntry(cause="1a2b3c4d"), "a.py::test_b", "1a2b3c4d", True),
        (KnownEntry(cause="1a2b3c4d"), "a.py::test_b", "1a2b3c4e", False),
        (KnownEntry(cause="1a2b3c4d"), "1a2b3c4d", "", False),
    ],
)
def test_what_an_entry_matches(entry, test, cause, expected):
    assert entry.matches(test, cause) is expected


def test_settings_load_no_records_of_the_history():
    code = "import sys, loop_close.settings, loop_close.remember; print('loop_close.memory' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert TAMPERING in SIGNAL_NAMES
