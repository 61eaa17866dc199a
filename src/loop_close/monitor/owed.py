"""Whether a function owes a value, by its source: its annotation says so, or it never gives what it works out."""

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
        if code.co_filename not in self._files:
            self._files[code.co_filename] = _index(code.co_filename)
        index = self._files[code.co_filename]
        node = index.functions.get(code.co_firstlineno) if index is not None else None
        return node is not None and _owes(node, code)


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
