"""From what ran to what is written: the report, the rows of the store, the loop, the next prompt."""

from __future__ import annotations

import contextlib
import shlex
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from loop_close import files, gate
from loop_close.calls import NO_CALLS
from loop_close.capture import index_of
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.edits import between, edited_functions
from loop_close.files import Targets
from loop_close.judge import judged, with_suspects
from loop_close.keys import id_of, name_of, records_of
from loop_close.loop import fold
from loop_close.model import Observation, OtherAttempt, Report
from loop_close.parts import SUFFIX, Part, in_report, read_folder
from loop_close.places import with_findings, with_source_lines
from loop_close.prompt.compose import compose, estimate_tokens
from loop_close.prompt.report_json import dump, report_document
from loop_close.prompt.sections import built_in, in_short
from loop_close.readers import sum_of
from loop_close.records import NO_LOOP, Edits, FailureRecord, Loop, Outcome, Run, State
from loop_close.signals import signals
from loop_close.store import Store, StoreError
from loop_close.text import fault_text, reason_of
from loop_close.text.redact import redact
from loop_close.tree import TreeError

_MOST_RECORDS = 3_000
_Result = TypeVar("_Result")


def reported_in(folder: Path) -> tuple[list[Part], str]:
    """What the pytests of a command reported to a folder; and why a report is missing, empty if none is."""
    found, rejected = read_folder(folder)
    if rejected:
        return found, f"the report of a pytest cannot be read: {rejected[0][1]}"
    if any(not path.with_suffix(SUFFIX).exists() for path in folder.rglob("*.begun")):
        return found, "a pytest began and did not report its end"
    return found, ""


def printed(
    texts: Iterable[object],
    exit_code: int | None,
    parts: Iterable[Part],
    root: Path,
    name: str,
    lost: str = "",
) -> list[Part]:
    """What a command printed beside what its pytests reported: all of it if they do not explain its exit code.

    If they do, what checkers found, such as mypy in another environment of tox.

    :param name: the command, as a source.
    :param lost: why a report is missing; empty if none is.
    :returns: one part, or none.
    """
    codes = [part.observation.exit_code for part in parts]
    if codes and not exit_code and not lost:
        return []
    from loop_close.readers.streams import observe_texts  # late: most runs print nothing else

    seen = observe_texts(texts, exit_code, root=str(root), source=name)
    if any(codes) and not lost:
        found = tuple(failure for failure in seen.failures if failure.phase == "check")
        seen = Observation(exit_code=exit_code, source=name, failures=found, expects_tests=False, rerun="")
        return [Part(observation=seen)] * bool(found)
    return [Part(observation=replace(seen, incomplete=seen.incomplete or lost))]


class Ran(NamedTuple):
    """A run that ended: its row as far as the runner knows it, and what its processes reported."""

    run: Run
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveResult:
    """What was written.

    :ivar report: with the source code that the prompt shows.
    :ivar prompt: the next prompt's text.
    :ivar shown: the same if it has to be shown, as the prompt of a red run could not be written; else empty.
    :ivar problems: what could not be written, in a line each.
    """

    report: Report
    prompt: str
    shown: str = ""
    problems: tuple[str, ...] = ()


