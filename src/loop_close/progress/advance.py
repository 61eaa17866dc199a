"""A run added to its episode: its progress, signals and verdict, and its record for the history."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from loop_close.facts import NOT_RUN_AGAIN, TEST_PHASES, failure_place, is_only_counted, is_setup
from loop_close.lazy import dataclass
from loop_close.memory import (
    ELSEWHERE,
    GROUPS,
    MERGED,
    TAMPERING,
    UNEDITED,
    Breaker,
    Edits,
    Episode,
    FailureRecord,
    Outcome,
    Progress,
    Returned,
    Run,
    Step,
    Thresholds,
)
from loop_close.model import Counts, Failure, Observation, Report, RootCause, Verdict
from loop_close.progress.compare import (
    CHOSEN,
    LAST_FAILED,
    Changes,
    compare,
    counted_steps,
    failing,
    stretch,
)
from loop_close.progress.fingerprints import (
    MAX_RECORDS,
    name_of,
    outcomes_by_name,
    records_of,
    selection_key,
    test_key,
)
from loop_close.progress.signals import View, check_all
from loop_close.progress.tampering import changed_tests, open_changes
from loop_close.text.redact import clean

_MAX_STEPS = 60
_MAX_EDITED = 12
_MAX_NAMED = 20
_MAX_ASKED = 200
_SOURCE = "--loop-close-source"
# Of earlier episodes: failures, episodes that each was in, and those in a row after which it is let go.
_MAX_RETURNED, _MAX_RETURNS, _MAX_MISSED = 200, 5, 5
_DEFAULT = Thresholds()


@dataclass(frozen=True, kw_only=True, slots=True)
class Advanced:
    """The result of a run.

    :ivar episode: what to remember: that of the progress, or a new one after a green run.
    """

    progress: Progress
    episode: Episode


def advance(episode: Episode, run: Run, limits: Thresholds = _DEFAULT) -> Advanced:
    """Compare a run with its episode. Pure: the same episode and run give the same answer."""
    episode = _credited(episode, run)
    changes = compare(episode, run, limits)
    left = failing(changes.tests)
    step = _step(episode, run, changes, left, limits)
    after = _episode(episode, run, changes, step)
    tests = () if TAMPERING in limits.off else changed_tests(run, after)
    view = View(run=run, before=episode, after=after, changes=changes, step=step, limits=limits, tests=tests)
    progress = Progress(
        run=run.number,
        position=after.runs,
        episode=after,
        step=step,
        fixed=tuple(changes.fixed),
        new=tuple(changes.new),
        broken=tuple(changes.broken),
        changed=tuple(changes.changed),
        unresolved=tuple(changes.unresolved),
        not_run=tuple(changes.not_run),
        not_fixed=tuple(changes.not_fixed),
        signals=check_all(view),
        breaker=_breaker(after, step, limits),
        tests=tests,
        source=run.source,
    )
    # what failed last is another selection each time
    is_same_selection = run.selection == after.selection and not LAST_FAILED.search(run.selection)
    is_whole = run.is_full or is_same_selection
    is_over = run.is_good and not left and is_whole and not open_changes(tests)
    return Advanced(progress=progress, episode=_fresh(run, after) if is_over else after)


def _credited(episode: Episode, run: Run) -> Episode:
    """The episode, where the edit before its last run turned out to have advanced another source."""
    *steps, last = episode.steps or (None,)
    if last is None or not run.elsewhere_before or last.advanced or not last.is_counted:
        return episode
    is_moved = last.fixed or last.new or last.broken or last.changed or last.not_fixed
    if is_moved or last.edits.kind in UNEDITED:
        return episode
    credited = replace(last, advanced=ELSEWHERE, elsewhere=run.elsewhere_before)
    kept = [step for step in steps if step is not None]
    return replace(episode, steps=(*kept, credited), stalled=0, varied=max(0, episode.varied - 1))


def _fresh(run: Run, ended: Episode) -> Episode:
    """The next episode, with the failures of the earlier ones."""
    return Episode(
        green=run.number,
        is_green_full=run.is_full,
        returned=_returned(ended),
        asked=ended.asked if run.tests else (),
        known=run.known,
    )


def _returned(ended: Episode) -> tuple[Returned, ...]:
    """The failures of earlier episodes after those of the one that ended; the oldest are dropped."""
    if not ended.tests:
        return ended.returned
    known = {(each.test, each.shape): each for each in ended.returned}
    began = {
        (test, known_shape.shape): known_shape.runs[0]
        for test, about in ended.tests.items()
        for known_shape in about.forms
    }
    seen = [
        Returned(test=test, shape=shape, runs=(*before.runs, run)[-_MAX_RETURNS:])
        for (test, shape), run in began.items()
        for before in [known.get((test, shape), Returned(test=test, shape=shape))]
    ]
    others = [
        replace(each, missed=each.missed + 1)
        for key, each in known.items()
        if key not in began and each.missed < _MAX_MISSED
    ]
    return (*seen, *others)[:_MAX_RETURNED]


def _step(episode: Episode, run: Run, changes: Changes, left: list[str], limits: Thresholds) -> Step:
    shapes = "\1".join(f"{test}\0{changes.tests[test].mark.shape}" for test in left)
    state = hashlib.blake2b(shapes.encode("utf-8", "replace"), digest_size=8).hexdigest()
    made = Attempt(episode=episode, run=run, changes=changes, state=state, left=len(left))
    counted = _is_attempt(made)
    return Step(
        run=run.number,
        state=state,
        unresolved=len(left),
        fixed=len(changes.fixed),
        new=len(changes.new),
        broken=len(changes.broken),
        changed=len(changes.changed),
        moved=changes.moved,
        not_fixed=len(changes.not_fixed),
        not_run=len(changes.not_run),
        edits=run.edits,
        code=run.code,
        selection=run.selection,
        is_full=run.is_full,
        is_counted=counted,
        is_killed=run.is_killed,
        is_return=is_return(made),
        advanced=advanced(made, limits) if counted else "",
        infrastructure=tuple(changes.infrastructure[:_MAX_NAMED]),
        collected=run.collected,
        known=run.known,
        elsewhere=run.elsewhere,
    )


def _episode(episode: Episode, run: Run, changes: Changes, step: Step) -> Episode:
    best = _best(episode, changes, step)
    return replace(
        episode,
        first=episode.first or run.number,
        selection=episode.selection if episode.runs else run.selection,
        runs=episode.runs + 1,
        steps=_kept((*episode.steps, step)),
        tests=changes.tests,
        asked=_asked(episode, run),
        best=best,
        stalled=_stalled(episode, step),
        varied=_varied(episode, step, is_better=best[1] == step.run),
    )


def _asked(episode: Episode, run: Run) -> tuple[str, ...]:
    """The questions asked so far, those of this run included: what cannot be decided is asked once."""
    asked = (each.fingerprint for each in run.tests if each.state == "asked" or each.kind == "unclear")
    return tuple(dict.fromkeys((*episode.asked, *asked)))[-_MAX_ASKED:]


def _kept(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The last steps; only the very last with the text of what was edited."""
    older, recent = steps[:-_MAX_EDITED], steps[-_MAX_EDITED:]
    return (*(_without_diffs(step) for step in older), *recent)[-_MAX_STEPS:]


