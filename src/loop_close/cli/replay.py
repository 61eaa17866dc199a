"""``loop-close replay``: judge remembered runs again, such as with other thresholds."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loop_close.cli.parser import UsageError
from loop_close.cli.place import place_of, root_of, settings_of
from loop_close.cli.recording import Recorded, recorded_by, recorded_in
from loop_close.cli.streams import Streams
from loop_close.cli.summary import short_words, shown, signal_document
from loop_close.cli.table import Table, is_narrow, show_table
from loop_close.memory import Episode, Progress, Thresholds
from loop_close.settings import Settings, SettingsError, check_setting

if TYPE_CHECKING:
    from loop_close.model import Verdict

_HEADINGS = ("run", "source", "verdict", "was", "fail", "stuck", "signals")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """A run and what it comes to now.

    :ivar was: what it came to then, where that is something else; else empty.
    """

    recorded: Recorded
    progress: Progress
    verdict: str
    was: str


def replay(options: argparse.Namespace, streams: Streams) -> int:
    """Print what every run comes to now, and how many differ from what was recorded; always 0."""
    recorded, settings = _input(options, streams)
    limits = _limits(settings, options.thresholds)
    judged = list(_judged(recorded, limits))
    if options.json:
        streams.say(json.dumps(_document(judged, limits), indent=2))
        return 0
    width = 12 if is_narrow(streams) else 24
    rows = [_cells(each, width) for each in judged]
    show_table(Table(headings=_HEADINGS, rows=rows, numbers=frozenset(("run", "fail"))), streams)
    for line in _told(judged):
        streams.say(line)
    return 0


def _input(options: argparse.Namespace, streams: Streams) -> tuple[list[Recorded], Settings]:
    if options.file is None:
        place = place_of(options)
        return recorded_in(place.history, options.source), place.settings
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
    from loop_close.progress import advance
    from loop_close.progress.advance import verdict_of

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


def _cells(judged: _Judged, width: int) -> list[str]:
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


def _told(judged: Sequence[_Judged]) -> Iterator[str]:
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