class Begun:
    """A plain run that has begun: its row, unless nothing is remembered, and the files as they were.

    A fault of the store costs a note, never the run.

    :ivar notes: remarks on the history, one line each.
    """

    def __init__(self, targets: Targets, command: Sequence[str]) -> None:
        self.notes: list[str] = []
        self._targets = targets
        self._clock = time.monotonic()
        self.run = Run(id=uuid.uuid4().hex, command=_redacted(command), began=time.time())
        self._kept(self._begin)

    def _begin(self, path: Path) -> None:
        tree = gate.take_tree(self._targets)
        with Store(path) as store:
            store.keep_files(self._targets.root, tree)
            run = replace(self.run, tree=tree.digest)
            self.run = replace(run, number=store.begin(run))
            self.notes += store.notes

    def conclude(
        self, parts: Sequence[Part], *, scope: str = "", exit_code: int | None = None, **extended: Any
    ) -> SaveResult:
        """Record the run, and write the prompt.

        :param parts: what its processes reported.
        :param scope: how tests were chosen; empty for all.
        :param exit_code: of the command; None for that of the last part.
        :param extended: ``detectors`` and ``faults``, as :func:`conclude` takes them.
        """
        ended = replace(
            self.run,
            scope=scope,
            seconds=time.monotonic() - self._clock,
            exit_code=parts[-1].observation.exit_code if exit_code is None and parts else exit_code,
        )

        def recorded(path: Path) -> SaveResult:
            tree = gate.take_tree(self._targets)
            with Store(path) as store:
                store.keep_files(self._targets.root, tree)
                row = Ran(replace(ended, tree_after=tree.digest), tuple(parts))
                return conclude([row], self._targets, store, notes=self.notes, **extended)

        found = self._kept(recorded) if self.run.number else None
        return found or conclude(
            [Ran(ended, tuple(parts))], self._targets, None, notes=self.notes, **extended
        )

    def abandon(self) -> None:
        """Take the row away: the run says nothing about the program."""

        def gone(path: Path) -> None:
            with Store(path) as store:
                store.abandon(self.run.number)

        if self.run.number:
            self._kept(gone)
            self.run = replace(self.run, number=0)

    def _kept(self, work: Callable[[Path], _Result]) -> _Result | None:
        """The result of what is done with the history; None where there is none, or it cannot be used."""
        root, path = self._targets.root, self._targets.history
        if path is None:
            return None
        try:
            files.check_inside(root, path)
            if path.is_relative_to(root):
                files.state_folder(root)
            return work(path)
        except Exception as fault:  # the prompt is worth more than the row
            is_known = isinstance(fault, StoreError | TreeError | OSError | files.UnusablePathError)
            said = reason_of(fault) if is_known else fault_text(fault)
            self.notes.append(f"this run is not recorded: {said}")
            return None


def _redacted(command: Sequence[str]) -> tuple[str, ...]:
    """The words of a command without credentials, which may stand in a word of their own."""
    text = redact(shlex.join(command))
    try:
        return tuple(shlex.split(text))
    except ValueError:  # a quote is gone with the credential
        return (text,)


def conclude(
    ran: Sequence[Ran],
    targets: Targets,
    store: Store | None,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    faults: Sequence[str] = (),
    notes: Sequence[str] = (),
    state: State | None = None,
) -> SaveResult:
    """One report over all that ran; its rows finished, the loop folded, prompt and JSON report written.

    :param store: None where nothing is remembered.
    :param state: what the gate says with these runs; None to ask it, where the runs are green.
    :param faults: as in :func:`loop_close.judge.judged`.
    """
    # What is ignored is what the parser says of odd escapes in source that is shown.
    with warnings.catch_warnings(action="ignore"):
        parts = [_with_calls(part, store, targets.root) for each in ran for part in each.parts]
        if len(parts) == 1 and not parts[0].observation.provenance.shard[1]:
            report = judged(parts[0].observation, detectors=detectors, faults=faults)
        else:
            from loop_close.merge import join  # late: most runs have one part

            report = join(parts, detectors=detectors, faults=faults)
        report = replace(report, notes=tuple(notes))
        if store is not None:
            report = _recorded(report, ran, targets, store, state)
        inputs = in_report(parts) if targets.json is not None else None
        return write_report(report, targets, detectors=detectors, inputs=inputs)


def _recorded(
    report: Report, ran: Sequence[Ran], targets: Targets, store: Store, state: State | None
) -> Report:
    """The report with the loop, once the rows of the runs are finished."""
    sharing = None
    if targets.shared:
        from loop_close.sharing import Sharing  # late: most projects share nothing

        sharing = Sharing(targets.shared, targets.root)
    earlier = [each for each in store.loop_runs() if each.number < ran[0].run.number]
    former = fold(earlier)
    known = [each.record for each in former.failing]
    tried: list[tuple[Run, list[OtherAttempt]]] = []
    for each in ran:
        edits = _edits(each.run, earlier, store)
        run = finished(each, edits, report if len(ran) == len(each.parts) == 1 else None)
        earlier.append(run)
        store.finish(run)
        if sharing is not None:
            tried.append((run, sharing.attempts_of(run, known)))
    runs = store.loop_runs()
    loop = fold(runs)
    report = with_suspects(report, loop)
    if state is not None:  # a loop that is stuck is, once these runs are in it
        state = gate.with_loop(state, loop, targets.settings.stuck_after)
    elif report.verdict == "green":
        state = gate.state(targets.root)
    objections = [each.run.objection for each in ran if each.run.objection is not None]
    notes = [*report.notes, *store.notes]
    if sharing is not None:
        edited = [step.edits for step in loop.steps]
        report = replace(report, shared=sharing.exchange(tried, report.causes, edited))
        notes += [sharing.note] if sharing.note else []
    sides = _base_and_now(runs, loop, run, store)
    return replace(
        report,
        stuck_after=targets.settings.stuck_after,
        state=state,
        run=run.number,
        loop=loop,
        signals=signals(loop, runs, objections),
        since=between(*sides, store.content) if sides is not None else Edits(),
        edited=_edited(report, earlier, former, run, store),
        notes=tuple(notes),
    )


