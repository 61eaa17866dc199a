"""``loop-close history``, ``replay`` and ``reset``: the runs that are remembered, listed, judged again, removed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from loop_close.cli import Streams, UsageError, columns_of
from loop_close.cli.project import project_of, root_of, settings_of
from loop_close.cli.recorded import (
    DamagedError,
    NoRunError,
    Summary,
    read,
    short_words,
    shown,
    signal_document,
    summary_of,
)
from loop_close.lazy import dataclass
from loop_close.memory import Episode, Progress, Run, Thresholds
from loop_close.settings import Settings, SettingsError, check_setting
from loop_close.store import RunRow
from loop_close.store.reader import ALL, HistoryReader
from loop_close.store.records import RecordError, to_plain, to_record

if TYPE_CHECKING:
    from loop_close.model import Verdict


SCHEMA = "loop-close.history/1"
_LIMIT = 20
_BARS = "▁▂▃▄▅▆▇"
_NUMBERS = frozenset(("run", "fail", "fix", "new", "chg"))
_HEADINGS = ("run", "source", "when", "verdict", "fail", "fix", "new", "chg", "stuck", "signals")


def history(options: argparse.Namespace, streams: Streams) -> int:
    """Print the last runs, the newest last; always 0."""
    project = project_of(options)
    if options.json:
        pieces = read(project.history, lambda m: _documents(m, options), options.source)
        _put_document(pieces, streams)
        return 0
    limit = options.limit or _LIMIT
    rows = read(project.history, lambda history: history.rows(options.source, limit), options.source)
    today = time.strftime("%Y-%m-%d")
    is_short = is_narrow(streams)
    lines = [_cells(row, summary_of(row), today, is_short) for row in rows]
    show_table(Table(headings=_HEADINGS, rows=lines, numbers=_NUMBERS), streams)
    for line in _trends(rows, streams):
        streams.say(line)
    return 0


def _cells(row: RunRow, summary: Summary, today: str, is_short: bool) -> list[str]:
    moved = [str(summary.counts.get(name, "")) for name in ("fixed", "new", "changed")]
    return [
        str(row.number),
        shown(row.source, 12 if is_short else 24),
        _when(row.started, today, is_short),
        summary.verdict,
        "" if summary.failing is None else str(summary.failing),
        *moved,
        short_words(summary.breaker) if row.state == "done" else "",
        ", ".join(shown(signal.kind) for signal in summary.fired),
    ]


def _when(started: float, today: str, is_short: bool) -> str:
    """The local time: of today's runs the hour, of others of this year the day, of older ones the date."""
    try:
        moment = time.localtime(started)
    except (ValueError, OverflowError, OSError):  # a damaged time
        return "?"
    date = time.strftime("%Y-%m-%d", moment)
    if date == today:
        return time.strftime("%H:%M", moment)
    if date[:4] != today[:4]:
        return date[:7] if is_short else date
    return time.strftime("%m-%d" if is_short else "%m-%d %H:%M", moment)


def _trends(rows: Sequence[RunRow], streams: Streams) -> Iterator[str]:
    """For every source how many tests failed after each of its runs."""
    for source in dict.fromkeys(row.source for row in rows):
        known = [summary_of(row).failing for row in rows if row.source == source]
        numbers = [number for number in known if number is not None]
        if len(numbers) > 1:
            yield f"{shown(source, 24)}: failing {_trend(numbers, can_show(streams, _BARS))}"


def _trend(numbers: Sequence[int], has_bars: bool) -> str:
    if not has_bars:
        return " ".join(map(str, numbers))
    return f"{bars(numbers)} {numbers[0]} → {numbers[-1]}"


