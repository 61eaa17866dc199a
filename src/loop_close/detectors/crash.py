"""Processes that died instead of ending: fatal signals, errors of the interpreter, workers that are gone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.model import Evidence, Failure, Observation

#: By number, as far as Linux and macOS agree on those that nobody sends on purpose; out of memory is a kill.
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
_SHELL_OFFSET = 128
_FATAL = ("Fatal Python error", "Windows fatal exception")
# pytest-xdist, and pytest-forked in its place
_WORKER = re.compile(
    r"\A(?:worker '[^'\n]{1,100}' crashed while running |\S{0,300}:-?\d+: running the test CRASHED with signal )"
)


def detect(observation: Observation) -> Iterator[Evidence]:
    """Failures that tell of a death; else the exit code, where nothing else was found that explains it."""
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
    """The fatal signal that an exit code stands for: negative from Python, from 128 on by a shell."""
    if exit_code is None:
        return ""
    number = -exit_code if exit_code < 0 else exit_code - _SHELL_OFFSET
    return _SIGNALS.get(number, "")


def advise(evidence: Evidence) -> str:
    """Of a process that was killed from outside, who does that; else where such deaths come from."""
    code = evidence.failure.code if evidence.failure is not None else evidence.label
    return _KILLED if code == "SIGKILL" else _DIED


_KILLED = "SIGKILL comes from outside of the process: from the kernel when memory is short, a time limit, or a person."
_DIED = (
    "The process ended without an exception to show: look at C extensions, ctypes, native libraries, endless "
    "recursion in C code, memory use, and calls of os._exit or os.abort near the frame shown."
)
DETECTOR = Detector(
    id="crash",
    label="crash",
    priority=80,
    description="a process that died: fatal signal, fatal error of the interpreter, dead test worker",
    hint="The process ended without an exception to show, by itself or by a signal from outside.",
    detect=detect,
    advise=advise,
)
