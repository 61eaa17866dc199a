"""Where the loop stands, in one line."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.memory import Edit, Episode, Progress, Step
from loop_close.prompt.show import spans
from loop_close.syntax.meaning import MODULE

_WHY = {
    "fixed": "more was fixed than broken",
    "later": "a test came further",
    "changed": "a failure took a shape not seen before",
    "unmasked": "tests could be collected again",
    "added": "a new test fails, and nothing that had passed",
}
_UNEDITED = {
    "none": "No file of the project changed since the run before.",
    "ineffective": "Only comments, formatting, docstrings or prose changed since the run before.",
}
_MAX_FIXED = 3
_MAX_EDITED = 3


def standing_lines(progress: Progress, *, is_green: bool) -> Iterator[str]:
    """One line for a red run, what had been broken for a green one."""
    line = _fixed(progress) if is_green else _red(progress)
    if line:
        yield line


def _red(progress: Progress) -> str:
    if progress.position == 1:
        return _begun(progress)
    parts = [f"{_number(progress)} of this loop: {counts(progress)}.", _verdict(progress)]
    parts.append(_UNEDITED.get(progress.step.edits.kind, ""))
    return " ".join(part for part in parts if part)


def _number(progress: Progress) -> str:
    """The run by its number, which all else goes by; its place in the loop where that is another."""
    run, position = progress.run, progress.position
    return f"Run {run}" if run == position else f"Run {run}, the {_ordinal(position)}"


def _ordinal(number: int) -> str:
    end = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number // 10 % 10 == 1 else end}"


def _begun(progress: Progress) -> str:
    """The first red run: there is something to say only when there was a green one before."""
    green = progress.episode.green
    if not green:
        return ""
    said = f"Run {green} was green"
    edits = progress.step.edits
    if edits.kind in _UNEDITED:
        return f"{said}. {_UNEDITED[edits.kind]}"
    places = [_place(edit) for edit in edits.edits if edit.is_effective]
    more = len(places[_MAX_EDITED:]) + edits.omitted
    told = spans(places[:_MAX_EDITED], _MAX_EDITED) + (f" and {more} more" if more else "")
    return f"{said}; edited since: {told}." if places else f"{said}."


def _place(edit: Edit) -> str:
    is_part = edit.function and edit.function != MODULE
    return f"{edit.file}:{edit.function}" if is_part else edit.file


def counts(progress: Progress) -> str:
    """The groups that are not empty: ``2 fixed, 1 new (1 had passed), 3 unresolved``."""
    broken = f" ({len(progress.broken)} had passed)" if progress.broken else ""
    named = (
        (len(progress.fixed), "fixed", ""),
        (len(progress.new), "new", broken),
        (len(progress.changed), "changed", ""),
        (len(progress.unresolved), "unresolved", ""),
        (len(progress.not_run), "not run", ""),
        (len(progress.not_fixed), "skipped or gone", ""),
        (len(progress.step.infrastructure), "failed by the machine", ""),
    )
    return ", ".join(f"{number} {name}{more}" for number, name, more in named if number) or "nothing moved"


def _verdict(progress: Progress) -> str:
    state = progress.breaker.state
    if progress.step.advanced:
        return f"Progress: {_WHY[progress.step.advanced]}."
    if state == "closed":
        return "No progress."
    return f"{'Stuck' if state == 'open' else 'No progress'}: {progress.breaker.reason} (breaker {state})."


def _fixed(progress: Progress) -> str:
    """What had been broken in the episode that is over."""
    episode = progress.episode
    passed = {t: k for t, k in episode.tests.items() if k.status == "passed" and "::" in t}
    tests = sorted(t for t, known in passed.items() if progress.step.is_full or known.ran == progress.run)
    if not tests:
        return ""
    number = f"{len(tests)} test{'s' * (len(tests) != 1)} that had failed pass"
    return f"{number} after {_attempts(episode)}: {spans(tests, _MAX_FIXED)}."


def _attempts(episode: Episode) -> str:
    runs = episode.runs
    return f"{runs} run{'s' * (runs != 1)}"


def effect(step: Step) -> str:
    """What a run changed in the failures, for the list of what was tried."""
    if step.is_killed:
        return "killed before its end"
    named = (
        (step.fixed, "fixed"),
        (step.broken, "broken"),
        (step.new - step.broken, "new"),
        (step.changed, "changed"),
        (step.moved, "with other values"),
        (step.not_fixed, "skipped or gone"),
        (len(step.infrastructure), "failed by the machine"),
        (step.not_run, "not run"),
    )
    moved = ", ".join(f"{number} {name}" for number, name in named if number)
    return f"{moved or 'no failure moved'}; {step.unresolved} failing after it"
