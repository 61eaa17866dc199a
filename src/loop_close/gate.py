"""Whether the work is done: read from the results of checks on the present files, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loop_close import baseline as baselines
from loop_close import files
from loop_close.checks import checks_of, environment_of
from loop_close.conventions import PYTHON
from loop_close.records import CheckState, Loop, Objection, Run, State, Verdict
from loop_close.settings import OFF, SettingsError, parse_settings
from loop_close.store import Store, StoreError
from loop_close.text import fault_text, listed
from loop_close.tree import Tree, TreeError, take

if TYPE_CHECKING:
    from loop_close.baseline import Baseline
    from loop_close.files import Targets

CHECK = "loop-close check"
#: What SQLite writes beside a database.
_OF_SQLITE = ("-wal", "-shm", "-journal")
_MOST_NAMED = 5
#: What a person can do about tests that write data.
_REMEDY = (
    "; if the tests write data, have git ignore it or name it in the setting outputs; what git tracks or lies below"
    " test folders may then be touched, not changed"
)
#: The verdicts of checks: the first that one of them has is that of all.
_ORDER: tuple[Verdict, ...] = ("failing", "unknown", "objected", "done")


class Facts(NamedTuple):
    """What the gate looks at.

    :ivar runs: those on this tree, and the last one of each check, oldest first.
    """

    targets: Targets
    tree: Tree
    runs: Sequence[Run]
    baseline: Baseline | None

    @property
    def results(self) -> list[Run]:
        """What says something of this tree: runs on it that ended, while no file changed. Oldest first."""
        return [run for run in self.runs if is_result(run) and run.tree == self.tree.digest]


class UnknownError(Exception):
    """Nothing can be said of the project; the text says why."""


def state(root: Path) -> State:
    """Whether the work in a project is done. Never raises, runs nothing, writes nothing but a cache."""
    return look(root)[0]


def look(root: Path) -> tuple[State, Facts | None]:
    """The same, with what it was read from; None where something of that is missing."""
    try:
        facts = facts_of(root)
        found = judge(facts)
        if found.verdict == "failing":  # without a failure nothing of the loop is read
            found = with_loop(found, loop_of(facts.targets.history), facts.targets.settings.stuck_after)
        return found, facts
    except (UnknownError, TreeError, StoreError, OSError) as error:
        reason = str(error)
    except Exception as fault:  # a door must not fall over, and "done" must not be the answer
        reason = f"internal error of loop-close: {fault_text(fault)}"
    return State(verdict="unknown", reason=reason, command=CHECK), None


def tree_digest(root: Path) -> str:
    """The digest of the project's files as they are now; empty if they cannot be listed."""
    try:
        return take_tree(targets_of(root)).digest
    except (UnknownError, TreeError):
        return ""


def targets_of(root: Path) -> Targets:
    """The files that the project's settings name.

    :raises UnknownError: for settings that are wrong.
    """
    try:
        targets = files.targets_of(root, parse_settings(files.settings_table(root)), {})
        if targets.history is not None:
            files.check_inside(root, targets.history)
        return targets
    except (SettingsError, files.UnusablePathError, OSError) as error:
        raise UnknownError(str(error)) from None


def take_tree(targets: Targets) -> Tree:
    """The project's files as they are now, without what loop-close writes.

    :raises TreeError: when they cannot be listed.
    """
    ours = [path for path in (targets.prompt, targets.json, targets.history) if path is not None]
    names = [
        path.relative_to(targets.root).as_posix()
        for path in ours
        if path.is_relative_to(targets.root) and (path == targets.history or files.is_ours(path))
    ]
    return take(
        targets.root,
        outputs=tuple(targets.settings.outputs),
        leave_out=[f"{name}{end}" for name in names for end in ("", *_OF_SQLITE)],
        cache=targets.root / files.TREE_CACHE,
    )


def facts_of(root: Path) -> Facts:
    """What the gate looks at.

    :raises UnknownError: when something of it is missing; TreeError, StoreError and OSError when it cannot be read.
    """
    targets = targets_of(root)
    history = targets.history
    if history is None:
        raise UnknownError(f"no result can be kept: [tool.loop-close] history is '{OFF}'")
    tree = take_tree(targets)
    if not history.is_file():
        raise UnknownError("no check has run in this project")
    with Store(history, readonly=True, timeout=0.5) as store:
        runs = store.results(tree.digest)
        if store.state != "ok":
            raise UnknownError("the history is damaged")
    return Facts(targets, tree, runs, baselines.load(root))


