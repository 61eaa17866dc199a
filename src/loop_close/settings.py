"""The settings of ``[tool.loop-close]``, checked."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

MIN_BUDGET = 400
DEFAULT_BUDGET = 2_000
DEFAULT_HISTORY = ".loop-close/history.sqlite3"
DEFAULT_STRATEGY = "auto"
#: The value of ``history`` for none.
OFF = "off"
#: The values of ``suspects`` beside :data:`OFF`.
AUTO, ON = "auto", "on"
#: The values of ``ci`` beside :data:`AUTO` and :data:`OFF`.
GITHUB, GITLAB = "github", "gitlab"
#: The values of ``terminal`` beside :data:`AUTO`.
PROMPT, FULL = "prompt", "full"


class SettingsError(ValueError):
    """A setting that does not exist or has a value it cannot have; the text names it and what it takes."""


_URLS = ("postgresql://", "postgres://")


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value and "://" not in value


def is_url(value: object) -> bool:
    """Whether it is the URL of a PostgreSQL database."""
    return isinstance(value, str) and value.startswith(_URLS) and value.isprintable() and " " not in value


def _is_history(value: Any) -> bool:
    return _is_path(value) or is_url(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _are_lines(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_line, value))


def _are_checks(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        _is_line(name) and len(name) <= 60 and _is_command(value[name]) for name in value
    )


def _is_command(value: Any) -> bool:
    if not _is_line(value):
        return False
    try:
        return bool(shlex.split(value))
    except ValueError:  # a quote that is not closed
        return False


class Declared(NamedTuple):
    """What is known of a setting, in one place: its check, its error, its option, its help and its row in the docs.

    :ivar takes: the values that it takes, for errors and the docs, as in "a file path, as a string".
    :ivar fits: whether a value is one of them.
    :ivar meaning: what it does, for ``--help`` and the docs; a phrase without a full stop.
    :ivar metavar: the value of the option ``--loop-close-NAME`` in ``--help``; empty for a setting without an option.
    """

    takes: str
    fits: Callable[[Any], bool]
    meaning: str
    metavar: str = ""


def _setting(default: Any, takes: str, fits: Callable[[Any], bool], meaning: str, metavar: str = "") -> Any:
    metadata = {"declared": Declared(takes, fits, meaning, metavar)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def _one_of(*values: str) -> tuple[str, Callable[[Any], bool]]:
    quoted = [f"'{value}'" for value in values]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}", lambda value: value in values


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How loop-close works: each field is a setting, declared with all that is known of it (:class:`Declared`).

    A new setting is a field here. Its check, error text, option, ``--help`` and row in the docs follow from it.
    """

    file: str = _setting(
        "nextprompt.md", "a file path, as a string", _is_path, "path of the next prompt", metavar="PATH"
    )
    json: str = _setting(
        "", "a file path, as a string", _is_path, "path of the report as JSON", metavar="PATH"
    )
    budget: int = _setting(
        DEFAULT_BUDGET,
        f"a whole number of tokens, at least {MIN_BUDGET}",
        lambda value: _is_whole(value) and value >= MIN_BUDGET,
        "most tokens of the next prompt, estimated",
        metavar="TOKENS",
    )
    history: str = _setting(
        DEFAULT_HISTORY,
        f"a file path or postgresql:// URL, as a string, or '{OFF}'",
        _is_history,
        "where runs are remembered; URL: share them, too; off: not at all",
        metavar="PATH|URL|off",
    )
    suspects: str = _setting(
        AUTO,
        *_one_of(AUTO, ON, OFF),
        "record what each test calls; auto: within a share of the time, on: whatever it costs",
        metavar="auto|on|off",
    )
    second_look: str = _setting(
        AUTO,
        *_one_of(AUTO, ON, OFF),
        "run failing tests once more, to show values; auto: if they took under 1 s",
        metavar="auto|on|off",
    )
    terminal: str = _setting(
        AUTO,
        *_one_of(AUTO, PROMPT, FULL),
        "prompt: in place of pytest's failures, or of a green run's counts; auto: under an agent, without --tb",
        metavar="auto|prompt|full",
    )
    ci: str = _setting(
        AUTO,
        *_one_of(AUTO, GITHUB, GITLAB, OFF),
        "also write for GitHub Actions or GitLab; auto: for the CI system that runs the tests",
        metavar="auto|github|gitlab|off",
    )
    strategy: str = _setting(
        DEFAULT_STRATEGY,
        "the name of an exit strategy, or several joined by '+', as a string of one line",
        _is_line,
        "when the loop of an agent ends",
    )
    checks: Mapping[str, str] = _setting(
        {},
        'a table of commands by name, as in { tests = "pytest", types = "mypy src" }',
        _are_checks,
        'what has to be green before the work is done; default tests = "pytest"',
    )
    outputs: Sequence[str] = _setting(
        (),
        "a list of patterns for files, such as ['out/*.csv']",
        _are_lines,
        "files that the tests write, which are not the project's; never Python or test files",
    )
    stuck_after: int = _setting(
        3,
        "a whole number, at least 1",
        lambda value: _is_whole(value) and value >= 1,
        "so many attempts in a row that do not advance are stuck",
    )
    undo: bool = _setting(
        False, "true or false", lambda value: isinstance(value, bool), "also test without the change"
    )


#: Each setting by its name.
DECLARED: Mapping[str, Declared] = {f.name: f.metadata["declared"] for f in fields(Settings)}


def option_of(setting: str) -> str:
    """The option of pytest that wins over a setting, as in ``--loop-close-budget``."""
    return f"--loop-close-{setting.replace('_', '-')}"


def options() -> Iterator[tuple[str, str, str]]:
    """The options of pytest that are settings: name, value for ``--help``, and help text."""
    for each in fields(Settings):
        declared = DECLARED[each.name]
        if declared.metavar:
            default = f" (default: {each.default})" if each.default else ""
            yield option_of(each.name), declared.metavar, f"{declared.meaning}{default}"


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
    if key not in DECLARED:
        raise SettingsError(f"{name}: unknown setting; known settings: {', '.join(sorted(DECLARED))}")
    if not DECLARED[key].fits(value):
        raise SettingsError(f"{name} must be {DECLARED[key].takes}, not {_shown(value)}")


def _shown(value: object) -> str:
    """The value as it was written; of a URL only its scheme, as the rest may hold a password."""
    scheme, mark, _ = value.partition("://") if isinstance(value, str) else ("", "", "")
    return repr(f"{scheme}://…") if mark else repr(value)
