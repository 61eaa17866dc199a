"""What was edited since the episode began, and what each edit changed in the failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loop_close.memory import Edit, Progress, Step
from loop_close.model import Report, Suspect
from loop_close.progress.steps import same_code_as, worth_telling
from loop_close.prompt.show import safe, span
from loop_close.prompt.standing import effect
from loop_close.text.markdown import fence

_MAX_STEPS = 6
_MAX_NAMED = 3
_MAX_DIFF_LINES = 8
_WITH_DIFF = 2
_SILENT = {
    "none": "nothing edited",
    "ineffective": "only comments, formatting, docstrings or prose edited",
    "unknown": "what was edited is not known",
}


def tried(report: Report, tokens: int) -> Iterator[str]:
    """A line a run, the oldest first, with the diff of the last few; nothing before the second run."""
    progress = report.progress
    if progress is None or progress.position < 2 or not progress.step.unresolved:
        return
    steps = worth_telling(progress)
    if len(steps) > _MAX_STEPS:
        yield f"… {len(steps) - _MAX_STEPS} more runs before these"
    shown = steps[-_MAX_STEPS:]
    with_diff = {s.run for s in shown if s.edits.kind == "effective"}
    last = set(sorted(with_diff)[-_WITH_DIFF:])
    suspects = [suspect for cause in report.causes for suspect in cause.suspects]
    for step in shown:
        yield f"- Run {step.run}: {_edited(step)}{_twin(step, progress)}: {effect(step)}."
        edits = [e for e in step.edits.edits if e.is_effective and e.diff]
        if step.run in last and edits:
            yield from _diff(edits, suspects)


def _twin(step: Step, progress: Progress) -> str:
    same = same_code_as(step, progress)
    return f", back to the code of run {same}" if same is not None else ""


def _edited(step: Step) -> str:
    if step.edits.kind in _SILENT:
        return _SILENT[step.edits.kind]
    edits = [e for e in step.edits.edits if e.is_effective]
    if not edits:  # a checker may be content with them
        return _SILENT["ineffective"]
    shown = [named(edit) for edit in edits[:_MAX_NAMED]]
    more = len(edits) - len(shown) + step.edits.omitted
    return ", ".join(shown) + (f" and {more} more edits" if more else "")


def named(edit: Edit) -> str:
    """``edited `total` in `src/cart.py```."""
    if edit.change == "moved":
        file, function = edit.moved_to
        return f"moved {span(edit.function, 60)} to {span(f'{file}:{function}', 100)}"
    what = f"{span(edit.function, 60)} in " if edit.function and edit.function != "<module>" else ""
    return f"{edit.change} {what}{span(edit.file, 100)}"


def _diff(edits: Sequence[Edit], suspects: Iterable[Suspect]) -> list[str]:
    """The first lines of each edit, of the likeliest suspect first: they share the room that one has."""
    names = dict.fromkeys((suspect.file, suspect.function) for suspect in suspects)
    order = {name: number for number, name in enumerate(names)}
    room = _MAX_DIFF_LINES // min(len(edits), _MAX_NAMED)
    rows: list[str] = []
    more = 0
    for number, edit in enumerate(sorted(edits, key=lambda e: order.get((e.file, e.function), len(order)))):
        lines = safe(edit.diff).split("\n")
        kept = lines[:room] if number < _MAX_NAMED else []
        if kept and len(edits) > 1:
            rows.append(f"@@ {safe(edit.function or edit.file)[:100]} @@")
        rows += [line[:120] for line in kept]
        more += len(lines) - len(kept)
    return fence("\n".join([*rows, *([f"… {more} more lines"] if more else [])]), "diff")
