"""Detectors say what is wrong: each is a function and a row. Here are the record, the rows, and what runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import asdict, force_setattr

from loop_close.facts import (
    LINTERS,
    TEST_PHASES,
    failure_place,
    is_a,
    is_about_import_cycle,
    is_misuse,
    is_syntax_error,
    origins,
    reached,
)
from loop_close.model import Evidence, Failure, Observation
from loop_close.records import Record
from loop_close.text import fault_text

__all__ = ["DEFAULT_DETECTORS", "DETECTOR_ERROR", "Detector", "by_priority", "claim", "run_detectors"]


class Detector(Record, frozen=True, kw_only=True):
    """One way to find out what is wrong.

    :ivar id: unique; also the name users type.
    :ivar kind: the kind of the evidence it yields; the id if it is not given.
    :ivar label: what one finding is called, in the singular ("test failure").
    :ivar priority: the smaller, the more it blocks everything else; the built-in ones go by tens from 10.
    :ivar description: one line for a list of detectors.
    :ivar hint: a sentence or two on how such a thing is fixed, for the prompt; true of every finding.
    :ivar detect: a pure function from what was observed to what was found.
    :ivar is_fallback: its finding on a failure counts only when no other detector claims that failure.
    """

    id: str
    label: str
    priority: int
    description: str
    hint: str
    detect: Callable[[Observation], Iterable[Evidence]]
    kind: str = ""
    is_fallback: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "kind", self.kind or self.id)

    def count_of(self, found: Iterable[Evidence]) -> str:
        """``1 test failure``, ``3 test failures``."""
        number = sum(each.failure.number if each.failure else 1 for each in found)
        plural = "es" if self.label.endswith(("s", "x", "sh", "ch")) else "s"
        return f"{number} {self.label}{plural if number != 1 else ''}"


def claim(kind: str, failure: Failure) -> Evidence:
    """Evidence that says what kind a failure is; its place and message come from the failure."""
    file, line, function = failure_place(failure)
    return Evidence(
        kind=kind,
        snippet=failure.message,
        label=function or failure.code,
        file=file,
        line=line,
        failure=failure,
    )


# --- what the built-in detectors look for


def _claiming(id: str, applies: Callable[[Failure], object], **fields: Any) -> Detector:
    """A detector that claims the failures to which a condition applies."""
    return Detector(id=id, detect=lambda seen: (claim(id, f) for f in seen.failures if applies(f)), **fields)


def _is_unparsed(failure: Failure) -> bool:
    """Whether a file cannot be parsed. A program that parses a string of its own has frames."""
    is_alone = failure.phase == "process" and not failure.file and is_a(failure.raised, "SyntaxError")
    return is_alone or is_syntax_error(failure.raised)


def _is_uncollected(failure: Failure) -> bool:
    is_without_fixture = failure.raised is not None and "fixture" in failure.raised.details
    return failure.phase == "collect" or is_misuse(failure) or is_without_fixture


_TYPE_CHECKERS = ("mypy", "pyright", "ty", "pyrefly")
#: By number, as far as Linux and macOS agree, without those sent on purpose; out of memory is a kill.
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
_FATAL = ("Fatal Python error", "Windows fatal exception")
# pytest-xdist, and pytest-forked in its place
_WORKER = re.compile(
    r"\A(?:worker '[^'\n]{1,100}' crashed while running |\S{0,300}:-?\d+: running the test CRASHED with signal )"
)


def _crashes(observation: Observation) -> Iterator[Evidence]:
    """Failures by a death; else the exit code, where nothing else was found that explains it."""
    yield from (claim("crash", failure) for failure in observation.failures if _is_crash(failure))
    code = observation.exit_code or 0  # negative from Python, from 128 on from a shell
    name = _SIGNALS.get(-code if code < 0 else code - 128, "")
    if name and not observation.failures:
        yield Evidence(
            kind="crash", snippet=f"the process was ended by {name} (exit code {code})", label=name
        )


def _is_crash(failure: Failure) -> bool:
    if failure.phase == "process":
        return is_a(failure.raised, *_FATAL) or failure.code in _SIGNALS.values()
    return failure.raised is None and _WORKER.match(failure.message) is not None


# pytest-timeout 2.x with the signal method: pytest.fail("Timeout (>1.0s) from pytest-timeout.")
_PYTEST_TIMEOUT = re.compile(r"\ATimeout \(?>")
_TIMEOUT_TYPE = re.compile(r"Time(?:d)?Out(?:Error|Expired|Exception)?\Z", re.IGNORECASE)


def _is_timeout(failure: Failure) -> bool:
    """Whether pytest-timeout ended the test, or the exception is a timeout by its name."""
    raised = failure.raised
    if raised is None:
        return False
    by_plugin = is_a(raised, "Failed") and bool(_PYTEST_TIMEOUT.match(raised.message))
    return by_plugin or any(_TIMEOUT_TYPE.search(name) for name in (raised.type, *raised.bases))


#: Warnings in which pytest reports an exception, and the category of text from asyncio's log.
_CATEGORIES = (
    *("PytestUnraisableExceptionWarning", "PytestUnhandledThreadExceptionWarning"),
    *("PytestUnhandledCoroutineWarning", "asyncio"),
)
_NEVER_AWAITED = re.compile(r"coroutine '[^'\n]{1,200}' was never awaited")
# The start of a process's message about an exception that was not handled.
_UNHANDLED = re.compile(
    r"(?:Task|Future) exception was never retrieved: |Exception in (?:callback|thread) |Exception ignored "
    r"|unhandled exception during asyncio\.run\(\) shutdown: |exception calling callback <"
)


def is_unhandled_exception(category: str, message: str) -> bool:
    """Whether a recorded warning is one that ``unhandled-async`` reads; the others need not be kept."""
    return category in _CATEGORIES or _NEVER_AWAITED.search(message) is not None


def _unhandled(observation: Observation) -> Iterator[Evidence]:
    """Failures and warnings of these kinds."""
    kind = "unhandled-async"
    for failure in observation.failures:
        is_unhandled = failure.phase == "process" and _UNHANDLED.match(failure.message)
        if is_unhandled or is_a(failure.raised, *_CATEGORIES) or _NEVER_AWAITED.match(failure.message):
            yield claim(kind, failure)
    for w in observation.warnings:
        if is_unhandled_exception(w.category, w.message):
            yield Evidence(kind=kind, snippet=_gist(w.message), label=w.category, file=w.file, line=w.line)


def _gist(message: str) -> str:
    """The place and the exception, without pytest's traceback and advice."""
    text = message.partition("\n\nEnable tracemalloc")[0]
    outer = [line for line in text.splitlines() if line and not line[0].isspace()]
    return f"{outer[0]}: {outer[-1]}" if outer and "Traceback (most recent call last):" in text else text


