"""Findings in source: of type checkers and linters, coverage, functions without a body, TODO and FIXME."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from loop_close.detectors.contract import Detector, claim_each
from loop_close.facts import origins, reached
from loop_close.model import Evidence, Failure, Observation


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
    """Each function with a body of ``...``, ``pass`` or only a docstring, once.

    A failing function has a body, so only the functions whose values were checked are looked at, and mypy's findings.
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
