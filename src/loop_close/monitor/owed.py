"""Whether a function owes a value, by its source: its annotation says so, or it never gives what it works out.

Or whether it may give None, as the annotation says as well.
"""

from __future__ import annotations

import ast
import re
import tokenize
from types import CodeType

from loop_close.monitor.codes import gives_values
from loop_close.syntax.index import Function, SourceIndex, index_source

# Annotations that None fits, or that end no call; single capitals are type variables.
_FITS = re.compile(r"\b(None|Optional|Any|object|NoReturn|Never|_?[A-Z]|_?[A-Z][A-Za-z]*T)\b")


class Owed:
    """Looks functions up in their files, each of which is read once."""

    def __init__(self) -> None:
        self._files: dict[str, SourceIndex | None] = {}

    def is_owed(self, code: CodeType) -> bool:
        """Whether None out of a function is odd; not so where its source cannot be read."""
        node = self._node(code)
        return node is not None and _owes(node, code)

    def is_meant(self, code: CodeType) -> bool:
        """Whether None is one of the values that it is annotated with."""
        node = self._node(code)
        try:
            return node is not None and node.returns is not None and _has_none(node.returns)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # of a text that is no annotation
            return False

    def _node(self, code: CodeType) -> Function | None:
        if code.co_filename not in self._files:
            self._files[code.co_filename] = _index(code.co_filename)
        index = self._files[code.co_filename]
        return index.functions.get(code.co_firstlineno) if index is not None else None


def _index(file: str) -> SourceIndex | None:
    try:
        with tokenize.open(file) as source:
            return index_source(source.read())
    except (OSError, SyntaxError, ValueError):
        return None


def _owes(node: Function, code: CodeType) -> bool:
    if node.returns is None:
        return not gives_values(code) and not all(map(_does_nothing, node.body))
    return not _FITS.search(ast.unparse(node.returns))


def _does_nothing(statement: ast.stmt) -> bool:
    """As in a method that is there to be overridden."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _has_none(annotation: ast.expr) -> bool:
    """Whether it is None, or a union with it: ``Callable[[], None]`` is neither."""
    match annotation:
        case ast.Constant(value=str(text)):
            return _has_none(ast.parse(text.strip(), mode="eval").body)
        case ast.Constant(value=value):
            return value is None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _has_none(left) or _has_none(right)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            members = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return name == "Optional" or (name == "Union" and any(map(_has_none, members)))
    return False
