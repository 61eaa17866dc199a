"""Exceptions that no test saw: in tasks, threads, finalizers, or in coroutines nobody awaited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a
from loop_close.model import Evidence, Observation

_CATEGORIES = (
    "PytestUnraisableExceptionWarning",
    "PytestUnhandledThreadExceptionWarning",
    "PytestUnhandledCoroutineWarning",
)
#: In place of a category, of what asyncio writes to its log.
_LOGGER = "asyncio"
_NEVER_AWAITED = re.compile(r"coroutine '[^'\n]{1,200}' was never awaited")
# asyncio/base_events.py and asyncio/tasks.py log these through the "asyncio" logger.
_LOGGED = re.compile(
    r"^.{0,200}?(?:Task exception was never retrieved|Future exception was never retrieved"
    r"|Task was destroyed but it is pending!)",
    re.MULTILINE,
)
_LOGGED_GUARDS = ("exception was never retrieved", "Task was destroyed but it is pending!")
# How the message of a process begins whose exception nobody took.
_UNHANDLED = re.compile(
    r"(?:Task|Future) exception was never retrieved: |Exception in (?:callback|thread) |Exception ignored "
    r"|unhandled exception during asyncio\.run\(\) shutdown: |exception calling callback <"
)
_MAX_SECTION = 64_000
_MAX_LOGGED = 10


def is_of_interest(category: str, message: str) -> bool:
    """Whether a recorded warning is one this detector reads; the rest need not be kept."""
    return category in _CATEGORIES or category == _LOGGER or _NEVER_AWAITED.search(message) is not None


def detect(observation: Observation) -> Iterator[Evidence]:
    """Failures and warnings of these kinds, and what asyncio logged in captured output."""
    for failure in observation.failures:
        is_unhandled = failure.phase == "process" and _UNHANDLED.match(failure.message)
        if is_unhandled or is_a(failure.raised, *_CATEGORIES) or _NEVER_AWAITED.match(failure.message):
            yield claim("unhandled-async", failure)
    yield from _from_warnings(observation)
    yield from _from_output(observation)


def _from_warnings(observation: Observation) -> Iterator[Evidence]:
    for w in observation.warnings:
        if is_of_interest(w.category, w.message):
            yield Evidence(
                kind="unhandled-async", snippet=_gist(w.message), label=w.category, file=w.file, line=w.line
            )


def _gist(message: str) -> str:
    """Where it happened and what was raised, without pytest's traceback and advice."""
    told = message.partition("\n\nEnable tracemalloc")[0]
    if "Traceback (most recent call last):" not in told:
        return told
    outer = [line for line in told.splitlines() if line and not line[0].isspace()]
    return f"{outer[0]}: {outer[-1]}" if outer else told


def _from_output(observation: Observation) -> Iterator[Evidence]:
    for failure in observation.failures:
        for title, text in failure.sections:
            if not any(words in text for words in _LOGGED_GUARDS):
                continue
            for match in islice(_LOGGED.finditer(text[-_MAX_SECTION:]), _MAX_LOGGED):
                yield Evidence(
                    kind="unhandled-async",
                    snippet=match.group(),
                    label=title,
                    file=failure.file,
                    line=failure.line,
                )


def advise(evidence: Evidence) -> str:
    """What went unseen: the first words that fit the finding."""
    return next((text for words, text in _ADVICE if words in f"{evidence.label} {evidence.snippet}"), "")


_ADVICE = (
    ("was never awaited", "A coroutine was called without await: its body did not run."),
    (
        "exception was never retrieved",
        "An exception in a task or future is seen only where its result is awaited.",
    ),
    (
        "Task was destroyed",
        "A task was still running when its event loop ended: it is to be awaited or cancelled.",
    ),
    ("hread", "An exception in a thread ends that thread alone; the code that started it has to collect it."),
    ("nraisable", "A finalizer or callback raised where Python cannot hand the exception to any caller."),
    (
        "Exception ignored ",
        "A finalizer or callback raised where Python cannot hand the exception to any caller.",
    ),
)
DETECTOR = Detector(
    id="unhandled-async",
    label="unhandled exception outside of a test",
    priority=100,
    description="task exceptions never retrieved, coroutines never awaited, exceptions in threads and finalizers",
    hint="Something failed where no test could see it: in a task, a thread, a finalizer, or a coroutine that was not "
    "awaited.",
    detect=detect,
    advise=advise,
)
