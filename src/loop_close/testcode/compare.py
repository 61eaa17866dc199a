"""Compare two states of a test suite."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from loop_close.testcode.change import Kind, TestChange, excerpt
from loop_close.testcode.suite import Suite, Test, dotted


def compare_tests(
    before: Mapping[str, str],
    after: Mapping[str, str],
    code_before: Mapping[str, str] | None = None,
    code_after: Mapping[str, str] | None = None,
) -> tuple[TestChange, ...]:
    """Say what was done to the tests."""
    was, now = Suite(before), Suite(after)
    found: list[TestChange] = []
    for path in sorted(was.modules):
        if before[path] == after.get(path):
            continue
        for name, test in was.tests(path).items():
            other = now.tests(path).get(name)
            if other is None:
                found.append(_change(test, None, "deleted", "the test is gone"))
            elif _marks(other) - _marks(test):
                found.append(_change(test, other, "not-run", f"has `@{min(_marks(other) - _marks(test))}`"))
            elif _asserts(other) < _asserts(test):
                found.append(_change(test, other, "weakened", "asserts less"))
    return tuple(found)


def _marks(test: Test) -> set[str]:
    return {
        name
        for decorator in test.node.decorator_list
        if "skip" in (name := dotted(decorator)).lower() or "xfail" in name or "expectedFailure" in name
    }


def _asserts(test: Test) -> int:
    return sum(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and "assert" in dotted(node))
        for node in ast.walk(test.node)
    )


def _change(was: Test, now: Test | None, kind: Kind, what: str) -> TestChange:
    text = excerpt(now.home.source(now.node)) if now else ""
    line = now.node.lineno if now else 0
    return TestChange(was.module.path, was.name, kind, what, excerpt(was.home.source(was.node)), text, line)
