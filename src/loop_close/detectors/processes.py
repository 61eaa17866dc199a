"""Processes that died or failed, and exceptions outside of any test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a
from loop_close.model import Evidence, Failure, Observation

#: By number, as far as Linux and macOS agree, without those sent on purpose; out of memory is a kill.
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
_SHELL_OFFSET = 128
_FATAL = ("Fatal Python error", "Windows fatal exception")
# pytest-xdist, and pytest-forked in its place
_WORKER = re.compile(
    r"\A(?:worker '[^'\n]{1,100}' crashed while running |\S{0,300}:-?\d+: running the test CRASHED with signal )"
)


def _crashes(observation: Observation) -> Iterator[Evidence]:
    """Failures by a death; else the exit code, where nothing else was found that explains it."""
    for failure in observation.failures:
        if _is_crash(failure):
            yield claim("crash", failure)
    name = _signal(observation.exit_code)
    if name and not observation.failures:
        snippet = f"the process was ended by {name} (exit code {observation.exit_code})"
        yield Evidence(kind="crash", snippet=snippet, label=name, identity=name)


def _is_crash(failure: Failure) -> bool:
    if failure.raised is not None:
        return failure.phase == "process" and failure.raised.type in _FATAL
    is_signal = failure.phase == "process" and failure.code in _SIGNALS.values()
    return is_signal or is_dead_worker(failure)


def is_dead_worker(failure: Failure) -> bool:
    """Whether a test ended the process of pytest-xdist or pytest-forked that ran it."""
    return _WORKER.match(failure.message) is not None


def _signal(exit_code: int | None) -> str:
    """The fatal signal of an exit code: negative from Python, from 128 on from a shell."""
    if exit_code is None:
        return ""
    number = -exit_code if exit_code < 0 else exit_code - _SHELL_OFFSET
    return _SIGNALS.get(number, "")


def _crash_advice(evidence: Evidence) -> str:
    code = evidence.failure.code if evidence.failure is not None else evidence.label
    return _KILLED if code == "SIGKILL" else _DIED


_KILLED = "SIGKILL comes from outside of the process: from the kernel when memory is short, a time limit, or a person."
_DIED = (
    "The process ended without an exception to show: look at C extensions, ctypes, native libraries, endless "
    "recursion in C code, memory use, and calls of os._exit or os.abort near the frame shown."
)
CRASH = Detector(
    id="crash",
    label="crash",
    priority=80,
    description="a process that died: fatal signal, fatal error of the interpreter, dead test worker",
    hint="The process ended without an exception to show, by itself or by a signal from outside.",
    detect=_crashes,
    advise=_crash_advice,
)

_CATEGORIES = (
    "PytestUnraisableExceptionWarning",
    "PytestUnhandledThreadExceptionWarning",
    "PytestUnhandledCoroutineWarning",
)
#: Stands for a category where the text is from asyncio's log.
_LOGGER = "asyncio"
_NEVER_AWAITED = re.compile(r"coroutine '[^'\n]{1,200}' was never awaited")
# asyncio/base_events.py and asyncio/tasks.py log these through the "asyncio" logger.
_LOGGED = re.compile(
    r"^.{0,200}?(?:Task exception was never retrieved|Future exception was never retrieved"
    r"|Task was destroyed but it is pending!)",
    re.MULTILINE,
)
_LOGGED_GUARDS = ("exception was never retrieved", "Task was destroyed but it is pending!")
# The start of a process's message about an exception that was not handled.
_UNHANDLED = re.compile(
    r"(?:Task|Future) exception was never retrieved: |Exception in (?:callback|thread) |Exception ignored "
    r"|unhandled exception during asyncio\.run\(\) shutdown: |exception calling callback <"
)
_MAX_SECTION = 64_000
_MAX_LOGGED = 10


def is_unhandled_exception(category: str, message: str) -> bool:
    """Whether a recorded warning is one that ``unhandled-async`` reads; the others need not be kept."""
    return category in _CATEGORIES or category == _LOGGER or _NEVER_AWAITED.search(message) is not None


def _unhandled(observation: Observation) -> Iterator[Evidence]:
    """Failures and warnings of these kinds, and what asyncio logged in captured output."""
    kind = "unhandled-async"
    for failure in observation.failures:
        is_unhandled = failure.phase == "process" and _UNHANDLED.match(failure.message)
        if is_unhandled or is_a(failure.raised, *_CATEGORIES) or _NEVER_AWAITED.match(failure.message):
            yield claim(kind, failure)
    for w in observation.warnings:
        if is_unhandled_exception(w.category, w.message):
            yield Evidence(kind=kind, snippet=_gist(w.message), label=w.category, file=w.file, line=w.line)
    for failure in observation.failures:
        for title, text in failure.sections:
            if not any(words in text for words in _LOGGED_GUARDS):
                continue
            for match in islice(_LOGGED.finditer(text[-_MAX_SECTION:]), _MAX_LOGGED):
                yield Evidence(
                    kind=kind, snippet=match.group(), label=title, file=failure.file, line=failure.line
                )


def _gist(message: str) -> str:
    """The place and the exception, without pytest's traceback and advice."""
    text = message.partition("\n\nEnable tracemalloc")[0]
    if "Traceback (most recent call last):" not in text:
        return text
    outer = [line for line in text.splitlines() if line and not line[0].isspace()]
    return f"{outer[0]}: {outer[-1]}" if outer else text


def _unhandled_advice(evidence: Evidence) -> str:
    return next((text for words, text in _ADVICE if words in f"{evidence.label} {evidence.snippet}"), "")


_FINALIZER = "A finalizer or callback raised where Python cannot hand the exception to any caller."
#: The first words that the finding contains decide.
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
    ("nraisable", _FINALIZER),
    ("Exception ignored ", _FINALIZER),
)
UNHANDLED_ASYNC = Detector(
    id="unhandled-async",
    label="unhandled exception outside of a test",
    priority=100,
    description="task exceptions never retrieved, coroutines never awaited, exceptions in threads and finalizers",
    hint="Something failed where no test could see it: in a task, a thread, a finalizer, or a coroutine that was not "
    "awaited.",
    detect=_unhandled,
    advise=_unhandled_advice,
)

_MAX_FRAMES = 3


def _frames(observation: Observation) -> Iterator[Evidence]:
    """At most three frames, innermost first, and the failures of processes.

    On exit code 0 only what a tool's summary says of the processes it ran. A finding of a checker has no frames: it
    names a place in a file that did not run.
    """
    for failure in observation.failures:
        if failure.phase == "process" and (observation.exit_code != 0 or failure.tool):
            yield claim("stack-trace", failure)
    if not observation.exit_code:
        return
    ran = (f for f in observation.failures if f.phase != "check")
    first = next((f for f in ran if f.raised is not None and f.raised.frames), None)
    frames = first.raised.frames if first is not None and first.raised is not None else ()
    is_claimed = first is not None and first.phase == "process"  # and with it its innermost frame
    for frame in frames[: -_MAX_FRAMES - 1 : -1][1 if is_claimed else 0 :]:
        yield Evidence(
            kind="stack-trace", snippet=frame.function, label=frame.function, file=frame.file, line=frame.line
        )


STACK_TRACE = Detector(
    id="stack-trace",
    label="process failure",
    priority=160,
    description="the three innermost project frames of the first failure, on a non-zero exit",
    hint="A program ended on an error of its own. The message says what it could not do; the frames, where there "
    "are any, where it was.",
    detect=_frames,
    is_fallback=True,
)
