"""What the state of the breaker turns the advice into: an experiment, then what to hand to a person."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.conventions import is_test_file
from loop_close.memory import Known, Progress, Signal
from loop_close.model import Report
from loop_close.prompt.hints import DEFAULT, EXPERIMENTS, SOMETHING
from loop_close.prompt.show import span, spans

_MAX_NAMED = 3
_MAX_EDITED = 6


def experiment(report: Report, tokens: int) -> Iterator[str]:
    """While the breaker is half open: what would tell two explanations apart."""
    progress = report.progress
    if progress is None or progress.breaker.state != "half_open":
        return
    ruled_out = _ruled_out(progress)
    if ruled_out:
        yield ruled_out
    fired = {s.kind: s for s in progress.signals if s.is_on}
    signal = next((fired[kind] for kind in EXPERIMENTS if kind in fired), None)
    text = EXPERIMENTS[_situation(signal, progress)] if signal is not None else DEFAULT
    yield text.format(edited=_edited(progress, 1) or SOMETHING, tests=_tests(signal))


def _situation(signal: Signal, progress: Progress) -> str:
    """The key of the catalogue: an edit that moved the values is known to be run."""
    moves = [
        s for s in progress.episode.steps if s.moved and s.edits.kind == "effective" and s.run in signal.runs
    ]
    return f"{signal.kind}, moved" if signal.kind == "repeated-failure" and moves else signal.kind


def hand_over(report: Report, tokens: int) -> Iterator[str]:
    """While it is open: what is known, what was ruled out, and the question that is open."""
    progress = report.progress
    if progress is None or progress.breaker.state != "open":
        return
    yield f"The loop is stuck: {progress.breaker.reason}. What a person needs to know:"
    failing = sorted(t for t, k in progress.episode.tests.items() if k.status == "failing")
    yield f"- Still failing: {spans(failing, _MAX_NAMED)}."
    ruled_out = _ruled_out(progress)
    if ruled_out:
        yield f"- {ruled_out}"
    yield f"- Open: {_question(progress, failing)}"


def _ruled_out(progress: Progress) -> str:
    edited = _edited(progress, _MAX_EDITED)
    return f"Edits since the last progress that left it failing: {edited}." if edited else ""


def _edited(progress: Progress, most: int) -> str:
    """Functions of the code under test that were edited since the last progress, the latest first."""
    found: list[tuple[str, str]] = []
    for step in reversed(progress.episode.steps):
        if step.advanced or step.run == progress.episode.first:
            break
        found += [
            (e.file, e.function) for e in step.edits.edits if e.is_effective and not is_test_file(e.file)
        ]
    return ", ".join(_place(file, function) for file, function in list(dict.fromkeys(found))[:most])


def _place(file: str, function: str) -> str:
    return (
        f"{span(function, 60)} ({span(file, 100)})"
        if function and function != "<module>"
        else span(file, 100)
    )


def _tests(signal: Signal | None) -> str:
    return spans(signal.tests, _MAX_NAMED) if signal is not None and signal.tests else "the failing tests"


def _question(progress: Progress, failing: list[str]) -> str:
    """What nobody in the loop can decide: whether the wanted value is right, or whether two wishes can both be met."""
    kinds = {s.kind for s in progress.signals if s.is_on}
    if kinds & {"oscillation", "whack-a-mole"}:
        return "can these tests all pass, or do two of them contradict each other?"
    known = (progress.episode.tests[test] for test in failing)
    moved = max((k for k in known if k.mark.want), key=lambda k: len(k.values), default=None)
    if moved is not None:
        return _about_value(moved)
    if "no-edit" in kinds:
        return "nothing is edited between the runs: is anything at work on this?"
    return "is what the test asks for right, and which part of the code is meant to do it?"


def _about_value(known: Known) -> str:
    test, want = span(known.mark.test, 160), span(known.mark.want, 60)
    seen = ", ".join(span(value, 40) for _, value in known.values[-_MAX_NAMED:])
    return f"is {want} right in {test}? The code has given {seen}."