def _empty_functions(observation: Observation) -> Iterator[Evidence]:
    """Each function that has no body yet, once: only a placeholder, see :attr:`Frame.is_empty`.

    These are functions that returned a value that a failing assertion checked. A function that raised has a body.
    """
    kind, snippet = "incomplete-function", "the body is empty"
    empty = (o for failure in observation.failures for o in origins(failure) if o.is_empty and not o.is_test)
    for file, line, function in dict.fromkeys((o.file, o.line, o.function) for o in empty):
        yield Evidence(kind=kind, snippet=snippet, label=function, file=file, line=line)


def _comments(kind: str, word: str) -> Callable[[Observation], Iterator[Evidence]]:
    """A detector function for comments such as ``# TODO(name): …`` in code that a failure reaches, and such lines."""
    pattern = re.compile(rf"#[^#\n]{{0,80}}?\b{word}\b(?:\([^)\n]{{0,40}}\))?:?.*")

    def detect(observation: Observation) -> Iterator[Evidence]:
        found: dict[tuple[str, int], Evidence] = {}
        for file, function, source in (place for f in observation.failures for place in reached(f)):
            for line, text in enumerate(source.lines, source.start):
                if word in text and (match := pattern.search(text)):
                    evidence = Evidence(kind=kind, snippet=match[0], label=function, file=file, line=line)
                    found.setdefault((file, line), evidence)
        yield from found.values()
        for warned in observation.warnings:
            if warned.category == word:
                yield Evidence(kind=kind, snippet=warned.message, label=word)

    return detect


_MAX_FRAMES = 3


