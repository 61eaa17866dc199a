"""``loop-close ask NODEID``: what is known of one test, as an exit code and a line."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from time import strftime
from typing import Any

from loop_close.cli import Streams, UsageError
from loop_close.cli.project import Project, project_of
from loop_close.cli.project_state import source_statuses, unrun_edits
from loop_close.cli.recorded import Summary, loop_words, read, shown, signal_document, summary_of
from loop_close.conventions import is_of_tests
from loop_close.facts import file_of, test_function
from loop_close.lazy import dataclass
from loop_close.memory import UNEDITED, Episode, FailureRecord, Run, Signal, Thresholds
from loop_close.progress.compare import BY_MARK
from loop_close.settings import SIGNAL_NAMES, KnownEntry
from loop_close.store import RunRow
from loop_close.store.reader import HistoryReader
from loop_close.testcode.selection import Selection, selections
from loop_close.testcode.suite import TestSuite
from loop_close.text import listed

#: The answers with their exit codes.
CODES = {
    "passing": 0,
    "broken": 1,
    "new": 3,
    "flaky": 4,
    "known": 5,
    "failing elsewhere": 6,
    "unknown test": 7,
}
_NEAREST, _LEAST_LIKE = 3, 60
_FAILING, _KNOWN, _PASSED = "failing", "known", "passed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Remains:
    """What is remembered of a source.

    :ivar runs: those that ended, as they are remembered, the newest last; ``episode`` that of the last one.
    :ivar baseline: node ids of the tests that were there when the loop began, without parameters.
    :ivar ended: when its last run ended.
    """

    source: str
    runs: Sequence[Run] = ()
    episode: Episode = field(default_factory=Episode)
    baseline: Collection[str] = ()
    ended: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What is known of a test.

    :ivar state: a key of :data:`CODES`; ``run`` the run that says so.
    :ivar why: in a clause.
    :ivar nearest: of an unknown test, the ids that are most like it.
    """

    test: str
    state: str
    source: str
    run: int = 0
    why: str = ""
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TestHistory:
    """What the runs of a source say of a test.

    :ivar outcome: ``failing``, ``known`` (it failed, and did not count) or ``passed``; empty if no run had it.
    :ivar run: the last run that had it; ``since`` the first of those in a row in which it fails.
    :ivar has_passed: an earlier run is known to have passed it.
    :ivar known: its cases that failed in that run and did not count.
    :ivar flips: two runs of the same code, one of which it passed and one it failed; empty for none.
    """

    outcome: str = ""
    run: int = 0
    since: int = 0
    has_passed: bool = False
    known: tuple[str, ...] = ()
    flips: tuple[int, ...] = ()


def ask(options: argparse.Namespace, streams: Streams) -> int:
    """Print what is known of the test, and answer by the exit code: see :data:`CODES`."""
    project = project_of(options)
    sources, texts = read(project.history, lambda history: _remembered(project, history), options.source)
    today = strftime("%Y-%m-%d")
    live = [entry for entry in project.settings.known if not entry.is_over(today)]
    reply = reply_to(_candidates(options.test, project), options.source or "", sources, texts, live)
    edited = unrun_edits(project, reply.source) if reply.run else ()
    text = json.dumps(_document(reply, edited), indent=2) if options.json else _line(reply, edited)
    try:
        streams.say(text)
    except BrokenPipeError:  # who does not read it still wants to know by the exit code
        streams.forget_output()
    return CODES[reply.state]


def _candidates(given: str, project: Project) -> tuple[str, ...]:
    """The node id as it may be meant: from the root, or from the working directory."""
    path, separator, names = given.partition("::")
    path = path.replace("\\", "/").removeprefix("./")
    root = Path(os.path.realpath(project.root))
    here = Path(os.path.realpath(Path.cwd() / path))
    inside = here.relative_to(root).as_posix() if here.is_relative_to(root) else path
    return tuple(dict.fromkeys(f"{each}{separator}{names}" for each in (path, inside)))


