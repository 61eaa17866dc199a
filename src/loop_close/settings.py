"""The settings of ``[tool.loop-close]``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MIN_BUDGET = 400
DEFAULT_BUDGET = 2_000


class SettingsError(ValueError):
    """A setting that does not exist or has a value it cannot have; the text names it and what it takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How loop-close writes.

    :ivar file: path of the next prompt, relative to the root.
    :ivar json: path of the JSON report, empty for none.
    :ivar budget: tokens that the prompt may cost.
    """

    file: str = "nextprompt.md"
    json: str = ""
    budget: int = DEFAULT_BUDGET


_TAKES: Mapping[str, str] = {
    "file": "the path of a file, as a string",
    "json": "the path of a file, as a string",
    "budget": f"a whole number of tokens, at least {MIN_BUDGET}",
}


def parse_settings(table: object) -> Settings:
    """The settings of a ``[tool.loop-close]`` table.

    :param table: what the TOML file holds there.
    :raises SettingsError: for an unknown key, a wrong type or a value out of range.
    """
    if not isinstance(table, Mapping):
        raise SettingsError("[tool.loop-close] takes a table of settings")
    for key, value in table.items():
        check_setting(f"[tool.loop-close] {key}", str(key), value)
    return Settings(**table)


def check_setting(name: str, key: str, value: object) -> None:
    """Raise unless ``value`` is one that the setting ``key`` can have.

    :param name: what the user wrote it as, for the message.
    :raises SettingsError: naming the setting and what it takes.
    """
    if key not in _TAKES:
        raise SettingsError(f"{name}: there is no such setting; there are {', '.join(sorted(_TAKES))}")
    if not _fits(key, value):
        raise SettingsError(f"{name} takes {_TAKES[key]}, not {value!r}")


def _fits(key: str, value: object) -> bool:
    if key == "budget":
        return isinstance(value, int) and not isinstance(value, bool) and value >= MIN_BUDGET
    return isinstance(value, str) and bool(value.strip())
