"""What is remembered of one root cause: how long it has been there, and the values it went through."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.memory import Known, Progress
from loop_close.model import RootCause
from loop_close.progress.fingerprints import test_key
from loop_close.prompt.show import span

_MAX_VALUES = 5


def past_lines(cause: RootCause, progress: Progress | None) -> Iterator[str]:
    """One line at most; nothing for a cause that is new."""
    known = _oldest(cause, progress)
    first = cause.evidence[0].failure
    if progress is None or known is None or first is None:
        return
    is_shown = known.mark.test == test_key(first)
    parts = [_survived(known, progress), _values(known, is_shown=is_shown), _again(known)]
    line = " ".join(part for part in parts if part)
    if line:
        yield line


def attempts(cause: RootCause, progress: Progress | None) -> int:
    """How many times the code was edited while the cause was there, and it stayed."""
    known = _oldest(cause, progress)
    if progress is None or known is None:
        return 0
    steps = [s for s in progress.episode.steps if s.run > known.since and s.is_counted]
    return sum(s.edits.kind in ("effective", "unknown") for s in steps)


def _oldest(cause: RootCause, progress: Progress | None) -> Known | None:
    """What is known of the test that has been failing longest, of those that went through most values."""
    if progress is None:
        return None
    keys = {test_key(e.failure) for e in cause.evidence if e.failure is not None}
    found = [progress.episode.tests[key] for key in sorted(keys) if key in progress.episode.tests]
    return min(found, key=lambda k: (k.since, -len(k.values)), default=None)


def _survived(known: Known, progress: Progress) -> str:
    runs = [s.run for s in progress.episode.steps if s.run >= known.since and not s.is_killed]
    if len(runs) < 2:
        return ""
    return f"Failing for {len(runs)} runs, since run {known.since}."


def _values(known: Known, *, is_shown: bool) -> str:
    """The values, of which test where it is not the one that is shown."""
    if len(known.values) < 2:
        return ""
    test = "" if is_shown else f" in {span(known.mark.test, 160)}"
    shown = ", ".join(span(value, 40) for _, value in known.values[-_MAX_VALUES:])
    want = f"; want {span(known.mark.want, 60)}" if known.mark.want else ""
    return f"Got {shown}{want}{test}."


def _again(known: Known) -> str:
    return "It had passed in this loop." if known.was_broken else ""