def _without_diffs(step: Step) -> Step:
    if not any(edit.diff for edit in step.edits.edits):
        return step
    plain = tuple(replace(edit, diff="") for edit in step.edits.edits)
    return replace(step, edits=replace(step.edits, edits=plain))


def _best(episode: Episode, changes: Changes, step: Step) -> tuple[int, int]:
    """The fewest that failed, and when; a neutral run can neither reach nor miss it."""
    if not episode.best[1]:
        return (step.unresolved, step.run) if step.is_counted else (0, 0)
    found = len(changes.new) - len(changes.broken)  # had been failing, or were not there to fail
    least, run = episode.best[0] + found, episode.best[1]
    return (step.unresolved, step.run) if step.unresolved < least and step.is_counted else (least, run)


def _varied(episode: Episode, step: Step, *, is_better: bool) -> int:
    is_moving = is_better or step.advanced == "later" or not step.unresolved
    is_neutral = step.advanced == ELSEWHERE or _is_partly_green(step)
    return 0 if is_moving else episode.varied + (step.is_counted and not is_neutral)


def _stalled(episode: Episode, step: Step) -> int:
    if step.advanced or not counted_steps(episode.steps) or not step.unresolved:
        return 0
    is_undone = step.is_return and not any(s.is_return for s in stretch(episode.steps))
    return episode.stalled + (step.is_counted and not (is_undone or _is_partly_green(step)))


def _is_partly_green(step: Step) -> bool:
    """Whether no test that ran failed: what is known to fail did not run, and may well be fixed."""
    return 0 < step.unresolved == step.not_run