def _frames(observation: Observation) -> Iterator[Evidence]:
    """The failures of processes; with another exit code than 0 at most three frames, innermost first.

    A finding of a checker has no frames: it names a place in a file that did not run.
    """
    for failure in observation.failures:
        if failure.phase == "process":
            yield claim("stack-trace", failure)
    ran = ((f.phase, f.frames) for f in observation.failures if f.frames and f.phase != "check")
    phase, frames = next(ran, ("", ())) if observation.exit_code else ("", ())
    is_claimed = phase == "process"  # and with it its innermost frame
    for frame in frames[: -_MAX_FRAMES - 1 : -1][is_claimed:]:
        name = frame.function
        yield Evidence(kind="stack-trace", snippet=name, label=name, file=frame.file, line=frame.line)


# --- the table of the built-in detectors

#: Most blocking first; the first kind that has evidence is the stall reason.
DEFAULT_DETECTORS: tuple[Detector, ...] = (
    _claiming(
        "internal-error",
        lambda failure: failure.phase == "session" and not is_misuse(failure),
        label="internal error",
        priority=10,
        description="pytest or one of its plugins broke, so that the run says little about the tests",
        hint="A plugin, a conftest hook or pytest itself broke. The usual place is the innermost frame in a conftest.",
    ),
    _claiming(
        "syntax-error",
        _is_unparsed,
        label="syntax error",
        priority=20,
        description="a source file that Python cannot parse",
        hint="No test that imports the file can run. The fault is on the line shown or just before it.",
    ),
    _claiming(
        "missing-module",
        lambda failure: is_a(failure.raised, "ImportError") or is_about_import_cycle(failure.raised),
        label="failed import",
        priority=30,
        description="an import that fails: no such module, no such name in it, or a circular import",
        hint="Usual reasons: a name that is wrong, moved or not written yet, modules that import each other, or a "
        "dependency that is not installed: install it.",
    ),
    _claiming(
        "collection-error",
        _is_uncollected,
        label="collection error",
        priority=40,
        description="tests that could not be collected: fixture not found, duplicate modules, bad conftest, bad marker",
        hint="Something keeps tests from being collected or set up; what they would show is not known yet.",
        is_fallback=True,
    ),
    _claiming(
        "typecheck-error",
        lambda failure: failure.phase == "check" and failure.tool in _TYPE_CHECKERS,
        label="type error",
        priority=50,
        description="an error that mypy, Pyright, ty or Pyrefly reports",
        hint="Where many calls fail alike, the signature or annotation that they share is the likelier place.",
    ),
    _claiming(
        "test-failure",
        lambda failure: failure.phase in TEST_PHASES,
        label="test failure",
        priority=60,
        description="a test that failed in setup, call or teardown",
        hint="A wrong value is put right in the function that made it, not in the test that compared it.",
        is_fallback=True,
    ),
    _claiming(
        "not-implemented",
        lambda failure: is_a(failure.raised, "NotImplementedError"),
        label="unimplemented function",
        priority=70,
        description="a call that ended in NotImplementedError",
        hint="The body of the function shown has to be written; of an abstract method, that in the subclass in use.",
    ),
    Detector(
        id="crash",
        label="crash",
        priority=80,
        description="a process that died: fatal signal, fatal error of the interpreter, dead test worker",
        hint="Look at C extensions, native libraries, memory use and calls of os._exit. SIGKILL comes from outside: "
        "from the kernel, a time limit, or a person.",
        detect=_crashes,
    ),
    _claiming(
        "timeout",
        _is_timeout,
        label="timeout",
        priority=90,
        description="a test or a call in it that ran into a time limit",
        hint="Usual reasons for a timeout: a loop that does not end, a lock that is not released, a queue that stays "
        "empty, a network or subprocess that does not answer.",
    ),
    Detector(
        id="unhandled-async",
        label="asynchronous fault",
        priority=100,
        description="task exceptions never retrieved, coroutines never awaited, exceptions in threads and finalizers",
        hint="It failed where no test could see it: in a task, a thread, a finalizer or a coroutine not awaited.",
        detect=_unhandled,
    ),
    _claiming(
        "lint-error",
        lambda failure: failure.phase == "check" and failure.tool in LINTERS,
        label="lint error",
        priority=110,
        description="a rule that Ruff or flake8 finds broken",
        hint="An undefined name or a syntax error is a fault of the program; most other rules are about style.",
    ),
    _claiming(
        "coverage-below",
        lambda failure: (failure.phase, failure.tool, failure.code) == ("check", "coverage", "fail-under"),
        label="coverage shortfall",
        priority=120,
        description="coverage below the limit that the project sets (fail_under)",
        hint="With `-m`, `coverage report` lists the lines that no test ran. The limit is the project's decision.",
    ),
    Detector(
        id="incomplete-function",
        label="empty function",
        priority=130,
        description="a body of `...`, `pass` or a lone TODO, in code that a failure reaches",
        hint="The function named has no body yet and so returns None to its callers.",
        detect=_empty_functions,
    ),
    Detector(
        id="todo-marker",
        label="TODO comment",
        priority=140,
        description="a TODO comment in a function that a failure reaches",
        hint="A function on the way to the failure says itself that it is not finished.",
        detect=_comments("todo-marker", "TODO"),
    ),
    Detector(
        id="fixme-marker",
        label="FIXME comment",
        priority=150,
        description="a FIXME comment in a function that a failure reaches",
        hint="A function on the way to the failure says itself that it is known to be wrong.",
        detect=_comments("fixme-marker", "FIXME"),
    ),
    Detector(
        id="stack-trace",
        label="process failure",
        priority=160,
        description="the three innermost project frames of the first failure, on a non-zero exit",
        hint="The message says what the program could not do; the frames, where there are any, where it was.",
        detect=_frames,
        is_fallback=True,
    ),
)