def outcomes_of(parts: Sequence[Part]) -> dict[str, dict[str, Outcome]]:
    """The outcome of each test, by source and name."""
    found: dict[str, dict[str, Outcome]] = {}
    for seen in (part.observation for part in parts):
        found.setdefault(seen.source, {}).update((name_of(test), how) for test, how in seen.outcomes.items())
    return found


def finished(ran: Ran, edits: Edits, report: Report | None = None) -> Run:
    """The row of a run that ended.

    :param report: that of its only part, if it is made.
    """
    records: list[FailureRecord] = []
    verdicts = []
    for part in ran.parts:
        seen, source = part.observation, part.observation.source
        made = report or judged(seen)
        verdicts.append(made.verdict)
        found = records_of(made.causes, source)
        if not found and made.verdict != "green" and seen.exit_code:  # a loop over it can be stuck, too
            shape = f"exit {seen.exit_code}"
            found = (FailureRecord(source=source, test=source, phase="process", exact=shape, shape=shape),)
        records += found
    run = ran.run
    incomplete = next((p.observation.incomplete for p in ran.parts if p.observation.incomplete), "")
    return replace(
        run,
        is_finished=run.is_finished or not run.check,
        incomplete=run.incomplete or incomplete,
        # Of a check, who ran it has said whether it is green: it saw the process end.
        is_green=run.is_green if run.check else bool(verdicts) and {*verdicts} == {"green"},
        counts=sum_of([part.observation.counts for part in ran.parts]),
        outcomes=outcomes_of(ran.parts),
        failures=tuple(records[:_MOST_RECORDS]),
        omitted=max(0, len(records) - _MOST_RECORDS),
        edits=edits,
    )


def _edits(run: Run, earlier: Sequence[Run], store: Store) -> Edits:
    """How the files differ from those of the last run that ended.

    What its tests wrote is no edit, but what was edited while they ran is one: of Python files those before it count.
    """
    last = next((each for each in reversed(earlier) if each.is_finished), None)
    if last is None:
        return Edits()
    before, after, now = (store.files(tree) for tree in (last.tree, last.tree_after, run.tree))
    if before is None or after is None or now is None:
        return Edits()
    python = {path: digest for path, digest in before.items() if path.endswith(".py")}
    others = {path: digest for path, digest in after.items() if not path.endswith(".py")}
    return between({**others, **python}, now, store.content)


def _base_and_now(
    runs: Sequence[Run], loop: Loop, run: Run, store: Store
) -> tuple[Mapping[str, str], Mapping[str, str]] | None:
    """The files with which the loop of these runs was last done, and those of the run; None where one is not known."""
    before = next((store.files(each.tree_after) for each in runs if each.number == loop.base), None)
    now = store.files(run.tree)
    return (before, now) if before is not None and now is not None else None


def _edited(
    report: Report, runs: Sequence[Run], former: Loop, run: Run, store: Store
) -> tuple[tuple[str, str, bool], ...] | None:
    """As :attr:`loop_close.model.Report.edited`, of a green run of all tests."""
    seen, calls = report.observation, report.observation.calls
    if report.verdict != "green" or calls == NO_CALLS or seen.scope or seen.incomplete:
        return None
    sides = _base_and_now(runs, former, run, store)
    edited = edited_functions(*sides, store.content) if sides is not None else None
    if edited is None:
        return None
    ran = {(each.file, each.function) for each in calls.functions if each.passed or each.in_import}
    return tuple((*name, name in ran) for name in sorted(edited))


