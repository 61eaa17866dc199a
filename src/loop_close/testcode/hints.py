"""Product code that looks made for the tests: reported as a hint, never as a verdict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from loop_close.testcode.nodes import constant, dotted
from loop_close.testcode.suite import FUNCTIONS, Module

_DETECTS = re.compile(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|PYTEST_XDIST|['\"](?:_pytest|pytest|unittest)['\"]\s+(?:not\s+)?in\s+sys\.modules"
    r"|sys\.modules\.get\(['\"](?:_?pytest|unittest)['\"]|(?:pytest|unittest)[^\n]{0,40}sys\.argv|sys\.argv[^\n]{0,40}(?:py)?test"
    r"|sys\.modules\[['\"](?:_?pytest|unittest)['\"]"
)

_FRAMES = re.compile(r"_getframe|currentframe|inspect\.stack|f_code|co_name")
_TEST_NAME = re.compile(r"['\"]test_?\w*['\"]")


def hints(
    before: Mapping[str, str], after: Mapping[str, str], tests: Mapping[str, str]
) -> Iterator[TestChange]:
    """What stands in edited product files since.

    :param before: path and text of product files, as they were; ``after``: as they are.
    :param tests: the tests, whose inputs and expectations are looked for.
    """
    wanted: set[tuple[str, str]] | None = None
    for path, text in sorted(after.items()):
        was = before.get(path, "")
        if not path.endswith(".py") or text == was:
            continue
        old, new = Module(path, was), Module(path, text)
        if new.tree is None:
            continue
        known = set(was.splitlines())
        for number, line in enumerate(text.splitlines(), 1):
            if line in known:
                continue
            what = "detects the test run" if _DETECTS.search(line) else _asks_for_test(line, tests)
            if what:
                yield TestChange(path, "", "hint", f"{what}: `{line.strip()[:120]}`", "", line, number)
        earlier = {ast.dump(node) for node in ast.walk(old.tree or ast.Module([], []))}
        for node in ast.walk(new.tree):
            if not isinstance(node, (*FUNCTIONS, ast.If, ast.Dict, ast.Return, ast.Assign)):
                continue
            if ast.dump(node) in earlier:
                continue
            if isinstance(node, (ast.Return, ast.Assign)):
                what = _equals_all(node)
                if what:
                    yield TestChange(path, "", "hint", what, "", excerpt(new.source(node)), node.lineno)
                continue
            if isinstance(node, FUNCTIONS) and node.name in ("__eq__", "__ne__", "__bool__", "__contains__"):
                returned = [constant(n.value) for n in ast.walk(node) if isinstance(n, ast.Return)]
                is_same = bool(returned) and all(value is (node.name != "__ne__") for value in returned)
                if is_same and node.name != "__bool__":
                    what = f"`{node.name}` always returns {returned[0]}"
                    yield TestChange(path, "", "hint", what, "", excerpt(new.source(node)), node.lineno)
                continue
            if isinstance(node, FUNCTIONS):
                continue
            if wanted is None:
                wanted = set(_answers(tests))
            for asked, answer in _literal_answers(node):
                if (repr(asked), repr(answer)) in wanted:
                    what = f"returns {answer!r} for exactly {asked!r}, as a test has it"
                    yield TestChange(path, "", "hint", what, "", excerpt(new.source(node)), node.lineno)


def _asks_for_test(line: str, tests: Mapping[str, str]) -> str:
    """Whether a line asks which test calls it, or names a file of tests."""
    if _FRAMES.search(line) and _TEST_NAME.search(line):
        return "asks which test calls it"
    named = re.findall(r"[\w./-]+\.py\b", line)
    ends = tuple(f"/{name}" for name in named)
    return "names a file of tests" if any(path.endswith(ends) for path in tests) else ""


def _equals_all(node: ast.Return | ast.Assign) -> str:
    """Whether what is returned, or an ``__eq__`` that is assigned, is equal to everything."""
    match node:
        case ast.Return(value=ast.Name(id="ANY") | ast.Attribute(attr="ANY")):
            return "returns `ANY`, which is equal to everything"
        case ast.Assign(targets=[ast.Name(id="__eq__")], value=ast.Lambda(body=body)) if (
            constant(body) is True
        ):
            return "`__eq__` always returns True"
    return ""


def _literal_answers(node: ast.AST) -> Iterator[tuple[object, object]]:
    """Input and result of ``if x == INPUT: return RESULT``, and of a table of them."""
    match node:
        case ast.If(
            test=ast.Compare(ops=[ast.Eq()], comparators=[right], left=left),
            body=[*_, ast.Return(value=value)],
        ):
            for side in (left, right):
                if constant(side) is not ... and constant(value) is not ...:
                    yield constant(side), constant(value)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if constant(key) is not ... and constant(value) is not ...:
                    yield constant(key), constant(value)


def _answers(tests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Arguments and expectations of the tests: of each comparison of a call with a literal, and of parameters."""
    for path, text in sorted(tests.items()):
        tree = Module(path, text).tree if path.endswith(".py") else None
        for node in ast.walk(tree) if tree is not None else ():
            match node:
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                    yield from _pairs(left, right)
                case ast.Call(args=[left, right, *_]) if dotted(node.func).endswith("assertEqual"):
                    yield from _pairs(left, right)
                case ast.Tuple(elts=[*inputs, expected]) if constant(expected) is not ...:
                    for given in inputs:
                        if constant(given) is not ...:
                            yield repr(constant(given)), repr(constant(expected))


