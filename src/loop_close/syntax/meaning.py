"""Digests of the functions of a module that do not depend on comments, formatting and docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import accumulate

from loop_close.records import Record
from loop_close.syntax import definitions, first_line, last_line

#: The name of the code outside of functions and classes.
MODULE = "<module>"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# In place of a definition inside of another: no name begins so.
_PLACEHOLDER = re.compile(r"Expr\(value=Name\(id='<([^']*)', ctx=Load\(\)\)\), ")
# An example in a docstring is a test. It extends to the next blank line, as in doctest.
_EXAMPLE = re.compile(r"^[ \t]*>>>.*(?:\n(?![ \t]*$).*)*", re.MULTILINE)


class CodePart(Record, frozen=True, kw_only=True):
    """A function, a class body, or the rest of a module; several definitions of one name are one part.

    :ivar name: as ``__qualname__`` spells it; :data:`MODULE` for the rest.
    :ivar start: its first line, from 1, decorators included.
    :ivar meaning: digest of its syntax tree, without its own name and without the parts inside it.
    :ivar inner: the names of the parts inside it, each with its place in the tree.
    :ivar size: the number of nodes in its tree; 0 for a module of only definitions and statements without effect.
    :ivar source: its own lines, without those of the parts inside it.
    :ivar is_function: whether any of its definitions is a function.
    """

    name: str
    start: int
    meaning: str
    inner: tuple[tuple[str, int], ...] = ()
    size: int = 0
    source: tuple[str, ...] = ()
    is_function: bool = False


def parts_of(source: str) -> dict[str, CodePart] | None:
    r"""Read the parts of a module, by name, in order of appearance.

    Syntax trees differ between Python versions. Digests can therefore be compared only within one process.

    :param source: a module whose lines end in ``\n``. The caller has to silence warnings of the parser: if they are
        errors, the source does not parse.
    :returns: None if the source is not valid for this Python version, or nested too deeply.
    """
    try:
        return _parts(ast.parse(source), source.removesuffix("\n").split("\n"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parts(tree: ast.Module, lines: list[str]) -> dict[str, CodePart]:
    nodes: dict[str, list[ast.AST]] = {MODULE: [tree]}
    starts = {MODULE: 1}
    owners = [MODULE] * len(lines)
    for node, name in definitions(tree):  # inner definitions come later
        start, end = first_line(node), last_line(node)
        nodes.setdefault(name, []).append(node)
        starts.setdefault(name, start)
        owners[start - 1 : end] = [name] * (end - start + 1)
    own: dict[str, list[str]] = {name: [] for name in nodes}
    for owner, line in zip(owners, lines, strict=True):
        own[owner].append(line)
    for each in [*ast.walk(tree)]:
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(each, field, None)
            if isinstance(statements, list):
                setattr(each, field, [*_effective(statements)])
    return {name: _part(name, nodes[name], starts[name], own[name]) for name in nodes}


def _effective(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that say something, with placeholders for definitions, and one ``pass`` behind them."""
    for each in statements:
        if isinstance(each, _DEFINITIONS):
            yield ast.Expr(ast.Name(f"<{each.name}", ast.Load()))
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            # In docstrings; other strings act as comments.
            examples = _EXAMPLE.findall(each.value.value) if isinstance(each.value.value, str) else ()
            for text in examples:
                yield ast.Expr(ast.Constant(" ".join(text.split())))
        elif not isinstance(each, ast.Pass):
            yield each
    yield ast.Pass()


def _part(name: str, nodes: list[ast.AST], start: int, own: list[str]) -> CodePart:
    for node in nodes:
        if isinstance(node, _DEFINITIONS):
            node.name = ""
    pieces = _PLACEHOLDER.split("".join(map(ast.dump, nodes)))  # every second one is a name
    text = "".join(pieces[::2])
    return CodePart(
        name=name,
        start=start,
        meaning=blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        inner=tuple(zip(pieces[1::2], accumulate(map(len, pieces[::2])), strict=False)),
        size=text.count("(") - text.count("ctx=") - text.count("Pass(") - 1,
        source=tuple(own),
        is_function=any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
    )
