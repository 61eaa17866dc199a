"""The built-in detectors: tests and collection, checkers, coverage, empty functions, processes, lost exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from loop_close import lazy
from loop_close.detectors.contract import Detector, claim, claim_each
from loop_close.facts import (
    COLLECTIONS_DIFFER,
    LINTERS,
    is_a,
    is_about_import_cycle,
    is_about_no_exception,
    is_assertion,
    is_misuse,
    is_syntax_error,
    origins,
    reached,
)
from loop_close.model import Evidence, Failure, Observation

INTERNAL_ERROR = Detector(
    id="internal-error",
    label="internal error",
    priority=10,
    description="pytest or one of its plugins broke, so that the run says little about the tests",
    hint="An internal error comes from a plugin, a conftest hook or pytest itself, not from a test. "
    "The innermost frame in the project's own conftest or plugin code is the usual place.",
    detect=claim_each(
        "internal-error", lambda failure: failure.phase == "session" and not is_misuse(failure)
    ),
)


SYNTAX_ERROR = Detector(
    id="syntax-error",
    label="syntax error",
    priority=20,
    description="a source file that Python cannot parse",
    hint="A file that does not parse hides every test that imports it. The fault is on the line shown or just "
    "before it.",
    detect=claim_each("syntax-error", lambda failure: is_syntax_error(failure.raised)),
)

_MODULE = "missing module"
_NAME = "missing name"
_CYCLE = "circular import"
_OTHER = "failed import"
_IMPORT_ADVICE: Mapping[str, str] = {
    _MODULE: "The module's name is wrong, the module moved, its folder is not on the import path, or a dependency is "
    "not installed.",
    _NAME: "The module was found, and it does not define the name: the name is wrong, moved, or not written yet.",
    _CYCLE: "Modules import each other while they are loaded. What both need can move into a third module, or one "
    "import into the function that uses it.",
    _OTHER: "",
}


def _is_failed_import(failure: Failure) -> bool:
    return is_a(failure.raised, "ImportError") or is_about_import_cycle(failure.raised)


def _import_label(evidence: Evidence) -> str:
    """What is missing: the module itself, a name in it, or neither."""
    raised = evidence.failure.raised if evidence.failure is not None else None
    if is_about_import_cycle(raised):
        return _CYCLE
    if raised is None or is_a(raised, "ModuleNotFoundError"):
        return _MODULE
    return _NAME if raised.message.startswith("cannot import name ") else _OTHER


MISSING_MODULE = Detector(
    id="missing-module",
    label=_MODULE,
    priority=30,
    description="an import that fails: no such module, no such name in it, or a circular import",
    hint="An import fails: the module or the name in it does not exist, or modules import each other while they "
    "are loaded.",
    detect=claim_each("missing-module", _is_failed_import),
    label_for=_import_label,
    advise=lambda evidence: _IMPORT_ADVICE[_import_label(evidence)],
)


def _is_collection_error(failure: Failure) -> bool:
    return failure.phase == "collect" or is_misuse(failure) or _is_without_fixture(failure)


def _is_without_fixture(failure: Failure) -> bool:
    return failure.raised is not None and "fixture" in failure.raised.details


def _collection_advice(evidence: Evidence) -> str:
    failure = evidence.failure
    if failure is None or is_misuse(failure):
        return ""
    if _is_without_fixture(failure):
        return "A fixture is found in the test's own module and class, in a conftest.py at or above it, or in a plugin."
    if COLLECTIONS_DIFFER.search(failure.message):
        return "Test ids must be the same in every worker: not from the order of a set, the clock or a random value."
    return ""


COLLECTION_ERROR = Detector(
    id="collection-error",
    label="collection error",
    priority=40,
    description="tests that could not be collected: fixture not found, duplicate modules, bad conftest, bad marker",
    hint="Something keeps tests from being collected or set up; what they would show is not known yet.",
    detect=claim_each("collection-error", _is_collection_error),
    advise=_collection_advice,
    is_fallback=True,
)

_VALUE_HINT = "A wrong value is put right in the function that made it, not in the test that compared it."


def _value_advice(evidence: Evidence) -> str:
    """The hint, where the test compared a value that the code under test made."""
    raised = evidence.failure.raised if evidence.failure is not None else None
    if raised is None or raised.site is None or not is_assertion(raised) or is_about_no_exception(raised):
        return ""
    return _VALUE_HINT if any(not origin.is_test for origin in raised.site.origins) else ""


TEST_FAILURE = Detector(
    id="test-failure",
    label="test failure",
    priority=60,
    description="a test that failed in setup, call or teardown",
    hint=_VALUE_HINT,
    detect=claim_each("test-failure", lambda failure: failure.phase in ("setup", "call", "teardown")),
    advise=_value_advice,
    is_fallback=True,
)

NOT_IMPLEMENTED = Detector(
    id="not-implemented",
    label="unimplemented function",
    priority=70,
    description="a call that ended in NotImplementedError",
    hint="The function shown raises NotImplementedError: its body has to be written. "
    "For an abstract method, the subclass in use lacks its own version.",
    detect=claim_each("not-implemented", lambda failure: is_a(failure.raised, "NotImplementedError")),
)

# pytest-timeout 2.x with the signal method: pytest.fail("Timeout (>1.0s) from pytest-timeout.")
_PYTEST_TIMEOUT = lazy.pattern(r"\ATimeout \(?>")
_TIMEOUT_TYPE = lazy.pattern(r"Time(?:d)?Out(?:Error|Expired|Exception)?\Z", re.IGNORECASE)


def _is_timeout(failure: Failure) -> bool:
    """Whether pytest-timeout ended the test, or the exception is a timeout by its name."""
    raised = failure.raised
    if raised is None:
        return False
    by_plugin = is_a(raised, "Failed") and bool(_PYTEST_TIMEOUT.match(raised.message))
    return by_plugin or any(_TIMEOUT_TYPE.search(name) for name in (raised.type, *raised.bases))


TIMEOUT = Detector(
    id="timeout",
    label="timeout",
    priority=90,
    description="a test or a call in it that ran into a time limit",
    hint="Usual reasons for a timeout: a loop that does not end, a lock that is not released, a queue that stays "
    "empty, a network or subprocess that does not answer.",
    detect=claim_each("timeout", _is_timeout),
)


def _is_found_by(*tools: str) -> Callable[[Failure], bool]:
    return lambda failure: failure.phase == "check" and failure.tool in tools


TYPECHECK_ERROR = Detector(
    id="typecheck-error",
    label="type error",
    priority=50,
    description="an error that mypy, Pyright, ty or Pyrefly reports",
    hint="Where many calls fail alike, the signature or annotation that they share is the likelier place. A cast or an "
    "ignore comment only hides the error.",
    detect=claim_each("typecheck-error", _is_found_by("mypy", "pyright", "ty", "pyrefly")),
)

# Undefined names, syntax errors, comparisons and formats that cannot work (pyflakes' and pycodestyle's codes).
_FAULTS = ("F821", "F822", "F823", "F63", "F7", "E9", "invalid-syntax")


def _lint_advice(evidence: Evidence) -> str:
    failure = evidence.failure
    if failure is None:
        return ""
    if failure.code.startswith(_FAULTS):
        return "This rule finds faults of the program, not of its style."
    return "`ruff check --fix` and `ruff format` mend what they can." if failure.tool == "ruff" else ""


LINT_ERROR = Detector(
    id="lint-error",
    label="lint error",
    priority=110,
    description="a rule that Ruff or flake8 finds broken",
    hint="The code is the rule's name. An undefined name or a syntax error is a fault of the program; most other "
    "rules are about style.",
    detect=claim_each("lint-error", _is_found_by(*LINTERS)),
    advise=_lint_advice,
)


def _is_below_limit(failure: Failure) -> bool:
    return failure.phase == "check" and (failure.tool, failure.code) == ("coverage", "fail-under")


def _coverage_advice(evidence: Evidence) -> str:
    """Where the lines that did not run are listed: only some reports have the column for them."""
    table = next((text for _, text in evidence.failure.sections), "") if evidence.failure else ""
    option = (
        "--cov-report=term-missing" if evidence.snippet.startswith("Required test") else "coverage report -m"
    )
    lists = "The coverage report" if "Missing" in table.partition("\n")[0] else f"`{option}`"
    return f"{_COVERAGE_HINT} {lists} lists these lines. The limit itself is the project's decision."


_COVERAGE_HINT = (
    "The tests pass, but too little code runs in them: tests are missing for the lines that did not run."
)
COVERAGE_BELOW = Detector(
    id="coverage-below",
    label="coverage shortfall",
    priority=120,
    description="coverage below the limit that the project sets (fail_under)",
    hint=f"{_COVERAGE_HINT} The limit itself is the project's decision.",
    detect=claim_each("coverage-below", _is_below_limit),
    advise=_coverage_advice,
)


def _empty_functions(observation: Observation) -> Iterator[Evidence]:
    """Each function that has no body yet, once: only a placeholder, see :attr:`Origin.is_empty`.

    These are functions that returned a value that a failing assertion checked, and those that mypy reports as
    ``empty-body``. A function that raised has a body.
    """
    kind, snippet = "incomplete-function", "the body is empty"
    for failure in observation.failures:
        if failure.code == "empty-body":  # mypy's code
            label = f"{failure.tool} {failure.code}"
            yield Evidence(kind=kind, snippet=snippet, label=label, file=failure.file, line=failure.line)
    empty = (o for failure in observation.failures for o in origins(failure) if o.is_empty and not o.is_test)
    for file, line, function in dict.fromkeys((o.file, o.line, o.function) for o in empty):
        yield Evidence(kind=kind, snippet=snippet, label=function, file=file, line=line)


INCOMPLETE_FUNCTION = Detector(
    id="incomplete-function",
    label="function without a body",
    priority=130,
    description="a body of `...`, `pass` or a lone TODO, in code that a failure reaches",
    hint="The function named has no body yet and so returns None to its callers.",
    detect=_empty_functions,
)


def _comments(kind: str, word: str) -> Callable[[Observation], Iterator[Evidence]]:
    """A detector function for comments such as ``# TODO: …`` or ``# TODO(name) …`` in code that a failure reaches."""
    pattern = re.compile(rf"#[^#\n]{{0,80}}?\b{word}\b(?:\([^)\n]{{0,40}}\))?:?.*")

    def detect(observation: Observation) -> Iterator[Evidence]:
        seen: set[tuple[str, int]] = set()
        for failure in observation.failures:
            for file, function, source in reached(failure):
                for line, text in enumerate(source.lines, source.start):
                    found = pattern.search(text) if word in text else None
                    if found and (file, line) not in seen:
                        seen.add((file, line))
                        yield Evidence(kind=kind, snippet=found.group(), label=function, file=file, line=line)

    return detect


