"""A test that fails in some environments only: which code they alone run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from loop_close.facts import sides, with_other_ids
from loop_close.model import Observation, Provenance, Report, RootCause, SourceResult, Suspect
from loop_close.syntax import SourceIndex, lines_of

#: By how much it is likelier to be at fault for behaving differently in the environments that fail: an assumption, as
#: there is no body of real faults to measure it on.
_ODDS = 10
#: A probability for what nothing else speaks for.
_LEAST = 0.05
_MOST_NEW = 3
# A root cause with a suspect of this probability is explained by itself.
_CLEAR = 0.5
#: How the reasons end that a function behaves differently there.
_DIFFERS = "only where it fails"
_OPERATORS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lt,
    ast.LtE: le,
    ast.Gt: gt,
    ast.GtE: ge,
    ast.Eq: eq,
    ast.NotEq: ne,
}


def narrowed(report: Report, index_of: Callable[[str], SourceIndex | None]) -> Report:
    """The report of several sources, its suspects weighed by where each root cause fails and where its tests pass.

    :param index_of: the parsed source of a file, by its name relative to the root; None for what cannot be parsed.
    """
    causes = [_narrowed(cause, report, index_of) for cause in report.causes]
    return _with_callers(replace(report, causes=tuple(causes)), index_of)


def _with_callers(report: Report, index_of: Callable[[str], SourceIndex | None]) -> Report:
    """The report; what fails in the same sources, and where a suspect calls the function that differs there, is one.

    Where calls are not known, each caller has a root cause of its own.
    """
    differing = {
        name: cause
        for cause in reversed(report.causes)
        if cause.suspects and any(_DIFFERS in reason for reason in cause.suspects[0].reasons)
        for name in [cause.suspects[0].function.rpartition(".")[2]]
    }
    hosts: dict[str, str] = {}
    for cause in report.causes if differing else ():
        if cause.suspects and cause.suspects[0].score >= _CLEAR:
            continue
        names = {name for suspect in cause.suspects for name in _names_in(suspect, index_of)}
        for name in sorted(names & differing.keys()):
            host = differing[name]
            if host.id not in (cause.id, hosts.get(cause.id)) and _where(host, report) == _where(
                cause, report
            ):
                hosts.setdefault(cause.id, host.id)
    hosts = {guest: host for guest, host in hosts.items() if host not in hosts}
    guests = {
        host: [e for each in report.causes if hosts.get(each.id) == host for e in each.evidence]
        for host in hosts.values()
    }
    causes = (
        replace(each, evidence=(*each.evidence, *guests.get(each.id, ())))
        for each in report.causes
        if each.id not in hosts
    )
    return replace(report, causes=tuple(causes), sources=with_other_ids(report.sources, hosts))


def _where(cause: RootCause, report: Report) -> tuple[list[str], list[str]]:
    failing, passing = sides(cause, report)
    return [each.source for each in failing], [each.source for each in passing]


def _names_in(suspect: Suspect, index_of: Callable[[str], SourceIndex | None]) -> Iterator[str]:
    """The names of the functions, and of the methods of its own object, that the suspect calls."""
    index = index_of(suspect.file) if not suspect.constant else None
    first, last = lines_of(index, suspect.function, suspect.line) if index is not None else (0, 0)
    for node in ast.walk(index.tree) if index is not None and first else ():
        if isinstance(node, ast.Call) and first <= node.lineno <= last:
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("self", "cls"):
                yield node.func.attr


def _narrowed(cause: RootCause, report: Report, index_of: Callable[[str], SourceIndex | None]) -> RootCause:
    failing, passing = sides(cause, report)
    if not failing or not passing:
        return cause
    reasons_of = {
        **_by_branches(cause.suspects, _made(failing), _made(passing), index_of),
        **_by_calls(cause, failing, passing),
    }
    if not reasons_of:
        return cause
    known = {(each.file, each.function) for each in cause.suspects}
    new = [
        Suspect(file=f, line=0, function=name, score=_LEAST)
        for f, name in reasons_of
        if (f, name) not in known
    ]
    found = [*cause.suspects, *new[:_MOST_NEW]]
    weights = [each.score * (_ODDS if (each.file, each.function) in reasons_of else 1) for each in found]
    rest = max(0.0, 1 - sum(each.score for each in found))
    whole = sum(weights) + rest
    weighed = [
        replace(
            each,
            score=weight / whole,
            reasons=(*reasons_of.get((each.file, each.function), ()), *each.reasons),
        )
        for each, weight in zip(found, weights, strict=True)
    ]
    return replace(cause, suspects=tuple(sorted(weighed, key=lambda each: -each.score)))


def _made(sources: Sequence[SourceResult]) -> list[Provenance]:
    return [each.observation.provenance for each in sources]


def _by_calls(
    cause: RootCause, failing: Sequence[SourceResult], passing: Sequence[SourceResult]
) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Functions with lines that the failing tests run where they fail, and no test runs where they pass."""
    tests = {e.failure.nodeid for e in cause.evidence if e.failure is not None}
    if not all(_is_complete(each.observation) for each in passing):
        return {}
    there = {line for each in passing for line in _lines(each.observation, None)}
    here = [lines for each in failing if (lines := {*_lines(each.observation, tests)})]
    if not here:
        return {}
    only: dict[tuple[str, str], list[int]] = {}
    for file, function, line in sorted(set.intersection(*here) - there):
        only.setdefault((file, function), []).append(line)
    return {key: (f"{_in_words(lines)} {_DIFFERS}",) for key, lines in only.items()}