def bars(numbers: Sequence[int]) -> str:
    """A bar for each, from nothing to the largest."""
    top, highest = max((*numbers, 1)), len(_BARS) - 1
    return "".join(_BARS[-(-max(number, 0) * highest // top)] for number in numbers)


def _documents(history: HistoryReader, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = history.rows(options.source, options.limit or ALL)
    recorded = {(run.source, run.number): run for run in _recorded(history, {row.source for row in rows})}
    return [run_document(row, recorded.get((row.source, row.number))) for row in rows]


def _recorded(history: HistoryReader, sources: Iterable[str]) -> Iterator[Run]:
    for source in sources:
        yield from history.recorded(source)


def run_document(row: RunRow, run: Run | None) -> dict[str, Any]:
    """A run as it is remembered, as plain values.

    :param run: None for one that has not ended.
    """
    return {
        "source": row.source,
        "number": row.number,
        "state": row.state,
        "started": row.started,
        "ended": row.ended,
        "record": None if run is None else to_plain(run),
        "summary": row.summary,
    }


def _put_document(documents: Sequence[dict[str, Any]], streams: Streams) -> None:
    """A line for each run, for people and for tools that read lines."""
    streams.say(f'{{"schema": "{SCHEMA}", "runs": [')
    for number, document in enumerate(documents, 1):
        streams.say(json.dumps(document) + ("," if number < len(documents) else ""))
    streams.say("]}")


# --- runs as they were remembered, from a history or from what ``loop-close history --json`` printed

_SQLITE = b"SQLite format 3\0"
_NAME, _, _VERSION = SCHEMA.partition("/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A run that has ended.

    :ivar verdict: its verdict then; empty if that is unknown.
    """

    run: Run
    verdict: str


def recorded_in(path: Path, source: str | None) -> list[Recorded]:
    """The runs of a history, by source and number.

    :raises UsageError: when it cannot be read, or has none.
    """
    return read(path, lambda history: list(_of_history(history, source)), source)


def recorded_by(name: str, standard_input: BinaryIO, source: str | None) -> list[Recorded]:
    """The runs of a file, by source and number.

    :param name: of a history or JSON; ``-`` for JSON from the standard input.
    :raises UsageError: when it cannot be read, or has none.
    """
    try:
        if name != "-" and _is_database(name):
            return recorded_in(Path(name), source)
        content = standard_input.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None
    found = _of_document(name, _parsed(name, content))
    return _chosen(name, found, source)


def _is_database(name: str) -> bool:
    with open(name, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _of_history(history: HistoryReader, source: str | None) -> Iterator[Recorded]:
    for name in history.sources() if source is None else (source,):
        verdicts = {row.number: _verdict(row.summary) for row in history.rows(name)}
        for run in history.recorded(name):
            yield Recorded(run=run, verdict=verdicts.get(run.number, ""))


def _verdict(summary: object) -> str:
    verdict = summary.get("verdict") if isinstance(summary, dict) else None
    return verdict if isinstance(verdict, str) else ""


def _parsed(name: str, content: bytes) -> list[Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{name} is neither a history database nor the output of loop-close history --json: {error}"
        ) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == SCHEMA and isinstance(document.get("runs"), list):
        runs: list[Any] = document["runs"]
        return runs
    if isinstance(schema, str) and schema.startswith(f"{_NAME}/") and schema != SCHEMA:
        raise UsageError(f"{name} has schema {schema}; this version reads {SCHEMA}")
    raise UsageError(
        f"{name} is not the output of loop-close history --json: it needs schema {SCHEMA} and runs"
    )


def _of_document(name: str, documents: Sequence[Any]) -> list[Recorded]:
    found: dict[tuple[str, int], Recorded] = {}
    for position, document in enumerate(documents):
        try:
            recorded = _of_run(document)
        except RecordError as error:
            raise UsageError(f"{name}: runs[{position}]: {error}") from None
        if recorded is None:
            continue
        key = recorded.run.source, recorded.run.number
        if key in found:
            raise UsageError(f"{name}: runs[{position}]: run {key[1]} of {key[0]} appears twice")
        found[key] = recorded
    return [found[key] for key in sorted(found)]


def _of_run(document: Any) -> Recorded | None:
    """The run; None for one that has not ended."""
    if not isinstance(document, dict):
        raise RecordError(f"expected a run, got {type(document).__name__}")
    missing = [key for key in ("source", "number", "record") if key not in document]
    if missing:
        raise RecordError(f"{missing[0]} is missing")
    record = document["record"]
    if record is None:
        return None
    if not isinstance(record, dict):
        raise RecordError(f"record: expected an object, got {type(record).__name__}")
    own = {"number": document["number"], "source": document["source"]}
    return Recorded(run=to_record(Run, {**record, **own}), verdict=_verdict(document.get("summary")))


def _chosen(name: str, found: list[Recorded], source: str | None) -> list[Recorded]:
    chosen = [each for each in found if source in (None, each.run.source)]
    if not chosen:
        raise NoRunError(f"{name} has no finished run{'' if source is None else f' of {source!r}'}")
    return chosen


# --- rows under headings: with rich at a terminal where it is installed, else aligned text

_NARROW = 100
_STYLES = {
    "green": "green",
    "progress": "green",
    "stuck": "bold red",
    "open": "bold red",
    "half": "yellow",
    "no-progress": "yellow",
    "killed": "yellow",
    "error": "red",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """What to show.

    :ivar rows: cells of safe text, as many as there are headings; the last may be long.
    :ivar numbers: the headings of columns that go to the right.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()


def show_table(table: Table, streams: Streams) -> None:
    """Print the table, as wide as the terminal at most."""
    if streams.output.isatty():
        streams.put(_rich(table, streams) or _plain(table, columns_of(streams.output)))
    else:
        streams.put(_plain(table, None))


def can_show(streams: Streams, text: str) -> bool:
    """Whether the encoding of the output has these characters."""
    try:
        text.encode(getattr(streams.output, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_narrow(streams: Streams) -> bool:
    """Whether there is a terminal, and columns have to be short to fit it."""
    return (columns_of(streams.output) or _NARROW) < _NARROW


def _plain(table: Table, width: int | None) -> str:
    columns = list(zip(table.headings, *table.rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for cells in (table.headings, *table.rows):
        padded = [
            cell.rjust(size) if heading in table.numbers else cell.ljust(size)
            for heading, cell, size in zip(table.headings, cells, widths, strict=True)
        ]
        lines.append(_cut("  ".join(padded).rstrip(), width))
    return "".join(f"{line}\n" for line in lines)


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: max(width - 3, 0)]}..."


def _rich(table: Table, streams: Streams) -> str:
    """The table in colour, its last column folded; empty if rich is not installed."""
    try:  # by name, as nothing else needs it: not even a check of types
        rich, rich_table, text = map(import_module, ("rich.console", "rich.table", "rich.text"))
    except ImportError:
        return ""
    console = rich.Console(file=streams.output, highlight=False, width=columns_of(streams.output))
    gap = 1 if is_narrow(streams) else 2
    shown = rich_table.Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for heading in table.headings:
        justify = "right" if heading in table.numbers else "left"
        is_last = heading == table.headings[-1]
        shown.add_column(
            text.Text(heading, style="bold"), justify=justify, no_wrap=not is_last, overflow="fold"
        )
    for row in table.rows:
        shown.add_row(*(text.Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    # Into a text and not to the terminal: if the reader has closed the pipe, rich ends the process itself.
    with console.capture() as capture:
        console.print(shown)
    return str(capture.get())


# --- ``loop-close replay``: judge remembered runs again, such as with other thresholds

_REPLAY_HEADINGS = ("run", "source", "verdict", "was", "fail", "stuck", "signals")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """A run and its verdict now.

    :ivar was: its verdict then, where that is something else; else empty.
    """

    recorded: Recorded
    progress: Progress
    verdict: str
    was: str


def replay(options: argparse.Namespace, streams: Streams) -> int:
    """Print the verdict of every run with these thresholds, and how many differ from the recorded ones; always 0."""
    recorded, settings = _input(options, streams)
    limits = _limits(settings, options.thresholds)
    judged = list(_judged(recorded, limits))
    if options.json:
        streams.say(json.dumps(_document(judged, limits), indent=2))
        return 0
    width = 12 if is_narrow(streams) else 24
    rows = [_replay_cells(each, width) for each in judged]
    show_table(Table(headings=_REPLAY_HEADINGS, rows=rows, numbers=frozenset(("run", "fail"))), streams)
    for line in _conclusion(judged):
        streams.say(line)
    return 0


def _input(options: argparse.Namespace, streams: Streams) -> tuple[list[Recorded], Settings]:
    if options.file is None:
        project = project_of(options)
        return recorded_in(project.history, options.source), project.settings
    if options.history is not None:
        raise UsageError("give either a FILE or --history, not both")
    settings = settings_of(root_of(Path.cwd()))
    return recorded_by(options.file, streams.input, options.source), settings


def _limits(settings: Settings, words: Sequence[str]) -> Thresholds:
    """The thresholds of the settings, with those of the command line over them.

    :raises UsageError: for one that does not exist or cannot have its value.
    """
    from loop_close.remember import limits_of

    given = dict(_threshold(word) for word in words)
    return replace(limits_of(settings), **given)  # type: ignore[arg-type]


def _threshold(word: str) -> tuple[str, float]:
    name, _, text = word.partition("=")
    try:
        value = float(text) if name == "similarity" else int(text)
    except ValueError:
        raise UsageError(f"--set must be NAME=NUMBER, for example repeats=4, not {word!r}") from None
    try:
        check_setting(f"--set {word}: thresholds", "thresholds", {name: value})
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return name, value


def _judged(recorded: Sequence[Recorded], limits: Thresholds) -> Iterator[_Judged]:
    """Every run on top of those of its source before it."""
    from loop_close.progress.advance import advance, verdict_of

    episodes: dict[str, Episode] = {}
    for each in recorded:
        made = advance(episodes.get(each.run.source, Episode()), each.run, limits)
        episodes[each.run.source] = made.episode
        verdict = "killed" if each.run.is_killed else verdict_of(made.progress, _alone(each))
        differs = each.verdict not in ("", verdict) and not each.run.is_killed
        was = each.verdict if differs else ""
        yield _Judged(recorded=each, progress=made.progress, verdict=verdict, was=was)


def _alone(recorded: Recorded) -> Verdict:
    """The verdict on the run by itself, as far as it is remembered; no threshold makes an error of a run."""
    if recorded.run.is_good:
        return "green"
    is_error = recorded.verdict == "error" or not recorded.run.marks
    return "error" if is_error else "first-failure"


def _replay_cells(judged: _Judged, width: int) -> list[str]:
    progress = judged.progress
    return [
        str(progress.run),
        shown(judged.recorded.run.source, width),
        judged.verdict,
        shown(judged.was, 24),
        str(progress.step.unresolved),
        short_words(progress.breaker),
        ", ".join(signal.kind for signal in progress.signals if signal.is_on),
    ]


def _conclusion(judged: Sequence[_Judged]) -> Iterator[str]:
    first = {each.recorded.run.source: each.recorded.run.number for each in reversed(judged)}
    for source, number in first.items():
        if number > 1:
            yield f"{shown(source, 24)}: runs before run {number} are missing, so the first verdicts may differ"
    differ, known = sum(bool(each.was) for each in judged), len(judged)
    runs = f"{known} run{'s' * (known != 1)}"
    yield (f"{differ} of {runs} now have another verdict" if differ else f"{runs}: same verdicts as recorded")


def _document(judged: Sequence[_Judged], limits: Thresholds) -> dict[str, Any]:
    return {
        "schema": "loop-close.replay/1",
        "thresholds": {**asdict(limits), "off": list(limits.off)},
        "runs": [_run_document(each) for each in judged],
        "differ": sum(bool(each.was) for each in judged),
    }


def _run_document(judged: _Judged) -> dict[str, Any]:
    progress = judged.progress
    return {
        "source": shown(judged.recorded.run.source),
        "number": progress.run,
        "verdict": judged.verdict,
        "recorded": shown(judged.recorded.verdict) or None,
        "failing": progress.step.unresolved,
        "breaker": {"state": progress.breaker.state, "reason": progress.breaker.reason},
        "signals": [signal_document(signal) for signal in progress.signals if signal.is_on],
    }


def reset(options: argparse.Namespace, streams: Streams) -> int:
    """Forget all runs, or those of a source, and print how many there were; 0 although there was none."""
    project = project_of(options)
    try:
        # A file that is not a history must not be touched: opening it for writing would rename it.
        read(project.history, lambda history: None, options.source)
        count = _forgotten(project.history, options.source, streams)
    except NoRunError as error:
        streams.complain(str(error))
        count = 0
    except DamagedError:
        count = _forgotten(project.history, options.source, streams)
    streams.say(f'{{"forgotten": {count}}}' if options.json else f"{count} run{'s' * (count != 1)} forgotten")
    return 0


def _forgotten(path: Path, source: str | None, streams: Streams) -> int:
    from loop_close.store import HistoryError
    from loop_close.store.sqlite import open_history

    try:
        with open_history(path) as history:
            count = history.reset(source)
            for note in history.notes:
                streams.complain(note)
            return count
    except HistoryError as error:
        raise UsageError(str(error)) from None
