"""The settings of ``[tool.loop-close]``, checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from loop_close.conventions import is_like

MIN_BUDGET = 400
DEFAULT_BUDGET = 2_000
DEFAULT_HISTORY = ".loop-close/history.sqlite3"
DEFAULT_TEST_COMMAND = "pytest --loop-close"
DEFAULT_STRATEGY = "auto"
#: The value of ``history`` for none.
OFF = "off"
#: The values of ``suspects`` beside :data:`OFF`.
AUTO, ON = "auto", "on"
#: The values of ``ci`` beside :data:`AUTO` and :data:`OFF`.
GITHUB, GITLAB = "github", "gitlab"


class SettingsError(ValueError):
    """A setting that does not exist or has a value it cannot have; the text names it and what it takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownEntry:
    """One entry of the setting ``known``: failures that are known and do not count.

    :ivar test: a node id, in which ``*`` matches any characters; empty where the entry names a cause.
    :ivar cause: the id of a root cause; empty where the entry names a test.
    :ivar issue: where the failure is tracked, as the project wrote it; empty for nothing.
    :ivar until: the last day on which the entry counts, as ``2027-01-31``; empty for no end.
    """

    test: str = ""
    cause: str = ""
    issue: str = ""
    until: str = ""

    def matches(self, test: str, cause: str = "") -> bool:
        """Whether a failure of this test, with this root cause, is the one that the entry names."""
        return self.cause == cause if self.cause else is_like(test, self.test)

    def is_over(self, today: str) -> bool:
        """Whether its last day has passed.

        :param today: as ``2027-01-31``; empty where the date is not known, and then no entry is over.
        """
        return bool(self.until) and self.until < today


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How loop-close writes.

    :ivar file: path of the next prompt, relative to the root.
    :ivar json: path of the JSON report, empty for none.
    :ivar budget: tokens that the prompt may cost.
    :ivar history: path of the memory from run to run, relative to the root; ``off`` for none.
    :ivar thresholds: those that differ from :class:`~loop_close.memory.Thresholds`, by name.
    :ivar signals_off: kinds of signals that never fire.
    :ivar suspects: whether to look at which functions each test calls: ``auto`` where Python can tell (3.12),
        ``on``: have the prompt say so where it cannot, ``off``.
    :ivar ci: the CI system for which to write its own output; ``auto``: the one that runs this.
    :ivar test_command: the command that runs the tests, for agents and whoever runs them for agents.
    :ivar strategy: the exit strategy that says when an agent's loop ends; several are joined by ``+``.
    :ivar require_edits_run: the hook sends an agent back, once, after a green run in which no test ran an edited
        function.
    :ivar known: failures that are known and do not count.
    """

    file: str = "nextprompt.md"
    json: str = ""
    budget: int = DEFAULT_BUDGET
    history: str = DEFAULT_HISTORY
    thresholds: Mapping[str, float] = field(default_factory=dict)
    signals_off: Sequence[str] = ()
    suspects: str = AUTO
    ci: str = AUTO
    test_command: str = DEFAULT_TEST_COMMAND
    strategy: str = DEFAULT_STRATEGY
    require_edits_run: bool = False
    known: Sequence[KnownEntry] = ()


#: Each threshold with the least it can be; similarity is from 0 to 1.
_LEAST: Mapping[str, int] = {
    "repeats": 2,
    "half_open_after": 1,
    "open_after": 1,
    "varied": 2,
    "mole": 2,
    "cooldown": 0,
    "similarity": 0,
}
SIGNALS = (
    *("test-tampering", "oscillation", "repeated-failure", "similar-failure", "whack-a-mole", "regression"),
    *("no-edit", "no-effective-edit", "flaky", "infrastructure"),
)
_CAUSE = re.compile(r"[0-9a-f]{8}")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TAKES: Mapping[str, str] = {
    "file": "a file path, as a string",
    "json": "a file path, as a string",
    "budget": f"a whole number of tokens, at least {MIN_BUDGET}",
    "history": "a file path, as a string, or 'off'",
    "thresholds": f"a table of {', '.join(_LEAST)}: whole numbers (at least "
    f"{', '.join(str(least) for least in _LEAST.values())}), similarity a number from 0 to 1",
    "signals_off": f"a list of {', '.join(SIGNALS)}",
    "suspects": f"'{AUTO}', '{ON}' or '{OFF}'",
    "ci": f"'{AUTO}', '{GITHUB}', '{GITLAB}' or '{OFF}'",
    "test_command": "a command that runs the tests, as a string of one line",
    "strategy": "the name of an exit strategy, or several joined by '+', as a string of one line",
    "require_edits_run": "true or false",
    "known": 'a list of tables with a test or a cause, as in [{test = "tests/test_a.py::test_b", issue = "#12"}]',
}


def parse_settings(table: object) -> Settings:
    """The settings of a ``[tool.loop-close]`` table.

    :param table: what the TOML file holds there.
    :raises SettingsError: for an unknown key, a wrong type or a value out of range.
    """
    if not isinstance(table, Mapping):
        raise SettingsError("[tool.loop-close] must be a table of settings")
    for key, value in table.items():
        check_setting(f"[tool.loop-close] {key}", str(key), value)
    if "known" in table:
        return Settings(**{**table, "known": known_entries(table["known"])})
    return Settings(**table)


def check_setting(name: str, key: str, value: object) -> None:
    """Raise unless ``value`` is one that the setting ``key`` can have.

    :param name: what the user wrote it as, for the message.
    :raises SettingsError: naming the setting and what it takes.
    """
    if key not in _TAKES:
        raise SettingsError(f"{name}: unknown setting; known settings: {', '.join(sorted(_TAKES))}")
    if not _fits(key, value):
        raise SettingsError(f"{name} must be {_TAKES[key]}, not {value!r}")
    if key == "known":
        known_entries(value, name)


def known_entries(value: Any, name: str = "[tool.loop-close] known") -> tuple[KnownEntry, ...]:
    """The entries of the setting ``known``.

    :param value: what the TOML file holds there, a list of tables.
    :param name: what the user wrote it as, for the message.
    :raises SettingsError: naming the entry that is wrong, and what it takes.
    """
    return tuple(_known_entry(f"{name}, entry {number}", each) for number, each in enumerate(value, 1))


def _known_entry(name: str, table: Mapping[str, Any]) -> KnownEntry:
    keys = [f.name for f in fields(KnownEntry)]
    unknown = sorted(str(key) for key in table if key not in keys)
    if unknown:
        raise SettingsError(f"{name}: unknown key {unknown[0]!r}; known keys: {', '.join(keys)}")
    if ("test" in table) == ("cause" in table):
        both = "both a test and a cause" if "test" in table else "neither a test nor a cause"
        raise SettingsError(f"{name} names {both}; it must name one of them")
    for key in ("test", "issue"):
        if key in table and not _is_line(table[key]):
            what = "the node id of a test" if key == "test" else "where the failure is tracked"
            raise SettingsError(f"{name}: {key} must be {what}, as a string of one line, not {table[key]!r}")
    cause, until = table.get("cause", ""), table.get("until", "")
    if "cause" in table and not (isinstance(cause, str) and _CAUSE.fullmatch(cause)):
        raise SettingsError(
            f"{name}: cause must be the id of a root cause, eight digits and letters from a to f, not {cause!r}"
        )
    if "until" in table:
        until = until if isinstance(until, str) else _iso(until)
        if not _is_date(until):
            raise SettingsError(f"{name}: until must be a date such as 2027-01-31, not {table['until']!r}")
    return KnownEntry(**{**table, "until": until})


def _iso(value: Any) -> str:
    """A date of TOML as text; one with a time of day is none that is meant here."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else ""


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 28 + is_leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= days[month - 1]


def _fits(key: str, value: object) -> bool:
    return _CHECKS.get(key, _is_path)(value)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value and "://" not in value


def _is_budget(value: Any) -> bool:
    return _is_whole(value) and value >= MIN_BUDGET


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_thresholds(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_threshold(key, number) for key, number in value.items())


def _is_threshold(key: Any, value: Any) -> bool:
    if key == "similarity":
        return (_is_whole(value) or isinstance(value, float)) and 0 <= value <= 1
    return key in _LEAST and _is_whole(value) and value >= _LEAST[key]


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _are_signals(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(kind in SIGNALS for kind in value)


def _are_known(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "budget": _is_budget,
    "thresholds": _are_thresholds,
    "signals_off": _are_signals,
    "suspects": lambda value: value in (AUTO, ON, OFF),
    "ci": lambda value: value in (AUTO, GITHUB, GITLAB, OFF),
    "test_command": _is_line,
    "strategy": _is_line,
    "require_edits_run": lambda value: isinstance(value, bool),
    "known": _are_known,
}
