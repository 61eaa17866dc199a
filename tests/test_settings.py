import dataclasses

import pytest

from loop_close.settings import MIN_BUDGET, Settings, SettingsError, check_setting, parse_settings


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, Settings()),
        ({"budget": MIN_BUDGET}, Settings(budget=MIN_BUDGET)),
        ({"file": "a/b.md", "json": "c.json"}, Settings(file="a/b.md", json="c.json")),
        ({"history": "off"}, Settings(history="off")),
        ({"history": "postgresql://db/x"}, Settings(history="postgresql://db/x")),
        ({"checks": {"tests": "pytest -q"}}, Settings(checks={"tests": "pytest -q"})),
        (
            {"suspects": "on", "ci": "gitlab", "strategy": "auto+mine"},
            Settings(suspects="on", ci="gitlab", strategy="auto+mine"),
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
        ("budget", True, "a whole number of tokens, at least 400, not True"),
        ("budget", MIN_BUDGET - 1, "a whole number of tokens, at least 400, not 399"),
        ("file", "", "a file path, as a string, not ''"),
        (
            "history",
            "mysql://me:word@db/x",
            "a file path or postgresql:// URL, as a string, or 'off', not 'mysql://…'",
        ),
        ("outputs", "out", "a list of patterns for files, such as ['out/*.csv'], not 'out'"),
        ("stuck_after", True, "a whole number, at least 1, not True"),
        ("suspects", "yes", "'auto', 'on' or 'off', not 'yes'"),
        ("ci", True, "'auto', 'github', 'gitlab' or 'off', not True"),
        *(
            (
                "checks",
                value,
                f'a table of commands by name, as in {{ tests = "pytest", types = "mypy src" }}, not {value!r}',
            )
            for value in ("pytest", {"a": ""}, {"a": "b 'c"}, {"": "pytest"}, {"a": 1}, {"a": "b\nc"})
        ),
        *(
            (
                "strategy",
                value,
                f"the name of an exit strategy, or several joined by '+', as a string of one line, not {value!r}",
            )
            for value in ("", "a\nb", 5)
        ),
    ],
)
def test_value_that_cannot_be_is_refused_by_name_and_told_what_it_takes(key, value, takes):
    with pytest.raises(SettingsError) as caught:
        parse_settings({key: value})
    assert str(caught.value) == f"[tool.loop-close] {key} must be {takes}"


@pytest.mark.parametrize("key", ["Budget", "budgets", "", "loop-close", "__class__"])
def test_unknown_key_is_refused_and_the_known_ones_are_listed(key):
    with pytest.raises(
        SettingsError,
        match=r"unknown setting; known settings: budget, checks, ci, file, history, json, outputs, second_look,"
        r" strategy, stuck_after, suspects, terminal, undo$",
    ):
        parse_settings({key: 1})


def test_every_setting_can_be_checked():
    for field in dataclasses.fields(Settings):
        with pytest.raises(SettingsError, match=r"^--option must be "):
            check_setting("--option", field.name, object())
