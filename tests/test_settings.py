import dataclasses

import pytest

from loop_close.settings import MIN_BUDGET, Settings, SettingsError, check_setting, parse_settings


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, Settings()),
        ({"budget": MIN_BUDGET}, Settings(budget=MIN_BUDGET)),
        ({"budget": 10**9}, Settings(budget=10**9)),
        ({"file": "a/b.md", "json": "c.json"}, Settings(file="a/b.md", json="c.json")),
    ],
)
def test_good_table_becomes_settings(table, expected):
    assert parse_settings(table) == expected


@pytest.mark.parametrize("table", [None, 5, True, "budget", ["budget"], []])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(SettingsError, match=r"^\[tool\.loop-close\] takes a table of settings$"):
        parse_settings(table)


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        ("budget", "900", "a whole number of tokens, at least 400, not '900'"),
        ("budget", 900.0, "a whole number of tokens, at least 400, not 900.0"),
        ("budget", True, "a whole number of tokens, at least 400, not True"),
        ("budget", MIN_BUDGET - 1, "a whole number of tokens, at least 400, not 399"),
        ("budget", None, "a whole number of tokens, at least 400, not None"),
        ("file", "", "the path of a file, as a string, not ''"),
        ("file", "  ", "the path of a file, as a string, not '  '"),
        ("file", 5, "the path of a file, as a string, not 5"),
        ("json", {"a": 1}, "the path of a file, as a string, not {'a': 1}"),
    ],
)
def test_value_that_cannot_be_is_refused_by_name_and_told_what_it_takes(key, value, takes):
    with pytest.raises(SettingsError) as caught:
        parse_settings({key: value})
    assert str(caught.value) == f"[tool.loop-close] {key} takes {takes}"


@pytest.mark.parametrize("key", ["Budget", "budgets", "", "loop-close", "__class__"])
def test_unknown_key_is_refused_and_the_known_ones_are_listed(key):
    with pytest.raises(SettingsError, match=r"there is no such setting; there are budget, file, json$"):
        parse_settings({key: 1})


def test_every_setting_can_be_checked():
    for field in dataclasses.fields(Settings):
        with pytest.raises(SettingsError, match=r"^--option takes "):
            check_setting("--option", field.name, object())
