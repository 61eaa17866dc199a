"""``loop-close status``: whether each source is green, failing or stuck after its last run."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import Any

from loop_close import files
from loop_close.cli import INSIDE, Streams, UsageError, driven_tests
from loop_close.cli.driven_tests import left_open
from loop_close.cli.history import recorded_in
from loop_close.cli.project import Project, from_here, project_at, project_of
from loop_close.cli.project_state import SourceStatus, source_statuses, unseen_edits
from loop_close.cli.recorded import (
    NoRunError,
    Summary,
    edits_document,
    loop_words,
    read,
    shown,
    signal_document,
)
from loop_close.lazy import dataclass
from loop_close.memory import GROUPS, TAMPERING, TESTS, ChangedTest, Episode, Progress, Run
from loop_close.prompt import known_words
from loop_close.prompt.loop import diff_of, plain_line, tests_document
from loop_close.provenance import agent_of
from loop_close.remember import limits_of
from loop_close.store.reader import HistoryReader
from loop_close.text import listed

_MOST_NAMED = 5
_ACCEPT = "to see the changes to tests, and to accept them: loop-close accept"
_CODES = {"green": 0, "failing": 1, "stuck": 3}
_MOVED = {"fixed": "fixed", "new": "new", "changed": "changed", "unresolved": "unresolved"}
_REST = {"not_run": "not run", "not_fixed": "stopped failing without a fix"}


def status(options: argparse.Namespace, streams: Streams) -> int:
    """Print the status of the sources, the worst first: 0 if all are green, 1 if one is not, 3 if one is stuck.

    What was edited since all tests ran is not known to be green: that is 1 as well.
    """
    project = project_of(options)
    found = worst_first(project, options.source)
    left = left_open(project.root)
    edited, stale = unseen_edits(project, options.source, is_green=found[0].verdict == "green")
    if options.json:
        text = json.dumps(document_of(found, left, edited, stale), indent=2)
    else:
        text = _text(found, left, edited, stale)
    try:
        streams.say(text)
    except BrokenPipeError:  # who reads only the beginning still wants to know by the exit code
        streams.forget_output()
    return _CODES[found[0].verdict] or int(bool(left or edited))


def worst_first(project: Project, source: str | None = None) -> list[SourceStatus]:
    """The status of the source, or of each; never empty.

    :raises UsageError: when nothing is remembered, or cannot be read.
    """
    found = read(project.history, lambda history: source_statuses(project, history, source), source)
    return sorted(found, key=lambda s: (-_CODES[s.verdict], -s.last.started))


def _text(
    statuses: Sequence[SourceStatus],
    left: Sequence[ChangedTest],
    edited: Sequence[str],
    stale: Mapping[str, Sequence[str]],
) -> str:
    # of a single source, what its tests did not see is said once, at the end
    is_said = len(statuses) == 1 and statuses[0].last.source.startswith(TESTS)
    since = {s: paths for s, paths in stale.items() if not (is_said and [*paths] == [*edited])}
    blocks = ["\n".join(_lines(each, since.get(each.last.source, ()))) for each in statuses]
    reported = {change.fingerprint for standing in statuses for change in standing.summary.tests}
    more = [change for change in left if change.fingerprint not in reported]
    if more:
        lines = [f"  {shown(plain_line(change), 600)}" for change in more]
        blocks.append("\n".join(["drive: tests are not as they were when the last loop began", *lines]))
    if edited:
        blocks.append(f"edited since all tests ran: {listed(edited, _MOST_NAMED, shown)}; run the tests")
    is_open = left or any(each.is_open for s in statuses for each in s.summary.tests)
    return "\n\n".join([*blocks, *([_ACCEPT] if is_open else [])])


def _lines(standing: SourceStatus, edited: Sequence[str]) -> Iterator[str]:
    summary = standing.summary
    since = f"; edited since: {listed(edited, _MOST_NAMED, shown)}" if edited else ""
    yield f"{shown(standing.last.source)}: {_headline(standing)}{since}"
    is_known = summary.failing != 0 or any(summary.counts.values())
    if standing.finished is not None and summary.verdict != "green" and is_known:
        yield f"  {_counts(summary)}"
    if summary.breaker.state != "closed":
        yield f"  {loop_words(summary.breaker)}"
    yield from (f"  {shown(line)}" for line in (standing.waits.words if standing.waits else ()))
    if summary.not_run:
        yield f"  {summary.not_run}"
    for signal in summary.fired:
        if signal.kind == TAMPERING and summary.tests:
            continue
        yield f"  {shown(signal.kind)}: {shown(signal.explanation)}"
    for change in summary.tests:
        if change.state in ("open", "asked"):
            label = "changed" if change.is_open else "look"
            yield f"  {label}: {shown(plain_line(change), 600)}"
    if standing.last.state != "done":
        state = "is running" if standing.last.state == "running" else "was killed before it finished"
        yield f"  run {standing.last.number} {state}"
    if standing.prompt is not None:
        yield f"  prompt: {shown(from_here(standing.prompt))}"


def _headline(standing: SourceStatus) -> str:
    if standing.finished is None:
        return "no run has finished yet"
    summary = standing.summary
    if summary.skipped and summary.verdict == "green":
        return f"skipped in run {standing.finished.number}: {summary.skipped}"
    reason = "" if summary.verdict == "green" or not summary.reason else f": {summary.reason}"
    known = f" but for {known_words(summary.known)}" if summary.known and summary.verdict == "green" else ""
    return f"{summary.verdict}{known} in run {standing.finished.number}{reason}"


def _counts(summary: Summary) -> str:
    """``3 failing: 1 fixed, 2 unresolved; at best 2, in run 4``."""
    named = {**_MOVED, **_REST}
    parts = [
        f"{summary.counts.get(name, 0)} {words}"
        for name, words in named.items()
        if name in _MOVED or summary.counts.get(name)
    ]
    moved = f": {', '.join(parts)}" if summary.counts else ""
    least, run = summary.best
    best = f"; fewest so far: {least}, in run {run}" if run and least < (summary.failing or 0) else ""
    return f"{summary.failing} failing{moved}{best}"


def document_of(
    statuses: Sequence[SourceStatus],
    left: Sequence[ChangedTest] = (),
    edited: Sequence[str] = (),
    stale: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """The same as plain values, as ``--json`` prints them.

    :param left: what the last ``drive`` found done to tests, and is still open.
    :param edited: files that were edited since all tests ran; then nothing is known to be green.
    :param stale: those that were edited since the last run of each source.
    """
    verdict = statuses[0].verdict
    verdict = "unknown" if edited and verdict == "green" else verdict
    return {
        "schema": "loop-close.status/1",
        "verdict": "failing" if left and verdict in ("green", "unknown") else verdict,
        "edited": [shown(path) for path in edited],
        "left_by_drive": tests_document(left),
        "sources": [_source_document(each, stale.get(each.last.source, ())) for each in statuses],
    }


def _source_document(standing: SourceStatus, edited: Sequence[str]) -> dict[str, Any]:
    summary, finished = standing.summary, standing.finished
    least, run = summary.best
    return {
        "source": shown(standing.last.source),
        "run": finished.number if finished is not None else None,
        "verdict": summary.verdict if finished is not None else None,
        "standing": standing.verdict,
        "last_run": standing.last.number,
        "state": standing.last.state,
        "edited": [shown(path) for path in edited],
        "stall_reason": summary.reason,
        "failing": summary.failing,
        "known": summary.known,
        **{name: summary.counts.get(name, 0) for name in GROUPS},
        "best": {"failing": least, "run": run} if run else None,
        "breaker": {"state": summary.breaker.state, "reason": shown(summary.breaker.reason)},
        "signals": [signal_document(signal) for signal in summary.fired],
        "test_changes": tests_document((*summary.tests, *(standing.waits.absent if standing.waits else ()))),
        **edits_document(summary),
        "prompt": None if standing.prompt is None else from_here(standing.prompt),
        "not_run_here": [shown(name) for name in (standing.waits.not_run if standing.waits else ())],
    }


# --- the sources that a command ran: the state of each, and the result of the worst


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """The result of a command that ran tests or checks.

    :ivar statuses: of the sources that it ran, the worst first; empty if nothing was remembered.
    :ivar beside: a merge that did not run in it, and still counts.
    :ivar progress: of the worst, against its episode; ``run`` what is remembered of it; None if that is unknown.
    :ivar is_good_news: the prompt that is there now is of a green run, as far as is remembered.
    """

    statuses: tuple[SourceStatus, ...] = ()
    beside: tuple[SourceStatus, ...] = ()
    progress: Progress | None = None
    run: Run | None = None
    is_good_news: bool = False


def latest_run_numbers(root: Path) -> dict[str, int]:
    """The number of the last run of every source of a project; nothing if nothing is remembered."""

    def numbers(history: HistoryReader) -> dict[str, int]:
        return {source: history.rows(source, 1)[-1].number for source in history.sources()}

    with contextlib.suppress(UsageError):
        return read(project_at(root).history, numbers)
    return {}


def has_run(root: Path, run: str) -> bool:
    """Whether the history of a project has that run, as :func:`loop_close.store.runs.known_by` makes it."""
    with contextlib.suppress(UsageError):
        return read(project_at(root).history, lambda history: history.has_run(run))
    return False


def run_result(root: Path, before: Mapping[str, int]) -> RunResult:
    """What came of the sources of a project that have run since.

    :param before: what :func:`latest_run_numbers` returned then.
    """
    try:
        project = project_at(root)
        found = worst_first(project)
    except UsageError:
        return RunResult()
    # A red run leaves its report, which the next one takes away.
    is_red = (root / files.REPORT).exists()
    is_good_news = not is_red and any(s.prompt is not None and s.summary.verdict == "green" for s in found)
    ran = tuple(each for each in found if before.get(each.last.source) != each.last.number)
    if not ran:
        return RunResult(is_good_news=is_good_news)
    progress, run = _progress(project, ran[0])
    beside = tuple(each for each in found if each.waits is not None and each not in ran)
    return RunResult(statuses=ran, beside=beside, progress=progress, run=run, is_good_news=is_good_news)


def _progress(project: Project, standing: SourceStatus) -> tuple[Progress | None, Run | None]:
    """The run's result compared with the runs before it."""
    from loop_close.progress.advance import advance

    limits, episode, made, run = limits_of(project.settings), Episode(), None, None
    with contextlib.suppress(UsageError):
        for each in recorded_in(project.history, standing.last.source):
            made, run = advance(episode, each.run, limits), each.run
            episode = made.episode
    if made is None or run is None or run.number != standing.last.number:
        return None, None
    return made.progress, run


