"""Digests of the functions of a module that do not depend on comments, formatting and docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any

#: The name of the code outside of functions and classes.
MODULE = "<module>"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: Node fields without a meaning of their own (``u"x"`` is ``"x"``), or implied by the place of the node.
_IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
_PLACEHOLDER = "<"  # no other token begins so: the rest are names of node classes, marks and reprs
# An example in a docstring is a test. It extends to the next blank line, as in doctest.
_EXAMPLE = re.compile(r"^[ \t]*>>>.*(?:\n(?![ \t]*$).*)*", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodePart:
    """A function, a class body, or the rest of a module; several definitions of one name are one part.

    :ivar name: as ``__qualname__`` spells it; :data:`MODULE` for the rest.
    :ivar start: its first line, from 1, decorators included; ``end`` the last line.
    :ivar meaning: digest of its syntax tree without its own name; parts inside it count only by name and position.
    :ivar statements: the digest without the parts inside it; ``inner`` are their names.
    :ivar size: the number of nodes in its tree; 0 for a module of only definitions and statements without effect.
    :ivar source: its own lines, without those of the parts inside it.
    :ivar is_function: whether any of its definitions is a function.
    """

    name: str
    start: int
    end: int
    meaning: str
    statements: str = ""
    inner: frozenset[str] = frozenset()
    size: int = 0
    source: tuple[str, ...] = ()
    is_function: bool = False


@dataclass(slots=True)
class _Scope:
    """A part under construction; ``spans`` are the lines of its definitions, including parts inside."""

    prefix: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    inner: set[str] = field(default_factory=set)
    size: int = -1
    is_function: bool = False


def parts_of(source: str) -> dict[str, CodePart] | None:
    r"""Read the parts of a module, by name, in order of appearance.

    Syntax trees differ between Python versions. Digests can therefore be compared only within one process.

    :param source: a module whose lines end in ``\n``. The caller has to silence warnings of the parser: if they are
        errors, the source does not parse.
    :returns: None if the source is not valid for this Python version, or nested too deeply.
    """
    try:
        lines = source.removesuffix("\n").split("\n")
        return _parts(_scopes_of(ast.parse(source), len(lines)), lines)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _scopes_of(tree: ast.Module, lines: int) -> dict[str, _Scope]:
    """Collect the parts of a tree; without recursion, as a sum of a thousand terms is a thousand levels deep."""
    scopes = {MODULE: _Scope(prefix="", spans=[(1, lines)])}
    stack: list[tuple[ast.AST, _Scope]] = [(tree, scopes[MODULE])]
    while stack:
        node, scope = stack.pop()
        for child in reversed(_read(node, scope)):
            if isinstance(child, _DEFINITIONS):
                stack.append((child, _enter(child, scope.prefix, scopes)))
            else:
                stack.append((child, scope))
    return _by_line(scopes)


def _by_line(scopes: dict[str, _Scope]) -> dict[str, _Scope]:
    # The walk enters the definitions of each owner from the last to the first.
    for scope in scopes.values():
        scope.spans.sort()
    return dict(sorted(scopes.items(), key=lambda item: (item[0] != MODULE, item[1].spans[0])))


def _enter(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, prefix: str, scopes: dict[str, _Scope]
) -> _Scope:
    name = prefix + node.name
    inside = "." if isinstance(node, ast.ClassDef) else ".<locals>."
    scope = scopes.setdefault(name, _Scope(prefix=name + inside))
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    scope.spans.append((start, node.end_lineno or start))
    scope.is_function |= not isinstance(node, ast.ClassDef)
    return scope


def _read(node: ast.AST, scope: _Scope) -> list[ast.AST]:
    """Add one node to the tokens of its part.

    :returns: its children in order.
    """
    kind: Any = node.__class__
    children: list[ast.AST] = []
    add = scope.tokens.append
    add(kind.__name__)
    scope.size += 1
    for name in _fields(kind):
        value = getattr(node, name, None)
        if isinstance(value, list):
            add("[")
            for item in value:
                _read_item(item, scope, children, add)
            add("]")
        elif isinstance(value, ast.AST):
            add(".")
            children.append(value)
        else:
            add(repr(value))
    return children


def _read_item(item: object, scope: _Scope, children: list[ast.AST], add: Callable[[str], None]) -> None:
    if not isinstance(item, ast.AST):
        add(repr(item))
    elif isinstance(item, _DEFINITIONS):
        add(_PLACEHOLDER + item.name)
        scope.inner.add(item.name)
        children.append(item)
    elif item.__class__ is ast.Pass:
        pass
    elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
        for example in _examples(item.value.value):  # in docstrings; other string statements act as comments
            add(example)
    else:
        add(".")
        children.append(item)


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    own_name = {"name"} if issubclass(kind, _DEFINITIONS) else set()
    return tuple(name for name in kind._fields if name not in _IGNORED_FIELDS | own_name)


def _examples(value: object) -> list[str]:
    if not isinstance(value, str) or ">>>" not in value:
        return []
    return [repr([line.strip() for line in text.splitlines()]) for text in _EXAMPLE.findall(value)]


def _parts(scopes: dict[str, _Scope], lines: list[str]) -> dict[str, CodePart]:
    owners = [MODULE] * len(lines)
    spans = ((*span, name) for name, scope in scopes.items() if name != MODULE for span in scope.spans)
    for start, end, name in sorted(spans):  # inner definitions start later
        owners[start - 1 : end] = [name] * (end - start + 1)
    own: dict[str, list[str]] = {name: [] for name in scopes}
    for owner, line in zip(owners, lines, strict=True):
        own[owner].append(line)
    return {name: _part(name, scope, own[name]) for name, scope in scopes.items()}


def _part(name: str, scope: _Scope, own: list[str]) -> CodePart:
    return CodePart(
        name=name,
        start=scope.spans[0][0],
        end=scope.spans[-1][1],
        meaning=_digest(scope.tokens),
        statements=_digest([token for token in scope.tokens if not token.startswith(_PLACEHOLDER)]),
        inner=frozenset(scope.inner),
        size=scope.size,
        source=tuple(own),
        is_function=scope.is_function,
    )


def _digest(tokens: list[str]) -> str:
    return blake2b("\0".join(tokens).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