def _remembered(project: Project, history: HistoryReader) -> tuple[list[Remains], dict[str, str]]:
    """What there is of each source that counts, and the files of tests as the last run of any saw them."""
    texts: dict[str, str] = {}
    for path, (_, _, digest) in sorted(history.files().items()):
        if is_of_tests(path) and path.endswith(".py") and (data := history.content(digest)) is not None:
            texts[path] = data.decode("utf-8", "replace")
    found = []
    for standing in source_statuses(project, history):
        source, last = standing.last.source, standing.last
        held = {path: history.content(digest) for path, digest in history.baseline(source).items()}
        before = {path: data.decode("utf-8", "replace") for path, data in held.items() if data is not None}
        texts.update({path: text for path, text in before.items() if not path.endswith(".py")})
        found.append(
            Remains(
                source=source,
                runs=history.recorded(source),
                episode=history.episode(source),
                baseline=_LazyIds(before),
                ended=last.ended or last.started,
            )
        )
    return found, texts


class _LazyIds(Collection[str]):
    """The tests of some files by node id, found in the source when they are asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._suite: TestSuite | None = None

    @property
    def suite(self) -> TestSuite:
        if self._suite is None:
            known = selections(self._texts)
            self._suite = TestSuite(self._texts, (known[0] if known else Selection()).patterns)
        return self._suite

    def __contains__(self, test: object) -> bool:
        path, _, name = str(test).partition("::")
        return path in self._texts and name.replace("::", ".") in self.suite.tests(path)

    def __iter__(self) -> Iterator[str]:
        for path in sorted(self._texts):
            yield from (f"{path}::{name.replace('.', '::')}" for name in self.suite.tests(path))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def reply_to(
    candidates: Sequence[str],
    asked: str,
    sources: Sequence[Remains],
    texts: Mapping[str, str],
    live: Sequence[KnownEntry],
) -> Reply:
    """What is known of a test.

    :param candidates: the node id as it may be meant, the likeliest first.
    :param asked: the source whose runs are asked for; empty for the newest of those that have run the test.
    :param texts: the files of tests and their configuration, as the last run saw them.
    :param live: the entries of the setting ``known`` whose last day has not passed.
    """
    ids = _LazyIds(texts)
    present = {test for each in sources for test in _present(each)}
    present |= {test_function(test) for test in present}
    test = next((each for each in candidates if each in present or test_function(each) in ids), "")
    newest = [each.source for each in sorted(sources, key=lambda each: -each.ended)]
    if not test:
        near = nearest(candidates, {*present, *ids})
        return Reply(test=candidates[0], state="unknown test", source=asked or newest[0], nearest=near)
    seen = {each.source: seen_by(test, each) for each in sources}
    having = next((source for source in newest if seen[source].outcome), newest[0])
    return _reply(test, asked or having, seen, live)


def _reply(test: str, source: str, seen: Mapping[str, TestHistory], live: Sequence[KnownEntry]) -> Reply:
    own = seen.get(source, TestHistory())

    def reply(state: str, why: str) -> Reply:
        return Reply(test=test, state=state, source=source, run=own.run, why=why)

    entry = _entry_for(own.known, live) if own.outcome == _KNOWN else None
    if entry is not None:
        return reply("known", _known_in_words(entry))
    if own.flips:
        return reply(
            "flaky", f"passed and failed on the same code, in runs {' and '.join(map(str, own.flips))}"
        )
    if own.outcome in (_FAILING, _KNOWN):
        since = f"fails since run {own.since}" if own.since != own.run else "fails"
        state, why = ("broken", "passed before") if own.has_passed else ("new", "is not known to have passed")
        return reply(state, f"{since}, and {why}")
    for other, each in sorted(seen.items()):
        if each.outcome == _FAILING:
            why = f"fails, but not in {source}" if own.outcome else f"fails; {source} did not run it"
            return Reply(test=test, state="failing elsewhere", source=other, run=each.run, why=why)
    for other, each in sorted(seen.items()):
        entry = _entry_for(each.known, live) if each.outcome == _KNOWN else None
        if entry is not None:
            return Reply(test=test, state="known", source=other, run=each.run, why=_known_in_words(entry))
    if not own.outcome:
        return reply("unknown test", "is in no run of all tests of this source")
    return reply("passing", "did not fail")


def _known_in_words(entry: KnownEntry) -> str:
    named = "; ".join(filter(None, (entry.issue, entry.until and f"until {entry.until}")))
    return f"fails, and does not count{f' ({named})' if named else ''}"


def _entry_for(cases: Sequence[str], live: Sequence[KnownEntry]) -> KnownEntry | None:
    """The entry of the first case, where each has one.

    It names the test, or else a cause: which of these it was, the run does not say.
    """
    by_cause = next((entry for entry in live if entry.cause), None)
    found = [next((e for e in live if e.test and e.matches(case)), by_cause) for case in cases]
    return found[0] if all(found) else None


def _present(remains: Remains) -> Iterator[str]:
    """The tests that the source's last run names, and those that its loop knows and that are not gone."""
    yield from (test for run in remains.runs[-1:] for test in _named(run))
    tests = remains.episode.tests.items()
    yield from (test for test, known in tests if known.status in ("failing", "passed"))