# --- ``loop-close accept``: a person accepts what was done to tests, so that a green run is done


def accept(options: argparse.Namespace, streams: Streams) -> int:
    """Accept the changes of the given tests; without one, show what could be accepted.

    :returns: 0; 1 where changes are shown that keep a green run from being done.
    :raises UsageError: for a test that was not changed, and where no person may be at work.
    """
    project = project_of(options)
    changes = changes_of(project)
    if not options.tests and not options.all:
        return _show(changes, streams, as_json=options.json)
    why = why_refused(project.root)
    if why:
        raise UsageError(why)
    chosen = changes if options.all else list(_chosen(changes, options.tests))
    _record(project, chosen, streams)
    for change in chosen:
        streams.say(f"accepted: {shown(plain_line(change), 600)}")
    if not chosen:
        streams.say("no test was changed since the loop began")
    return 0


def changes_of(project: Project) -> list[ChangedTest]:
    """What may be accepted: of the last run of each source, and of the last ``drive``; each once.

    :raises NoRunError: when neither is remembered, as in a folder above the project.
    """
    left = driven_tests.left_open(project.root)
    known: list[ChangedTest] = []
    try:
        for standing in worst_first(project):
            known += (*standing.summary.tests, *(standing.waits.absent if standing.waits else ()))
    except NoRunError:
        if not left:
            raise
    found = {each.fingerprint: each for each in (*known, *left)}
    return [change for change in found.values() if change.state in ("open", "asked")]


