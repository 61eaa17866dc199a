"""What is known of one test, brought up to date by one run."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from loop_close.memory import Form, Known, Mark, Status
from loop_close.text.similarity import similar

#: What became of a test that did not fail.
Became = Literal["passed", "skipped", "xfailed", "deleted", "uncollected"]

_MAX_FORMS = 16
_MAX_RUNS = 12
_MAX_VALUES = 8
#: So often it changed with nothing edited, and it is flaky beyond doubt.
_PROVEN = 2


def is_flaky(known: Known) -> bool:
    """Whether it is proven that it passes and fails by chance."""
    return len(known.flips) >= _PROVEN


def failed(known: Known | None, mark: Mark, run: int) -> Known:
    """After a run in which it failed."""
    if known is None:
        known = Known(status="failing", mark=mark, since=run)
    is_again = known.status == "passed"
    is_other = known.mark.shape != mark.shape  # the values of another comparison are no series with these
    return replace(
        known,
        status="failing",
        mark=replace(mark, message=""),  # it stands in the form
        since=run if is_again else known.since,
        ran=run,
        was_broken=known.was_broken or is_again,
        forms=_with_form(known.forms, mark, run),
        values=_with_value(() if is_other else known.values, mark.got, run),
        tampered=(0, ""),
    )


def settled(known: Known, outcome: Became, run: int, *, is_touched: bool = True) -> Known:
    """After a run in which it did not fail: passed, skipped, expected to fail, or gone.

    :param is_touched: something was edited by which it may have been silenced: a test may also come to be skipped by
        itself.
    """
    known = replace(known, ran=run)
    if outcome == "passed":
        return replace(known, status="passed", tampered=(0, ""))
    if known.status in ("skipped", "xfailed", "gone"):
        return known
    is_touched = is_touched and known.status == "failing"
    status: Status = outcome if outcome in ("skipped", "xfailed") else "gone"
    return replace(known, status=status, tampered=(run, outcome) if is_touched else known.tampered)


def form_now(known: Known) -> Form | None:
    """The form that its last failure had."""
    return next((form for form in known.forms if form.shape == known.mark.shape), None)


def is_worded_alike(one: Form | Mark, other: Form | Mark, threshold: float) -> bool:
    """Whether two failures of one type and place say nearly the same; never where the wording does not decide."""
    is_worded = bool(one.message and other.message) and one.family == other.family
    return is_worded and similar(one.message, other.message, threshold)


def flipped(known: Known, run: int) -> Known:
    """It came out otherwise although nothing was edited."""
    return replace(known, flips=(*known.flips, run)[-_MAX_RUNS:])


def _with_form(forms: tuple[Form, ...], mark: Mark, run: int) -> tuple[Form, ...]:
    new = Form(shape=mark.shape, family=mark.family, message=mark.message)
    form = next((f for f in forms if f.shape == mark.shape), new)
    others = [f for f in forms if f.shape != mark.shape][-(_MAX_FORMS - 1) :]
    return (*others, replace(form, runs=(*form.runs, run)[-_MAX_RUNS:]))


def _with_value(values: tuple[tuple[int, str], ...], got: str, run: int) -> tuple[tuple[int, str], ...]:
    if not got or "..." in got or (values and values[-1][1] == got):  # how much is left out depends on -v
        return values
    return (*values, (run, got))[-_MAX_VALUES:]
