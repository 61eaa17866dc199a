"""Whether a run was an attempt at all, and whether it advanced."""

from __future__ import annotations

from dataclasses import dataclass

from loop_close.memory import Episode, Run, Thresholds
from loop_close.progress.compare import Changes
from loop_close.progress.steps import UNEDITED, attempts


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


def is_attempt(made: Attempt) -> bool:
    """False for what says nothing about the last edit: a killed run, a fault of the machine, chance, another look."""
    run, changes = made.run, made.changes
    if run.is_killed:
        return False
    if is_first(made):
        return bool(run.marks) and not _is_machine_alone(made)
    is_unedited = run.edits.kind in UNEDITED
    if changes.fixed or changes.new or changes.not_fixed or (changes.changed and not is_unedited):
        return True
    if (changes.flipped and is_unedited) or not (changes.unresolved or changes.changed or changes.flipped):
        return False  # chance; or none of what is known to fail ran
    return not _is_look(made)


def is_first(made: Attempt) -> bool:
    """Whether no attempt of the episode came before."""
    return not attempts(made.episode.steps)


def _is_machine_alone(made: Attempt) -> bool:
    return all(mark.is_infrastructure for mark in made.run.marks)


def _is_look(made: Attempt) -> bool:
    """Other tests chosen than the time before, on the same code or not all that fail: somebody wants to see more."""
    last = made.episode.steps[-1] if made.episode.steps else None
    if last is None or last.selection == made.run.selection:
        return False
    return made.run.edits.kind == "none" or bool(made.changes.not_run)


def is_return(made: Attempt) -> bool:
    """Whether the episode was in this state before, and left it."""
    states = [step.state for step in attempts(made.episode.steps)]
    return bool(states) and states[-1] != made.state and made.state in states


def advanced(made: Attempt, limits: Thresholds) -> str:
    """Why the run is progress; empty when it is not. The first run of an episode is neither."""
    changes = made.changes
    if is_first(made):
        return ""
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
    return _varied(made, limits)


def _is_gain(made: Attempt) -> bool:
    """Whether more was fixed than broken; what was broken on the way counts only on reaching fewer than ever."""
    changes = made.changes
    fixed, broken = len(changes.fixed), len(changes.broken)
    least = made.episode.best[0] + len(changes.new) - broken
    return fixed > broken and (fixed - len(changes.mended) > broken or made.left < least)


def _varied(made: Attempt, limits: Thresholds) -> str:
    """Other failures, or new tests that fail: progress for so long as the budget lasts."""
    if made.episode.varied + 1 >= limits.varied or made.run.edits.kind in UNEDITED:
        return ""
    if made.changes.shaped:
        return "changed"
    is_new_only = made.changes.added and not (made.changes.broken or made.changes.not_fixed)
    return "added" if is_new_only else ""