def why_refused(root: Path) -> str:
    """Why nothing can be accepted here; empty if a person may be at work."""
    inside = os.environ.get(INSIDE, "")
    if inside or driven_tests.is_driven(root):
        what = "a hook" if inside == "hook" else "loop-close drive"
        return (
            f"accept is refused while {what} is at work here: what its agent did to tests is accepted by a person,"
            " in a terminal of their own, after it has ended"
        )
    agent, variable = agent_of(os.environ)
    if variable:
        whose = f"an agent, {agent}" if agent else "an agent"
        return (
            f"accept is refused in the shell of {whose} ({variable} is set): restore the tests, or ask a person to run"
            " this command in a terminal of their own"
        )
    return ""


def _chosen(changes: Sequence[ChangedTest], names: Sequence[str]) -> Iterator[ChangedTest]:
    for name in names:
        found = [each for each in changes if name in (each.id, each.file, each.test)]
        if not found:
            known = ", ".join(each.id for each in changes) or "none"
            raise UsageError(f"{shown(name)} is not among the changed tests: {shown(known, 600)}")
        yield from found


def _record(project: Project, changes: Sequence[ChangedTest], streams: Streams) -> None:
    """Write it down in the history, and for the next ``drive``."""
    from loop_close.store import HistoryError
    from loop_close.store.sqlite import open_history

    last = driven_tests.kept(project.root)
    if last is not None:
        last.accepted |= {change.fingerprint for change in changes}
        last.judge()
        if not last.keep(is_running=False):
            raise UsageError(f"cannot write {driven_tests.path_of(project.root)}")
    if not project.history.exists() or not changes:
        return
    by = _user()
    fingerprints = {
        each.fingerprint: {"id": each.id, "kind": each.kind, "what": each.what, "by": by} for each in changes
    }
    try:
        with open_history(project.history) as history:
            history.accept(fingerprints, time())
            for note in history.notes:
                streams.complain(note)
    except HistoryError as error:
        raise UsageError(str(error)) from None


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # there is no such user, as in some containers
        return ""


def _show(changes: Sequence[ChangedTest], streams: Streams, *, as_json: bool) -> int:
    is_open = any(change.is_open for change in changes)
    if as_json:
        import json

        document = {"schema": "loop-close.test-changes/1", "test_changes": tests_document(changes)}
        streams.say(json.dumps(document, indent=2))
        return int(is_open)
    if not changes:
        streams.say("no test was changed since the loop began")
    for change in changes:
        streams.say(shown(plain_line(change), 600))
        for row in diff_of(change):
            streams.say(f"    {row}")
    if changes:
        streams.say("to accept: loop-close accept TEST..., or --all")
    return int(is_open)
