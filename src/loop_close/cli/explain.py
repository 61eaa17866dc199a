"""``loop-close explain``: which signals fired in the last run and why, and what the others lack."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loop_close.cli.memory import Remembered, read
from loop_close.cli.parser import UsageError
from loop_close.cli.place import place_of
from loop_close.cli.streams import Streams
from loop_close.cli.summary import Summary, loop_words, shown, signal_document, summary_of
from loop_close.memory import Mark, Signal, Thresholds
from loop_close.settings import SIGNALS
from loop_close.store.contract import RunRow

_MAX_TESTS = 5
_MAX_FAILURES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """The last run that ended.

    :ivar failures: by run, those that the signal in question is about.
    """

    row: RunRow
    summary: Summary
    failures: dict[int, tuple[Mark, ...]]


def explain(options: argparse.Namespace, streams: Streams) -> int:
    """Print the signals of the last run that ended; always 0."""
    from loop_close.remember import limits_of

    if options.signal is not None and options.signal not in SIGNALS:
        raise UsageError(f"unknown signal {options.signal!r}; known signals: {', '.join(SIGNALS)}")
    place = place_of(options)
    known = read(place.history, lambda m: _known(m, options.source, options.signal), options.source)
    limits = limits_of(place.settings)
    if options.json:
        streams.say(json.dumps(_document(known, options.signal, limits), indent=2))
    else:
        streams.say("\n".join(_lines(known, options.signal, limits)))
    return 0


def _known(memory: Remembered, source: str | None, kind: str | None) -> _Known:
    done = [row for row in memory.rows(source) if row.state == "done"]
    if not done:
        raise UsageError("no run has finished yet")
    row = max(done, key=lambda each: (each.ended or each.started, each.number))
    summary = summary_of(row)
    signals = [signal for signal in summary.fired if signal.kind == kind]
    return _Known(row=row, summary=summary, failures=_failures(memory, row.source, signals))


def _failures(memory: Remembered, source: str, signals: Sequence[Signal]) -> dict[int, tuple[Mark, ...]]:
    found = {}
    for signal in signals:
        for run in memory.recorded(source):
            if run.number in signal.runs:
                found[run.number] = tuple(m for m in run.marks if not signal.tests or m.test in signal.tests)
    return found


def _asked(known: _Known, kind: str | None) -> list[Signal]:
    return [signal for signal in known.summary.signals if kind is None or signal.kind == kind]


def _lines(known: _Known, kind: str | None, limits: Thresholds) -> Iterator[str]:
    breaker = known.summary.breaker
    yield f"{shown(known.row.source)}, run {known.row.number}: {known.summary.verdict}"
    yield loop_words(breaker)
    yield f"current thresholds: {_thresholds(limits)}"
    signals = _asked(known, kind)
    if not signals:
        yield "no signals yet: the run has no earlier failure to compare with"
    for signal in sorted(signals, key=lambda each: not each.is_on):
        yield from _signal_lines(signal)
    yield from _failure_lines(known.failures)


def _thresholds(limits: Thresholds) -> str:
    named = [f"{name} {value}" for name, value in asdict(limits).items() if name != "off"]
    return ", ".join([*named, *([f"off: {', '.join(limits.off)}"] if limits.off else [])])


def _signal_lines(signal: Signal) -> Iterator[str]:
    yield ""
    if not signal.is_on:
        yield f"{shown(signal.kind)}: not fired"
        yield f"  {shown(signal.explanation)}"
        return
    yield f"{shown(signal.kind)}: FIRED{f' in {_runs(signal.runs)}' if signal.runs else ''}"
    yield f"  {shown(signal.explanation)}"
    for test in signal.tests[:_MAX_TESTS]:
        yield f"  - {shown(test)}"
    if len(signal.tests) > _MAX_TESTS:
        yield f"  … {len(signal.tests) - _MAX_TESTS} more"


def _failure_lines(failures: Mapping[int, Sequence[Mark]]) -> Iterator[str]:
    """Every test with the keys that its failure had, and the runs in which it had them."""
    seen: dict[str, dict[Mark, list[int]]] = {}
    for number, marks in sorted(failures.items()):
        for mark in marks:
            keys = Mark(test=mark.test, exact=mark.exact, shape=mark.shape, message=mark.message)
            seen.setdefault(mark.test, {}).setdefault(keys, []).append(number)
    for test in list(seen)[:_MAX_FAILURES]:
        yield from ("", shown(test))
        for keys, runs in seen[test].items():
            yield f"  {_runs(runs)}: exact {shown(keys.exact)}, shape {shown(keys.shape)}"
            yield from [f"    {shown(keys.message, 160)}"] if keys.message else []
    if len(seen) > _MAX_FAILURES:
        yield f"… {len(seen) - _MAX_FAILURES} more tests"


def _runs(numbers: Sequence[int]) -> str:
    return f"run{'s' * (len(numbers) != 1)} {', '.join(map(str, numbers))}"


def _document(known: _Known, kind: str | None, limits: Thresholds) -> dict[str, Any]:
    breaker = known.summary.breaker
    return {
        "schema": "loop-close.explain/1",
        "source": shown(known.row.source),
        "run": known.row.number,
        "verdict": known.summary.verdict,
        "breaker": {"state": breaker.state, "reason": shown(breaker.reason)},
        "thresholds": {**asdict(limits), "off": list(limits.off)},
        "signals": [{"fired": s.is_on, **signal_document(s)} for s in _asked(known, kind)],
        "failures": [
            {
                "run": number,
                **{name: shown(getattr(mark, name)) for name in ("test", "exact", "shape", "message")},
            }
            for number, marks in sorted(known.failures.items())
            for mark in marks
        ],
    }