def loop_of(history: Path | None) -> Loop:
    """The loop of a history; an empty one where it cannot be read: the state says why."""
    from loop_close.loop import fold  # late: without a failure nothing of it is needed

    try:
        if history is not None and history.is_file():
            with Store(history, readonly=True, timeout=0.5) as store:
                return fold(store.loop_runs())
    except (StoreError, OSError):
        pass
    return Loop()


def with_loop(found: State, loop: Loop, stuck_after: int) -> State:
    """The state; ``stuck`` if it is failing, and the loop is stuck."""
    from loop_close.loop import is_stuck

    if found.verdict != "failing" or not is_stuck(loop, stuck_after):
        return found
    reason = f"{loop.stalled} attempts in a row did not advance; {found.reason}"
    return State(verdict="stuck", reason=reason, checks=found.checks, accepted=found.accepted)


# --- the verdict from the runs


def judge(facts: Facts, environment: Callable[[Iterable[str]], str] = environment_of) -> State:
    """The state by the newest result of each check on the present files and environment.

    :param environment: returns the digest of the present environment of some programs.
    """
    states = tuple(_state_of(name, facts, environment) for name in checks_of(facts.targets.settings))
    verdict = min((each.verdict for each in states), key=_ORDER.index)
    named = [each for each in states if each.verdict == verdict]
    if verdict == "done":
        reason = f"green on these files: {', '.join(each.name for each in named)}"
    else:
        reason = "; ".join(f"{each.name}: {each.reason}" for each in named)
    return State(
        verdict=verdict,
        reason=reason,
        command=CHECK if verdict in ("failing", "unknown") else "",
        checks=states,
        accepted=facts.baseline.accepted if facts.baseline is not None else (),
    )


def _state_of(name: str, facts: Facts, environment: Callable[[Iterable[str]], str]) -> CheckState:
    runs, results = ([run for run in each if run.check == name] for each in (facts.runs, facts.results))
    if not results:
        return CheckState(name=name, verdict="unknown", reason=_why_no_result(runs))
    run, baseline = results[-1], facts.baseline
    is_asked = asks(baseline, facts.tree, run)
    verdict: Verdict = "unknown"
    if environment(run.programs) != run.environment:
        reason = "the environment changed since it ran"
    elif not run.is_green:
        verdict, reason = "failing", _why_failing(run)
    elif is_asked and (baseline is None or run.baseline != baseline.digest):
        reason = "the tests were not compared with those of the baseline"
    elif is_asked and run.objection is not None:  # otherwise a person accepted the tests since
        verdict, reason = "objected", _why_objected(run.objection)
    else:
        verdict, reason = "done", "green"
    objection = run.objection if verdict == "objected" else None
    return CheckState(name=name, verdict=verdict, run=run.number, reason=reason, objection=objection)


def is_result(run: Run) -> bool:
    """Whether the run says something of a tree: it ended, and no file changed meanwhile."""
    return run.is_finished and run.exit_code is not None and not run.changed and run.tree == run.tree_after


def asks(baseline: Baseline | None, tree: Tree, run: Run) -> bool:
    """Whether a green run asks the tests as they were: files differ, or tests no longer run, or they are lost."""
    if baseline is None:
        return True
    return bool(baselines.differing(baseline, tree)) or any(baselines.missing(baseline, run))


def _why_no_result(runs: Sequence[Run]) -> str:
    if not runs:
        return "loop-close check has not run it"
    last = runs[-1]
    if not last.is_finished or last.exit_code is None:
        return "its last run did not end"
    if last.changed:
        remedy = "" if all(path.endswith(PYTHON) for path in last.changed) else _REMEDY
        names = listed(last.changed, _MOST_NAMED)
        return f"its last run counts for nothing{remedy}; changed while it ran: {names}"
    return "no result on these files"


def _why_failing(run: Run) -> str:
    counts = ((run.counts.failed, "failed"), (run.counts.errors, f"error{'s' * (run.counts.errors != 1)}"))
    numbers = ", ".join(f"{number} {what}" for number, what in counts if number)
    other = f"exit status {run.exit_code}" if run.exit_code else "its output shows failures"
    return numbers or run.incomplete or other


def _why_objected(objection: Objection) -> str:
    number = len(objection.tests) + objection.omitted
    if objection.reason:
        return f"the tests as they were could not be run: {objection.reason}"
    return f"of the tests as they were, {number} {'does' if number == 1 else 'do'} not pass"
