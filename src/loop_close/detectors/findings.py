"""Findings in failures and in source: failed tests, failed collection, checkers, coverage, empty functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from loop_close.detectors.contract import Detector, claim_each
from loop_close.facts import (
    is_a,
    is_about_a_file,
    is_about_import_cycle,
    is_about_no_exception,
    is_assertion,
    is_misuse,
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


def _is_syntax_error(failure: Failure) -> bool:
    """Whether a file cannot be parsed. A test that parses a string of its own and fails is a test failure."""
    return is_a(failure.raised, "SyntaxError") and is_about_a_file(failure.raised)


SYNTAX_ERROR = Detector(
    id="syntax-error",
    label="syntax error",
    priority=20,
    description="a source file that Python cannot parse",
    hint="A file that does not parse hides every test that imports it. The fault is on the line shown or just "
    "before it.",
    detect=claim_each("syntax-error", _is_syntax_error),
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

# The message of pytest-xdist, in xdist/report.py.
_DIFFERENT = re.compile(r"Different tests were collected between ")


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
    if _DIFFERENT.search(failure.message):
        return "Test ids must be the same in every worker: not from the order of a set, the clock or a random value."
    return "Tests that cannot be collected do not run at all, so nothing is known about them yet."


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
_PYTEST_TIMEOUT = re.compile(r"\ATimeout \(?>")
_TIMEOUT_TYPE = re.compile(r"Time(?:d)?Out(?:Error|Expired|Exception)?\Z", re.IGNORECASE)


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
    hint="The frame shown is where the time limit was reached. A loop that does not end, a lock that is not released, "
    "a queue that stays empty, a network or subprocess that does not answer are the usual reasons.",
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
    detect=claim_each("lint-error", _is_found_by("ruff", "flake8")),
    advise=_lint_advice,
)


def _is_below_limit(failure: Failure) -> bool:
    return failure.phase == "check" and (failure.tool, failure.code) == ("coverage", "fail-under")


COVERAGE_BELOW = Detector(
    id="coverage-below",
    label="coverage shortfall",
    priority=120,
    description="coverage below the limit that the project sets (fail_under)",
    hint="The tests pass, but too little code runs in them: tests are missing for the lines that the coverage "
    "report lists as missed. The limit itself is the project's decision.",
    detect=claim_each("coverage-below", _is_below_limit),
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
    hint="The function named has no body yet and so returns None to whoever calls it.",
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