def _named(run: Run) -> Iterator[str]:
    yield from (record.test for record in run.marks)
    yield from run.outcomes
    yield from run.known


def _is_case(test: str, asked: str) -> bool:
    """Whether it is the test that is asked for, or a case of it."""
    return test == asked or ("[" not in asked and test_function(test) == asked)


def _outcome(test: str, run: Run, *, is_there: bool) -> str:
    """What became of the test in a run, the worst of its cases; empty if that is unknown.

    :param is_there: the run had the test, if it was one of all tests: then it passed what it does not name.
    """
    if any(_is_case(record.test, test) for record in run.marks):
        return _FAILING
    if any(_is_case(each, test) for each in run.known):
        return _KNOWN
    outcomes = {outcome for each, outcome in run.outcomes.items() if _is_case(each, test)}
    if outcomes:
        return _PASSED if "passed" in outcomes else ""
    is_known = not run.selection.startswith("pytest ")  # of a run of which only the output was read
    is_whole = run.is_full and is_known and not (run.incomplete or run.omitted_marks)
    return _PASSED if is_whole and is_there else ""


def seen_by(test: str, remains: Remains) -> TestHistory:
    """What the runs of a source say of a test.

    That a run had the test although it does not name it is known of the runs since the first that does, of those since
    the last green one where the test was there then, and of the last one that saw the test's file as it is now.
    """
    runs = [run for run in remains.runs if not run.is_killed]
    is_named = [any(_is_case(each, test) for each in _named(run)) for run in runs]
    first = is_named.index(True) if any(is_named) else len(runs)
    is_old = test_function(test) in remains.baseline
    episode, outcomes = remains.episode, []
    last = _last_with_file(test, runs) if first == len(runs) else -1
    # addopts may have left it out of runs of all tests
    is_old = is_old and not (first < len(runs) and BY_MARK.search(runs[first].selection))
    for number, run in enumerate(runs):
        is_last = number == last
        has_outcomes = run.tells_outcomes and (is_last or (is_old and run.number >= episode.green))
        outcomes.append((run, _outcome(test, run, is_there=has_outcomes or number >= first)))
    with_outcome = [(run, outcome) for run, outcome in outcomes if outcome]
    if not with_outcome:
        return TestHistory()
    run, outcome = with_outcome[-1]
    passed = [each.number for each, what in with_outcome if what == _PASSED]
    failing = [
        each.number for each, what in with_outcome if what != _PASSED and each.number > max(passed, default=0)
    ]
    cases = [known for each, known in episode.tests.items() if _is_case(each, test)]
    was_green = is_old and episode.green > 0 and episode.is_green_full and test not in episode.known
    return TestHistory(
        outcome=outcome,
        run=run.number,
        since=min(failing, default=run.number),
        known=tuple(each for each in run.known if _is_case(each, test)),
        has_passed=bool(passed) or was_green or any(known.was_broken or known.flips for known in cases),
        flips=_flips(test, outcomes) or next((known.flips[-2:] for known in cases if known.flips), ()),
    )


