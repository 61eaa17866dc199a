"""The settings of ``[tool.loop-close]``, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from loop_close import lazy
from loop_close.conventions import is_like
from loop_close.lazy import NamedTuple, dataclass

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

    :ivar test: a node id, in which ``*`` matches any characters; empty if the entry names a cause.
    :ivar cause: the id of a root cause; empty if the entry names a test.
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

        :param today: as ``2027-01-31``; empty if the date is not known, and then no entry is over.
        """
        return bool(self.until) and self.until < today


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
#: Written out: every run with the plugin loads this module, and the records of the history take time to load.
SIGNAL_NAMES = (
    *("test-tampering", "oscillation", "repeated-failure", "similar-failure", "whack-a-mole", "regression"),
    *("no-edit", "no-effective-edit", "flaky", "infrastructure"),
)
_CAUSE = lazy.pattern(r"[0-9a-f]{8}")
_URLS = ("postgresql://", "postgres://")
_NAMES = ("machine", "project")
_DATE = lazy.pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value and "://" not in value


def is_url(value: object) -> bool:
    """Whether it is the URL of a PostgreSQL database."""
    return isinstance(value, str) and value.startswith(_URLS) and value.isprintable() and " " not in value


def _is_history(value: Any) -> bool:
    return _is_path(value) or is_url(value)


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
    return isinstance(value, list | tuple) and all(kind in SIGNAL_NAMES for kind in value)


def _are_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(key in _NAMES and is_name(name) for key, name in value.items())


def is_name(value: object) -> bool:
    """Whether it can name a machine or a project: one short line."""
    return _is_line(value) and len(str(value)) <= 60


def _are_sources(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_line, value))


def _are_known(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)


class Declared(NamedTuple):
    """What is known of a setting, in one place: its check, its error, its option, its help and its row in the README.

    :ivar takes: the values that it takes, for errors and the README, as in "a file path, as a string".
    :ivar fits: whether a value is one of them.
    :ivar meaning: what it does, for ``--help`` and the README; a phrase without a full stop.
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

    A new setting is a field here. Its check, error text, option, ``--help`` and row in the README follow from it.
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
        "path of the database that remembers the runs; URL: share them, too; off: keep none",
        metavar="PATH|URL|off",
    )
    suspects: str = _setting(
        AUTO,
        *_one_of(AUTO, ON, OFF),
        "record which functions each test calls; auto: if possible (Python 3.12), on: report it if not possible",
        metavar="auto|on|off",
    )
    ci: str = _setting(
        AUTO,
        *_one_of(AUTO, GITHUB, GITLAB, OFF),
        "also write for GitHub Actions or GitLab; auto: for the CI system that runs the tests",
        metavar="auto|github|gitlab|off",
    )
    test_command: str = _setting(
        DEFAULT_TEST_COMMAND,
        "a command that runs the tests, as a string of one line",
        _is_line,
        "what agents and the loop driver run",
    )
    strategy: str = _setting(
        DEFAULT_STRATEGY,
        "the name of an exit strategy, or several joined by '+', as a string of one line",
        _is_line,
        "when the loop of an agent ends",
    )
    require_edits_run: bool = _setting(
        False,
        "true or false",
        lambda value: isinstance(value, bool),
        "the hook sends an agent back, once, if no test ran an edited function",
    )
    required: Sequence[str] = _setting(
        (),
        "a list of sources, such as ['mypy']",
        _are_sources,
        "what must be green on these files before an agent may stop",
    )
    shared: Mapping[str, str] = _setting(
        {},
        f"a table of {' and '.join(_NAMES)}: short names",
        _are_names,
        "names in a shared history",
    )
    signals_off: Sequence[str] = _setting(
        (), f"a list of {', '.join(SIGNAL_NAMES)}", _are_signals, "kinds of signals that never fire"
    )
    known: Sequence[KnownEntry] = _setting(
        (),
        'a list of tables with a test or a cause, as in [{test = "tests/test_a.py::test_b", issue = "#12"}]',
        _are_known,
        "known failures, which do not count",
    )
    thresholds: Mapping[str, float] = _setting(
        {},
        f"a table of {', '.join(_LEAST)}: whole numbers (at least "
        f"{', '.join(str(least) for least in _LEAST.values())}), similarity a number from 0 to 1",
        _are_thresholds,
        "when signals fire",
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
    if "known" in table:
        return Settings(**{**table, "known": known_entries(table["known"])})
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
    if key == "known":
        known_entries(value, name)


def _shown(value: object) -> str:
    """The value as it was written; of a URL only its scheme, as the rest may hold a password."""
    scheme, mark, _ = value.partition("://") if isinstance(value, str) else ("", "", "")
    return repr(f"{scheme}://…") if mark else repr(value)


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
