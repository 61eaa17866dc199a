"""Histories of runs, short to write.

A failure is written ``SHAPE=VALUE`` (the value may be missing), ``!SHAPE`` for one of the infrastructure and
``SHAPE~MESSAGE`` where the wording decides. A name that ends in ``.py`` is a file that could not be collected.
"""

from loop_close.loop import fold, is_stuck
from loop_close.records import Edit, Edits, FailureRecord, Run
from loop_close.signals import signals

PYTEST = "pytest@cpython-3.13"


def node(test):
    return test if test.endswith(".py") or "::" in test else f"tests/test_a.py::{test}"


def failure(test, spec, source=PYTEST, **fields):
    shape, _, value = spec.removeprefix("!").partition("=")
    place, _, message = shape.partition("~")
    fields.setdefault("phase", "collect" if test.endswith(".py") else "call")
    return FailureRecord(
        source=source,
        test=node(test),
        exact=f"{test} {shape} {value}",
        shape=shape,
        message=message,
        exception="ValueError",
        where=f"src/a.py:{place}",
        got=value,
        is_infrastructure=spec.startswith("!"),
        **fields,
    )


def did(expected, fails="", **fields):
    """A run: what is expected of it, what failed (names, or shapes by name), and how it differs from a whole one.

    ``ran``: the tests that ran, else all. ``absent``: tests that are not there; ``skipped``: those that are skipped.
    ``goes_on``: the others run although a file could not be collected.
    """
    if isinstance(fails, str):
        fails = {test: f"shape of {test}" for test in fails.split()}
    return {"expected": expected, "fails": fails, **fields}


def history(steps):
    """The runs of the steps. The project's tests are all that the steps name."""
    named = {test for step in steps for test in (*step["fails"], *step.get("ran", "").split())}
    project = {test for test in named if not test.endswith(".py")}
    return [_run(number, step, project) for number, step in enumerate(steps, 1)]


def _run(number, step, project):
    fails, ran = step["fails"], step.get("ran")
    chosen = (project if ran is None else set(ran.split())) - {*step.get("absent", "").split()}
    hidden = [test for test in fails if test.endswith(".py")]
    if hidden and not step.get("goes_on"):
        chosen = set()
    skipped = {*step.get("skipped", "").split()}
    outcomes = {
        node(test): "failed" if test in fails else "skipped" if test in skipped else "passed"
        for test in chosen | {*fails} - {*hidden}
    }
    kind = step.get("edit", "effective")
    is_finished = not step.get("killed")
    return Run(
        id=str(number),
        number=number,
        command=("pytest", *(["-k", ran] if ran is not None else [])),
        scope="" if ran is None else f"-k {ran}",
        exit_code=(1 if fails else 0) if is_finished else None,
        is_finished=is_finished,
        incomplete=step.get(
            "incomplete", "1 error during collection" if hidden and not step.get("goes_on") else ""
        ),
        is_green=is_finished and not fails,
        outcomes={PYTEST: outcomes} if is_finished else {},
        failures=tuple(failure(test, spec) for test, spec in fails.items()),
        edits=Edits(kind=kind, edits=(Edit(file="src/a.py", function="f"),) if kind == "effective" else ()),
        is_done=step.get("done", False),
    )


def told(runs):
    """What the loop and its signals say after each run.

    ``anew``, why it advanced, ``-`` for no attempt, ``held N`` for N attempts that did not advance, ``stuck``; then
    the signals.
    """
    return [_told(runs[: n + 1]) for n in range(len(runs))]


def _told(runs):
    loop = fold(runs)
    if loop.base == runs[-1].number:
        word = "anew"
    elif not loop.steps[-1].is_attempt:
        word = loop.steps[-1].advanced or "-"
    else:
        word = loop.steps[-1].advanced or ("stuck" if is_stuck(loop) else f"held {loop.stalled}")
    return " ".join([word, *(signal.kind for signal in signals(loop, runs))])