def _last_with_file(test: str, runs: Sequence[Run]) -> int:
    """The position of the last run of all tests that saw the test's file as it is now; -1 for none."""
    for number, run in reversed([*enumerate(runs)]):
        if run.is_full and not run.incomplete:
            return number
        if run.edits.omitted or any(edit.file == file_of(test) for edit in run.edits.edits):
            return -1
    return -1


def _flips(test: str, outcomes: Sequence[tuple[Run, str]]) -> tuple[int, ...]:
    """The last two runs of the same code that came out otherwise; faults of the machine say nothing of the test."""
    found: tuple[int, ...] = ()
    last: tuple[int, str] | None = None
    for run, outcome in outcomes:
        if run.edits.kind not in UNEDITED:
            last = None
        records = [record for record in run.marks if _is_case(record.test, test)]
        if not outcome or (records and all(record.is_infrastructure for record in records)):
            continue
        if last is not None and (last[1] == _PASSED) != (outcome == _PASSED):
            found = (last[0], run.number)
        last = (run.number, outcome)
    return found


def nearest(candidates: Sequence[str], ids: Collection[str]) -> tuple[str, ...]:
    """The ids that are most like one of the candidates, the best first."""
    from rapidfuzz import fuzz, process

    best: dict[str, float] = {}
    for test in candidates:
        for found, score, _ in process.extract(test, sorted(ids), scorer=fuzz.WRatio, limit=_NEAREST):
            best[found] = max(score, best.get(found, 0.0))
    ordered = sorted(best, key=lambda each: (-best[each], each))
    return tuple(each for each in ordered if best[each] >= _LEAST_LIKE)[:_NEAREST]


def _line(reply: Reply, edited: Sequence[str]) -> str:
    test = shown(reply.test, 200)
    if reply.state == "unknown test" and not reply.why:
        near = ", ".join(shown(each, 200) for each in reply.nearest)
        return f"unknown test: {test}{f'; nearest: {near}' if near else ''}"
    at = f"{shown(reply.source)}, run {reply.run}" if reply.run else shown(reply.source)
    since = f"; edited since all tests ran: {listed(edited, _NEAREST, shown)}" if edited else ""
    return f"{reply.state}: {test} {shown(reply.why)} ({at}){since}"


def _document(reply: Reply, edited: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": "loop-close.ask/1",
        "test": shown(reply.test, 400),
        "state": reply.state,
        "source": shown(reply.source),
        "run": reply.run or None,
        "explanation": shown(reply.why),
        "edited": [shown(path) for path in edited],
        "nearest": [shown(each, 400) for each in reply.nearest],
    }


# --- ``loop-close explain``: which signals fired in the last run and why, and what the others lack

_MAX_TESTS = 5
_MAX_FAILURES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class _ExplainedRun:
    """The last run that ended.

    :ivar failures: by run, those that the signal in question is about.
    :ivar others: the other sources that count and are not green, with the verdict and the number of their last run.
    """

    row: RunRow
    summary: Summary
    failures: dict[int, tuple[FailureRecord, ...]]
    others: tuple[tuple[str, str, int], ...] = ()


def explain(options: argparse.Namespace, streams: Streams) -> int:
    """Print the signals of the last run that ended; always 0."""
    from loop_close.remember import limits_of

    if options.signal is not None and options.signal not in SIGNAL_NAMES:
        raise UsageError(f"unknown signal {options.signal!r}; known signals: {', '.join(SIGNAL_NAMES)}")
    project = project_of(options)
    known = read(
        project.history, lambda m: _known(project, m, options.source, options.signal), options.source
    )
    limits = limits_of(project.settings)
    if options.json:
        streams.say(json.dumps(_explain_document(known, options.signal, limits), indent=2))
    else:
        streams.say("\n".join(_lines(known, options.signal, limits)))
    return 0