TODO_MARKER = Detector(
    id="todo-marker",
    label="TODO comment",
    priority=140,
    description="a TODO comment in a function that a failure reaches",
    hint="A function on the way to the failure says itself that it is not finished.",
    detect=_comments("todo-marker", "TODO"),
)
FIXME_MARKER = Detector(
    id="fixme-marker",
    label="FIXME comment",
    priority=150,
    description="a FIXME comment in a function that a failure reaches",
    hint="A function on the way to the failure says itself that it is known to be wrong.",
    detect=_comments("fixme-marker", "FIXME"),
)


#: By number, as far as Linux and macOS agree, without those sent on purpose; out of memory is a kill.
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
_SHELL_OFFSET = 128
_FATAL = ("Fatal Python error", "Windows fatal exception")
# pytest-xdist, and pytest-forked in its place
_WORKER = lazy.pattern(
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
        yield Evidence(kind="crash", snippet=snippet, label=name)


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
    "recursion in C code, memory use, and calls of os._exit or os.abort."
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

#: Warnings of pytest that stand for an exception.
_EXCEPTIONS = ("PytestUnraisableExceptionWarning", "PytestUnhandledThreadExceptionWarning")
_CATEGORIES = (*_EXCEPTIONS, "PytestUnhandledCoroutineWarning")
#: Stands for a category where the text is from asyncio's log.
_LOGGER = "asyncio"
_NEVER_AWAITED = lazy.pattern(r"coroutine '[^'\n]{1,200}' was never awaited")
# asyncio/base_events.py and asyncio/tasks.py log these through the "asyncio" logger.
_LOGGED = lazy.pattern(
    r"^.{0,200}?(?:Task exception was never retrieved|Future exception was never retrieved"
    r"|Task was destroyed but it is pending!)",
    re.MULTILINE,
)
_LOGGED_GUARDS = ("exception was never retrieved", "Task was destroyed but it is pending!")
# The start of a process's message about an exception that was not handled.
_UNHANDLED = lazy.pattern(
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


def _unhandled_label(evidence: Evidence) -> str:
    is_warning = evidence.failure is None and evidence.label.endswith("Warning")
    return "warning" if is_warning and evidence.label not in _EXCEPTIONS else _UNHANDLED_LABEL


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
_UNHANDLED_LABEL = "unhandled exception outside of a test"
UNHANDLED_ASYNC = Detector(
    id="unhandled-async",
    label=_UNHANDLED_LABEL,
    priority=100,
    description="task exceptions never retrieved, coroutines never awaited, exceptions in threads and finalizers",
    hint="Something failed where no test could see it: in a task, a thread, a finalizer, or a coroutine that was not "
    "awaited.",
    detect=_unhandled,
    label_for=_unhandled_label,
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