def loop_with(part: Part, targets: Targets) -> Loop:
    """The loop as it will be once the run that is under way ends with this part; empty where it is not recorded."""
    with contextlib.suppress(StoreError, OSError, ValueError):
        if (path := targets.history) is not None and path.exists():
            files.check_inside(targets.root, path)
            with Store(path) as store:
                *earlier, run = store.loop_runs()
                if not run.is_finished:
                    ran = Ran(replace(run, is_finished=True), (part,))
                    return fold([*earlier, finished(ran, _edits(run, earlier, store))])
    return NO_LOOP


# --- what tests called, with the counts of the last run of all tests


def _with_calls(part: Part, store: Store | None, root: Path) -> Part:
    """The part with counts of an earlier run where few of its tests passed, and what its functions load.

    The counts of a run of all tests are kept.
    """
    seen, calls = part.observation, part.observation.calls
    if store is not None and calls.passed and not seen.incomplete:
        store.keep_calls(seen.source, calls, seen.outcomes, is_whole=not seen.scope)
    if not calls.failed:
        return part
    from loop_close.causes.spectrum import merge_baseline
    from loop_close.syntax.constants import constants_of

    kept = store.calls(seen.source) if store is not None else None
    if kept is not None:
        new = {test for test in calls.failed if not kept.has_passed(test)}
        calls = merge_baseline(calls, kept.calls, new)
    calls = calls._replace(constants=constants_of(calls, lambda file: index_of(str(root / file))))
    return replace(part, observation=replace(seen, calls=calls))


# --- composing and writing


def write_report(
    report: Report,
    targets: Targets,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    inputs: Mapping[str, Any] | None = None,
) -> SaveResult:
    """Compose the prompt and write it, with the JSON report.

    A red run keeps its report and the list of its failing tests in the state folder, so that nothing that the budget
    cuts is lost.

    :param inputs: what a JSON report holds to be merged (:func:`loop_close.parts.in_report`).
    """
    root, budget = targets.root, targets.settings.budget
    report = report if report.run else with_suspects(report)
    report = with_findings(with_source_lines(report, root))
    sections = built_in(tuple(detectors))
    problems: list[str] = []
    full = _keep_failed(report, root, problems) and bool(report.causes)
    text = compose(report, sections, budget=budget, full_report=files.REPORT if full else "")
    document = report_document(report, text) if full or targets.json is not None else {}
    if full and not _try(lambda: files.write(root / files.REPORT, dump(document)), files.REPORT, problems):
        text = document["next_prompt"] = compose(report, sections, budget=budget)
    if (path := targets.json) is not None:
        _try(lambda: targets.write(path, dump({**document, **(inputs or {})})), path.name, problems)
    is_written = _try(lambda: targets.write_prompt(text), targets.prompt.name, problems)
    shown = text if not is_written and report.verdict != "green" else ""
    return SaveResult(report=report, prompt=text, shown=shown, problems=tuple(problems))


def summary_lines(saved: SaveResult, path: str) -> list[str]:
    """What is wrong and where to look first; then where to read on. A green run gets one line.

    :param path: of the prompt, as it is to be shown.
    """
    lines = [in_short(saved.report)]
    if saved.report.verdict != "green" and not saved.shown:
        lines.append(f"next prompt: {path} (about {estimate_tokens(saved.prompt):,} tokens)")
    return lines


def terminal_lines(saved: SaveResult, targets: Targets) -> list[str]:
    """What a command shows of a run: the summary, and what went wrong, in a line each."""
    lines = summary_lines(saved, targets.name)
    return [*lines, *saved.shown.splitlines(), *saved.report.notes, *saved.problems]


def _keep_failed(report: Report, root: Path, problems: list[str]) -> bool:
    """Write down which tests are failing; False when there are none or they are not kept.

    A test that is known to fail and did not run is one of them.
    """
    failed = {failure.nodeid for failure in report.observation.failures} - {""}
    failed |= {id_of(each.test) for each in report.loop.failing if "::" in each.test}
    try:
        if not report.causes and not report.observation.incomplete:
            files.forget_run(root)
        if report.causes or failed:
            files.state_folder(root)
            files.write_failed(root, failed)
            return True
    except OSError as error:
        problems.append(f"cannot write the full report: {reason_of(error)}")
    return False


def _try(write: Callable[[], None], name: str, problems: list[str]) -> bool:
    try:
        write()
    except (files.UnusablePathError, OSError) as error:
        problems.append(f"cannot write {name}: {reason_of(error)}")
        return False
    return True