def _breaker(episode: Episode, step: Step, limits: Thresholds) -> Breaker:
    """Closed after progress; half open, then open, the longer there is none."""
    if step.advanced or not step.unresolved:
        return Breaker()
    if episode.varied >= limits.varied:
        reason = f"no new lowest number of failures for {episode.varied} runs"
        return _open(reason, episode.varied - limits.varied, limits)
    reason = f"no progress for {episode.stalled} run{'s' * (episode.stalled != 1)}"
    if episode.stalled >= limits.open_after:
        return _open(reason, episode.stalled - limits.open_after, limits)
    if episode.stalled >= limits.half_open_after:
        return Breaker(
            state="half_open", reason=f"{reason}; after {limits.open_after} the loop counts as stuck"
        )
    return Breaker()


def _open(reason: str, runs: int, limits: Thresholds) -> Breaker:
    """The open breaker; half open for one run after each cooldown.

    :param runs: for how many runs it has been open before this one.
    """
    if limits.cooldown and runs % (limits.cooldown + 1) == limits.cooldown:
        return Breaker(
            state="half_open", reason=f"{reason}; one more attempt after {limits.cooldown} as stuck"
        )
    return Breaker(state="open", reason=reason)


# --- whether a run was an attempt, and whether it advanced


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A run before it is judged.

    :ivar episode: as it was before the run.
    :ivar state: a digest of what is failing after it; ``left`` how much that is.
    """

    episode: Episode
    run: Run
    changes: Changes
    state: str
    left: int


def _is_attempt(made: Attempt) -> bool:
    """False for a run that says nothing of the last edit: killed, infrastructure, collision, flaky, other tests."""
    run, changes = made.run, made.changes
    if run.is_killed or run.is_collision:
        return False
    if is_first(made):
        return not all(record.is_infrastructure for record in run.marks)
    is_unedited = run.edits.kind in UNEDITED
    if changes.fixed or changes.new or changes.not_fixed or (changes.changed and not is_unedited):
        return True
    if (changes.flipped and is_unedited) or not (changes.unresolved or changes.changed or changes.flipped):
        return False  # flaky; or no test that is known to fail ran
    return not _is_look(made)


def is_first(made: Attempt) -> bool:
    """Whether no attempt of the episode came before."""
    return not counted_steps(made.episode.steps)


def _is_look(made: Attempt) -> bool:
    """Whether other tests were chosen than before, on the same code or without some that fail: only a look."""
    last = made.episode.steps[-1] if made.episode.steps else None
    if last is None or last.selection == made.run.selection:
        return False
    return made.run.edits.kind == "none" or bool(made.changes.not_run)


def is_return(made: Attempt) -> bool:
    """Whether the episode was in this state before, and left it."""
    states = [step.state for step in counted_steps(made.episode.steps)]
    return bool(states) and states[-1] != made.state and made.state in states


def advanced(made: Attempt, limits: Thresholds) -> str:
    """Why the run is progress; empty when it is not. The first run of an episode is neither."""
    changes = made.changes
    if is_first(made):
        return ""
    if _is_elsewhere(made):
        return ELSEWHERE
    if is_return(made) and len(changes.fixed) == len(changes.mended):
        return ""  # what is repaired is what was broken on the way
    if changes.cleared and (changes.new or not changes.broken):
        return "unmasked" if changes.new else "fixed"
    if _is_gain(made):
        return "fixed"
    if len(changes.broken) > len(changes.fixed):
        return ""
    if changes.later and made.run.edits.kind not in UNEDITED:
        return "later"
    return _is_other(made, limits)


def _is_elsewhere(made: Attempt) -> bool:
    """Whether the edits before it advanced another source and changed nothing here: they were about that one."""
    run, changes = made.run, made.changes
    is_moved = changes.fixed or changes.new or changes.broken or changes.changed or changes.not_fixed
    return bool(run.elsewhere) and run.edits.kind not in UNEDITED and not is_moved


def _is_gain(made: Attempt) -> bool:
    """Whether more was fixed than broken; what was broken on the way counts only on reaching fewer than ever."""
    changes = made.changes
    fixed, broken = len(changes.fixed), len(changes.broken)
    least = made.episode.best[0] + len(changes.new) - broken
    return fixed > broken and (fixed - len(changes.mended) > broken or made.left < least)


def _is_other(made: Attempt, limits: Thresholds) -> str:
    """Other failures, or new tests that fail: progress within the budget of varied runs."""
    if made.episode.varied + 1 >= limits.varied or made.run.edits.kind in UNEDITED:
        return ""
    if made.changes.shaped:
        return "changed"
    is_new_only = made.changes.added and not (made.changes.broken or made.changes.not_fixed)
    return "added" if is_new_only else ""


# --- the verdict on a run that is known against its episode


def verdict_of(progress: Progress, alone: Verdict) -> Verdict:
    """The verdict of the run.

    :param alone: the verdict on the run by itself: ``green``, ``first-failure`` or ``error``.
    """
    if alone == "error" or (alone == "green" and not progress.step.unresolved):
        return alone
    if progress.breaker.state == "open":
        return "stuck"
    if len(counted_steps(progress.episode.steps)) < 2 and not progress.step.advanced:
        is_first = progress.step.is_counted or progress.position == 1
        return "first-failure" if is_first else "no-progress"
    return "progress" if progress.step.advanced else "no-progress"


# --- the record of a run, and its report compared with the runs before it


def run_of(
    report: Report,
    *,
    number: int,
    source: str,
    edits: Edits,
    code: str,
    outcomes: Mapping[str, Outcome],
    tells_outcomes: bool,
    selection: str,
) -> Run:
    """The record of a run for the history."""
    observation = report.observation
    records = records_of(report.causes)
    is_named = not any(map(is_only_counted, observation.failures))
    is_chosen = bool(selection) and (tells_outcomes or CHOSEN.search(selection) is not None)
    is_full = not observation.incomplete and is_named and not is_chosen
    return Run(
        number=number,
        source=source,
        marks=records[:MAX_RECORDS],
        omitted_marks=max(0, len(records) - MAX_RECORDS),
        outcomes=outcomes_by_name(outcomes),
        tells_outcomes=tells_outcomes,
        edits=_meant(edits, records),
        selection=selection_key(selection),
        is_full=is_full,
        incomplete=clean(observation.incomplete, 400),
        exit_code=observation.exit_code,
        code=code,
        is_good=report.verdict == "green",
        passed=observation.counts.passed,
        skipped=observation.counts.skipped,
        collected=_collected(observation.counts),
        known=_known(report),
    )


def _known(report: Report) -> tuple[str, ...]:
    """The tests that failed and do not count. One that also fails otherwise does."""
    counting = {failure.nodeid for failure in report.observation.failures}
    tests = {each.test for each in report.observation.known_failing} - counting
    return tuple(sorted(map(name_of, tests))[:MAX_RECORDS])


def _covering(name: str, seen: Observation) -> str:
    """The command that runs all tests of a merged source here, under its name; empty for one that cannot be shown."""
    words = list(seen.rerun) or ["loop-close", "run", "--source", name, "--", "COMMAND"]
    if "pytest" in words[:3] and words[0] != seen.provenance.runner:
        pairs = zip(["", *words], words, strict=False)
        words = [word for before, word in pairs if _SOURCE not in (before, word.partition("=")[0])]
        words += [f"{_SOURCE}={name}"] if name != "pytest" else []
    command = shlex.join(words)
    return command if clean(command, 400) == command else ""


def _collected(counts: Counts) -> int:
    """How many tests were selected to run; if that is unknown, how many have an outcome."""
    ended = counts.passed + counts.failed + counts.skipped + counts.xfailed + counts.xpassed
    return counts.collected or ended + counts.errors


def _meant(edits: Edits, records: Sequence[FailureRecord]) -> Edits:
    """The edits; for a checker comments and formatting are effective, as they may be all that it reports."""
    is_check = bool(records) and all(record.phase == "check" for record in records)
    return replace(edits, kind="effective") if is_check and edits.kind == "ineffective" else edits


def report_with_progress(
    report: Report, episode: Episode, runs: Sequence[Run], limits: Thresholds
) -> tuple[Report, Episode]:
    """The report with its progress, and the episode to remember.

    :param runs: those to add to the episode, the report's own last; before it those that were killed.
    """
    for killed in runs[:-1]:
        episode = advance(episode, killed, limits).episode
    made = advance(episode, runs[-1], limits)
    verdict = verdict_of(made.progress, report.verdict)
    result = replace(report, progress=made.progress, verdict=verdict)
    if report.verdict == "green" and verdict != "green":
        number = made.progress.step.unresolved
        reason = f"{number} earlier failure{'s' * (number != 1)} {NOT_RUN_AGAIN}"
        result = replace(result, stall_reason=reason)
    return result, made.episode


# What the summary holds of root causes.
_MOST_CAUSES, _MOST_SUSPECTS, _MOST_REASONS, _MOST_KEYS = 20, 3, 4, 8
_MOST_EVIDENCE, _MOST_TEXT = 100, 300


def summary_of(report: Report, records: Sequence[FailureRecord] = ()) -> dict[str, Any]:
    """The summary of a run for the commands, as plain values.

    :param records: the failures, as the run is recorded with them.
    """
    progress = report.progress
    if progress is None:
        known = {**_known_failing(report), **_parts(report)}
        return {"verdict": report.verdict, "stall_reason": report.stall_reason, **known}
    counted = sum(f.number for f in report.observation.failures if is_only_counted(f))
    return {
        "verdict": report.verdict,
        "stall_reason": report.stall_reason,
        # Which of the failures are new is not known where they are only counted.
        **({} if counted else {group: len(getattr(progress, group)) for group in GROUPS}),
        "position": progress.position,
        "failing": progress.step.unresolved + counted,
        "best": list(progress.episode.best),
        "advanced": progress.step.advanced,
        "edit": progress.step.edits.kind,
        "breaker": asdict(progress.breaker),
        "signals": [asdict(signal) for signal in progress.signals],
        **({"tests": [asdict(change) for change in progress.tests]} if progress.tests else {}),
        **_known_failing(report),
        **_edits_run(report),
        **_parts(report),
        **({"causes": _causes(report, records)} if report.causes else {}),
    }


def _causes(report: Report, records: Sequence[FailureRecord]) -> list[dict[str, Any]]:
    """The root causes with their first suspects, by the keys of the report; bounded, as each red run has them.

    ``keys`` are the causes of the records: by them a later reader knows which failures they explain.
    """
    keys = {record.test: record.cause for record in records}
    return [_cause(cause, keys) for cause in report.causes[:_MOST_CAUSES]]


def _cause(cause: RootCause, keys: Mapping[str, str]) -> dict[str, Any]:
    failures = [each.failure for each in cause.evidence[:_MOST_EVIDENCE] if each.failure is not None]
    failure = failures[0] if failures else None
    file, line, function = failure_place(failure) if failure is not None else ("", 0, "")
    found = dict.fromkeys(keys.get(test_key(each), "") for each in failures)
    return {
        "id": cause.id,
        "kind": cause.kind,
        "exception": clean(_name(failure)) if failure is not None else "",
        "message": clean(failure.message, _MOST_TEXT) if failure is not None else "",
        "location": {"file": clean(file), "line": line, "function": clean(function)},
        "count": len(cause.evidence),
        "keys": [key for key in found if key][:_MOST_KEYS],
        "suspects": [
            {
                "file": clean(each.file),
                "line": each.line,
                "end_line": each.end_line,
                "function": clean(each.function),
                "score": round(each.score, 3),
                "reasons": [clean(reason, _MOST_TEXT) for reason in each.reasons[:_MOST_REASONS]],
            }
            for each in cause.suspects[:_MOST_SUSPECTS]
        ],
    }


def _name(failure: Failure) -> str:
    """The checker and its rule, else the exception."""
    if failure.phase == "check":
        return f"{failure.tool} {failure.code}".strip()
    return failure.raised.type if failure.raised is not None else ""


def _known_failing(report: Report) -> dict[str, Any]:
    """How many tests failed and do not count; empty for none."""
    number = len({each.test for each in report.observation.known_failing})
    return {"known": number} if number else {}


def _parts(report: Report) -> dict[str, Any]:
    """What of it another source may cover later: the sources of a merge, and environments that could not be made."""
    found: dict[str, Any] = {}
    if report.progress is not None and report.progress.source == MERGED:
        made = [(each.source, each.verdict, each.observation) for each in report.sources]
        made = made or [(report.observation.source, report.verdict, report.observation)]
        found["sources"] = [[name, verdict, seen.provenance.machine] for name, verdict, seen in made]
        commands = {name: _covering(name, seen) for name, verdict, seen in made if verdict != "green"}
        found["commands"] = {name: command for name, command in commands.items() if command}
        found["failed"] = {name: _failed(seen) for name, verdict, seen in made if verdict != "green"}
    if report.observation.failures and all(map(is_setup, report.observation.failures)):
        found["setup"] = sorted({each.code for each in report.observation.failures})
    if report.observation.skipped:
        found["setup"] = [report.observation.provenance.environment]
        found["skipped"] = clean(report.observation.skipped, 200)
    return found


def _failed(seen: Observation) -> list[str]:
    """What failed of a merged source and has to pass here, by its name in the history: tests, and files of tests."""
    phases = (*TEST_PHASES, "collect")
    return sorted({name_of(each.nodeid) for each in seen.failures if each.nodeid and each.phase in phases})[
        :MAX_RECORDS
    ]


def _edits_run(report: Report) -> dict[str, Any]:
    """Which edited functions the tests ran, and since which green run; empty if none was edited."""
    ran = report.edits_run
    return {"edits_run": {**asdict(ran), "since": report.green_run}} if ran is not None and ran.edited else {}