def _known(project: Project, history: HistoryReader, source: str | None, kind: str | None) -> _ExplainedRun:
    done = [row for row in history.rows(source) if row.state == "done"]
    if not done:
        raise UsageError("no run has finished yet")
    row = max(done, key=lambda each: (each.ended or each.started, each.number))
    summary = summary_of(row)
    signals = [signal for signal in summary.fired if signal.kind == kind]
    others = tuple(
        (each.last.source, "killed", each.last.number)
        if each.last.state == "killed"
        else (each.last.source, each.summary.verdict, (each.finished or each.last).number)
        for each in source_statuses(project, history)
        if each.verdict != "green" and each.last.source != row.source
    )
    failures = _failures(history, row.source, signals)
    return _ExplainedRun(row=row, summary=summary, failures=failures, others=others)


def _failures(
    history: HistoryReader, source: str, signals: Sequence[Signal]
) -> dict[int, tuple[FailureRecord, ...]]:
    found = {}
    for signal in signals:
        for run in history.recorded(source):
            if run.number in signal.runs:
                found[run.number] = tuple(m for m in run.marks if not signal.tests or m.test in signal.tests)
    return found


def _asked(known: _ExplainedRun, kind: str | None) -> list[Signal]:
    return [signal for signal in known.summary.signals if kind is None or signal.kind == kind]


def _lines(known: _ExplainedRun, kind: str | None, limits: Thresholds) -> Iterator[str]:
    breaker = known.summary.breaker
    yield f"{shown(known.row.source)}, run {known.row.number}: {known.summary.verdict}"
    yield loop_words(breaker)
    if known.others:
        # a green run of such a source has changed tests
        said = (
            (shown(s), "tests changed" if verdict == "green" else verdict, n)
            for s, verdict, n in known.others
        )
        named = (f"{source} ({words} in run {number})" for source, words, number in said)
        yield f"not green either: {', '.join(named)}; explain one with --source"
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
    yield f"{shown(signal.kind)}: FIRED{f', by {_runs(signal.runs)}' if signal.runs else ''}"
    yield f"  {shown(signal.explanation)}"
    for test in signal.tests[:_MAX_TESTS]:
        yield f"  - {shown(test)}"
    if len(signal.tests) > _MAX_TESTS:
        yield f"  … {len(signal.tests) - _MAX_TESTS} more"


def _failure_lines(failures: Mapping[int, Sequence[FailureRecord]]) -> Iterator[str]:
    """Every test with the keys that its failure had, and the runs in which it had them."""
    seen: dict[str, dict[FailureRecord, list[int]]] = {}
    for number, records in sorted(failures.items()):
        for record in records:
            keys = FailureRecord(
                test=record.test, exact=record.exact, shape=record.shape, message=record.message
            )
            seen.setdefault(record.test, {}).setdefault(keys, []).append(number)
    for test in list(seen)[:_MAX_FAILURES]:
        yield from ("", shown(test))
        for keys, runs in seen[test].items():
            yield f"  {_runs(runs)}: exact {shown(keys.exact)}, shape {shown(keys.shape)}"
            yield from [f"    {shown(keys.message, 160)}"] if keys.message else []
    if len(seen) > _MAX_FAILURES:
        yield f"… {len(seen) - _MAX_FAILURES} more tests"


def _runs(numbers: Sequence[int]) -> str:
    return f"run{'s' * (len(numbers) != 1)} {', '.join(map(str, numbers))}"


def _explain_document(known: _ExplainedRun, kind: str | None, limits: Thresholds) -> dict[str, Any]:
    breaker = known.summary.breaker
    return {
        "schema": "loop-close.explain/1",
        "source": shown(known.row.source),
        "run": known.row.number,
        "verdict": known.summary.verdict,
        "breaker": {"state": breaker.state, "reason": shown(breaker.reason)},
        "others": [
            dict(zip(("source", "verdict", "run"), (shown(s), *rest), strict=True))
            for s, *rest in known.others
        ],
        "thresholds": {**asdict(limits), "off": list(limits.off)},
        "signals": [{"fired": s.is_on, **signal_document(s)} for s in _asked(known, kind)],
        "failures": [
            {
                "run": number,
                **{name: shown(getattr(record, name)) for name in ("test", "exact", "shape", "message")},
            }
            for number, records in sorted(known.failures.items())
            for record in records
        ],
    }
