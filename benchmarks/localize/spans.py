"""Which function a line belongs to, and the source text between two places of a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MODULE = "<module>"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A function or a class with its lines, decorators among them.

    :ivar name: as ``__qualname__`` spells it.
    """

    name: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Function(Definition):
    """A ``def``."""

    node: ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every ``def`` of a module, outer ones before those inside them."""
    return (found for found in definitions(tree) if isinstance(found, Function))


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[Definition]:
    """The same with classes."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, (*_DEFINITIONS, ast.ClassDef)):
            yield from definitions(child, prefix)
            continue
        name = prefix + child.name
        first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
        last = child.end_lineno or first
        if isinstance(child, ast.ClassDef):
            yield Definition(name=name, start=first, end=last)
            yield from definitions(child, f"{name}.")
        else:
            yield Function(name=name, start=first, end=last, node=child)
            yield from definitions(child, f"{name}.<locals>.")


def enclosing(found: Sequence[Definition], line: int) -> str:
    """The innermost of some definitions around a line, ``<module>`` where there is none."""
    around = [f for f in found if f.start <= line <= f.end]
    return max(around, key=lambda f: (f.start, -f.end)).name if around else MODULE


def split(source: str) -> list[str]:
    """Lines as Python's parser counts them, their ends kept: a form feed ends none."""
    return [f"{line}\n" for line in source.split("\n")]


class Text:
    """A source file whose syntax tree's places can be cut out of it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = split(source)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """Characters before a place whose column counts UTF-8 bytes, as ``ast`` counts."""
        head = self.lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(head)

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """Where a node begins and ends, in characters."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1 and 0, of a number of characters."""
        line = self.source.count("\n", 0, offset) + 1
        return line, offset - (self.source.rfind("\n", 0, offset) + 1)


class Resolver:
    """Functions by file and line, in a tree in which some files have another text."""

    def __init__(
        self, root: Path, instead: Mapping[str, str] | None = None, *, has_classes: bool = False
    ) -> None:
        """A resolver.

        :param has_classes: a line of a class body belongs to the class; otherwise to the module.
        """
        self._root = root
        self._instead = instead or {}
        self._definitions = definitions if has_classes else functions
        self._known: dict[str, list[Definition]] = {}

    def source(self, file: str) -> str:
        """The text of a file.

        :raises OSError: where there is none.
        """
        return (
            self._instead[file] if file in self._instead else (self._root / file).read_text(encoding="utf-8")
        )

    def function(self, file: str, line: int) -> str:
        """The innermost function around a line; ``<module>`` where the file cannot be read."""
        return enclosing(self.functions(file), line)

    def functions(self, file: str) -> Sequence[Definition]:
        """Those of a file; none where it cannot be read."""
        if file not in self._known:
            try:
                self._known[file] = list(self._definitions(ast.parse(self.source(file))))
            except (OSError, SyntaxError, ValueError):
                self._known[file] = []
        return self._known[file]
