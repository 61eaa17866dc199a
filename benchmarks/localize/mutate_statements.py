"""Faults in whole statements: results lost, statements gone, bodies unwritten, imports broken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.localize.mutation import Change, Context
from benchmarks.localize.spans import Text

_GONE = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


def returns(context: Context, node: ast.AST) -> Iterator[Change]:
    """``return None``, or the value alone, without the word that gives it back."""
    if isinstance(node, ast.Return) and node.value is not None:
        words = context.words(node.value)
        if words != "None":
            yield context.replace(node, "return None")
            yield context.replace(node, words)


def deletions(context: Context, node: ast.AST) -> Iterator[Change]:
    """``pass`` in the place of a statement that has an effect."""
    if isinstance(node, _GONE) or _is_call(node) or _is_kept(node):
        assert isinstance(node, ast.stmt)
        yield context.replace(node, "pass")


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)


def _is_kept(node: ast.AST) -> bool:
    """An assignment to an attribute or an item; the loss of a plain name would be a ``NameError``."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)


def unfinished(context: Context) -> Iterator[Change]:
    """A body whose first statement raises ``NotImplementedError``."""
    body = context.function.node.body
    is_documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    rest = body[1:] if is_documented else body
    if rest and isinstance(rest[0], ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
        yield context.replace(rest[0], "raise NotImplementedError")


def imports(text: Text, tree: ast.Module) -> Iterator[Change]:
    """A name that the imported module does not have, or a module that is not there."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__":
            for alias in node.names:
                start = text.span(alias)[0]
                if alias.name != "*":
                    yield Change(start, start + len(alias.name), f"{alias.name}_")