# --- the one place that runs them

_MAX_FOUND = 10_000

#: Not a detector that looks for anything: it names what is said of one that raised.
DETECTOR_ERROR = Detector(
    id="detector-error",
    label="failed extension",
    priority=1000,
    description="a detector or hook of a third party raised an exception",
    hint="An extension failed; what it would have added is not in this prompt.",
    detect=lambda observation: (),
)


def by_priority(detectors: Iterable[Detector]) -> tuple[Detector, ...]:
    """Most blocking first; ties by id, so that the order of registration does not show."""
    return tuple(sorted(detectors, key=lambda d: (d.priority, d.id)))


def run_detectors(
    observation: Observation, detectors: Sequence[Detector] = DEFAULT_DETECTORS
) -> tuple[Evidence, ...]:
    """All evidence, most blocking kind first, then by file and line.

    A detector that raises becomes ``detector-error`` evidence naming it; the others go on.
    """
    found = [pair for detector in by_priority(detectors) for pair in _run(detector, observation)]
    settled = _settle(found)
    return tuple(e for _, e in sorted(settled, key=lambda pair: _sort_key(*pair)))


def _run(detector: Detector, observation: Observation) -> list[tuple[Detector, Evidence]]:
    limit = _MAX_FOUND + 100 * len(observation.failures)
    try:
        found = list(islice(detector.detect(observation), limit + 1))
        if len(found) > limit:
            raise ValueError(f"yielded more than {limit} findings")
        for evidence in found:
            if not isinstance(evidence, Evidence):
                raise TypeError(f"yielded {type(evidence).__name__}, not loop_close.Evidence")
            msgspec.convert(asdict(evidence), Evidence)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # whatever a third party's code does, pytest.fail() and exit() too
        text = f"detector {detector.id!r} raised {fault_text(fault)}"
        return [(DETECTOR_ERROR, Evidence(kind=DETECTOR_ERROR.kind, snippet=text, label=detector.id))]
    return [(detector, evidence) for evidence in found]


def _settle(found: list[tuple[Detector, Evidence]]) -> Iterator[tuple[Detector, Evidence]]:
    """Let one detector keep each failure: the most specific, then the most blocking."""
    best: dict[int, Detector] = {}
    for detector, evidence in sorted(found, key=lambda pair: pair[0].is_fallback):
        best.setdefault(id(evidence.failure), detector)
    for detector, evidence in found:
        if evidence.failure is None or best[id(evidence.failure)] is detector:
            yield detector, evidence


def _sort_key(detector: Detector, evidence: Evidence) -> tuple[object, ...]:
    failure = evidence.failure
    test = (failure.nodeid, failure.phase, failure.subtest) if failure else ("", "", "")
    return detector.priority, evidence.kind, evidence.file, evidence.line, *test, evidence.snippet