def _pairs(left: ast.expr, right: ast.expr) -> Iterator[tuple[str, str]]:
    for call, expected in ((left, right), (right, left)):
        if isinstance(call, ast.Call) and constant(expected) is not ...:
            values = [constant(arg) for arg in call.args]
            for value in values if ... not in values else []:
                yield repr(value), repr(constant(expected))
            if len(values) > 1 and ... not in values:
                yield repr(tuple(values)), repr(constant(expected))


# What was done to a test, in one record.

Kind = Literal["deleted", "not-run", "weakened", "replaced", "unclear", "not-compared", "hint"]

#: What is said of a test whose new name an entry of the setting ``known`` matches.
BY_KNOWN = "is named by `known`: its failure does not count"
_MAX_LINES = 12
_MAX_WIDTH = 200


@dataclass(frozen=True)
class TestChange:
    """What was done to a test since the baseline.

    :ivar file: relative, with "/"; the old name if the file is gone.
    :ivar test: qualified name, ``TestCart.test_total``; empty for a file or a configuration, the name of a hook or
        fixture for a conftest.
    :ivar kind: ``deleted``, ``not-run`` (skipped, deselected, no longer collected), ``weakened`` (it demands less),
        ``replaced`` (what it tests is patched away), ``unclear`` (a person has to look), ``not-compared`` (it is
        too large, or too much changed at once), ``hint`` (product code).
    :ivar what: one plain clause with the facts.
    :ivar before: the changed lines as they were; ``after``: as they are now.
    :ivar line: in the file as it is now, 0 where there is none.
    """

    __test__ = False  # pytest would take the name for a test class

    file: str
    test: str
    kind: Kind
    what: str
    before: str = ""
    after: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """The node id of pytest, or the path of the file."""
        return "::".join([self.file, *self.test.split(".")]) if self.test else self.file

    @property
    def blocks(self) -> bool:
        """Whether a green run is not enough until the change is undone or accepted."""
        return self.kind != "hint"


def fingerprint(change: TestChange) -> str:
    """Identify exactly this change: another edit of the same test has another fingerprint."""
    parts = (change.id, change.kind, change.what, change.before, change.after)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_named_by_known(what: str) -> bool:
    """Whether a change is, or may be, such a test; the facts may have been cut to be shown."""
    return what.startswith("now `") and what.endswith((BY_KNOWN, "…"))


def excerpt(text: str) -> str:
    """The first lines of a text, each cut to a readable width."""
    lines = [line[:_MAX_WIDTH] for line in text.strip("\n").split("\n")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"… {len(lines) - _MAX_LINES + 1} more lines"]
    return "\n".join(lines)