def _is_complete(observation: Observation) -> bool:
    calls = observation.calls
    return calls is not None and not (calls.omitted or calls.passed_over or calls.remembered)


def _lines(observation: Observation, tests: set[str] | None) -> Iterator[tuple[str, str, int]]:
    """File, function and line of what these failing tests ran; for None, of what any test or import ran."""
    calls = observation.calls
    if calls is None:
        return
    for test, ran in calls.failed.items():
        if tests is None or test in tests:
            for index, line in ran:
                yield calls.functions[index].file, calls.functions[index].function, line
    if tests is None:
        for each in calls.functions:
            yield from ((each.file, each.function, line) for line in (*each.lines, *each.at_import))


def _in_words(lines: Sequence[int]) -> str:
    return f"line {lines[0]} runs" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]} run"


def _by_branches(
    suspects: Sequence[Suspect],
    failing: Sequence[Provenance],
    passing: Sequence[Provenance],
    index_of: Callable[[str], SourceIndex | None],
) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Suspects with a condition on the interpreter or the platform that holds for one side alone."""
    found = {}
    for suspect in suspects:
        index = index_of(suspect.file) if not suspect.constant else None
        if index is None:
            continue
        first, last = lines_of(index, suspect.function, suspect.line)
        for node in ast.walk(index.tree):
            if isinstance(node, ast.If | ast.IfExp) and first <= node.test.lineno <= last:
                here = {_holds(node.test, made) for made in failing}
                there = {_holds(node.test, made) for made in passing}
                if len(here) == len(there) == 1 and here | there == {True, False}:
                    reason = f"the condition in line {node.test.lineno} is {here.pop()} {_DIFFERS}"
                    found[suspect.file, suspect.function] = (reason,)
                    break
    return found


def _holds(node: ast.expr, made: Provenance) -> bool | None:
    """Whether a condition holds for an interpreter and a platform; None if it depends on something else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _holds(node.operand, made)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        values = {_holds(each, made) for each in node.values}
        decisive = isinstance(node.op, ast.Or)
        return decisive if decisive in values else None if None in values else not decisive
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node.ops[0], _value(node.left, made), _value(node.comparators[0], made))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        text, part = _value(node.func.value, made), _value(node.args[0], made)
        is_known = node.func.attr == "startswith" and isinstance(text, str) and isinstance(part, str)
        return text.startswith(part) if is_known else None
    return None


def _compared(operator: ast.cmpop, left: Any, right: Any) -> bool | None:
    if left is None or right is None or type(left) is not type(right):
        return None
    if isinstance(left, tuple) and left[:2] == right[:2] and min(len(left), len(right)) > 2:
        return None  # it is about the micro version, which is not known
    try:
        return bool(_OPERATORS[type(operator)](left, right))
    except (KeyError, TypeError):  # such as tuples of texts and numbers
        return None


def _value(node: ast.expr, made: Provenance) -> Any:
    """A literal, or what ``sys`` says there; None if that is unknown."""
    text = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Subscript) else ""
    name, _, version = made.interpreter.partition("-")
    numbers = tuple(int(part) for part in version.split(".") if part.isdecimal())
    if len(numbers) == 2:
        # Whatever else the version has makes it larger than the two numbers alone.
        known: dict[str, Any] = {"": (*numbers, 0), "[:2]": numbers}
        known |= {"[0]": numbers[0], ".major": numbers[0], "[1]": numbers[1], ".minor": numbers[1]}
        if text.startswith("sys.version_info") and (part := text.removeprefix("sys.version_info")) in known:
            return known[part]
    if text == "sys.platform":
        return made.platform or None
    if text == "sys.implementation.name":
        return name or None
    if isinstance(node, ast.Tuple):
        parts = tuple(_value(each, made) for each in node.elts)
        return None if None in parts else parts
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | str) else None
