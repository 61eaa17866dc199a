"""The settings of ``[tool.loop-close]``, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "budget": _is_budget,
    "thresholds": _are_thresholds,
    "signals_off": _are_signals,
    "suspects": lambda value: value in (AUTO, ON, OFF),
    "ci": lambda value: value in (AUTO, GITHUB, GITLAB, OFF),
    "test_command": _is_line,
    "strategy": _is_line,
    "require_edits_run": lambda value: isinstance(value, bool),
}
