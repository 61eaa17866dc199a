"""The differences between two releases of a file, as units that can be put back to the older release one by one."""

from __future__ import annotations

import ast
import builtins
import copy
import symtable
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from benchmarks.localize.spans import MODULE, Text

KINDS = ("function", "class", "module")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_MODULE_NAMES = frozenset([*dir(builtins), "__file__", "__path__", "__annotations__"])


@dataclass(frozen=True, slots=True)
class Key:
    """What makes a unit the counterpart of one in another release.

    :ivar kind: one of :data:`KINDS`.
    :ivar name: of the function or the class, as ``__qualname__`` spells it; ``<module>``.
    :ivar target: the name that a statement binds, or the function that it calls; empty for functions.
    """

    kind: str
    name: str
    target: str = ""


def units(tree: ast.Module) -> dict[Key, ast.stmt]:
    """Functions, and simple statements of class bodies and of the module; none that has a namesake."""
    found = list(_units(tree, "", ""))
    counts = Counter(key for key, _ in found)
    return {key: node for key, node in found if counts[key] == 1}


def _units(parent: ast.AST, prefix: str, owner: str) -> Iterator[tuple[Key, ast.stmt]]:
    """Those inside a node.

    :param prefix: in front of the names of what is defined there.
    :param owner: the class whose body it is, ``<module>``, or empty where statements do not count.
    """
    owner = MODULE if isinstance(parent, ast.Module) else owner
    for child in ast.iter_child_nodes(parent):
        if isinstance(child, _DEFINITIONS):
            yield Key("function", prefix + child.name), child
            yield from _units(child, f"{prefix}{child.name}.<locals>.", "")
        elif isinstance(child, ast.ClassDef):
            yield from _units(child, f"{prefix}{child.name}.", prefix + child.name)
        elif isinstance(child, _SIMPLE):
            target = _target(child)
            if owner and target:
                yield Key("module" if owner == MODULE else "class", owner, target), child
        else:
            yield from _units(child, prefix, "")


def _target(node: ast.stmt) -> str:
    """The name that a statement binds, or the function that it calls. Names of versions do not count."""
    if isinstance(node, ast.Expr):
        return ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    name = targets[0]
    if len(targets) > 1 or not isinstance(name, ast.Name) or getattr(node, "value", None) is None:
        return ""
    is_of_release = name.id.startswith("__") or "version" in name.id.lower()
    return "" if is_of_release else name.id


def differing(newer: str, older: str) -> list[Key]:
    """The units that both have, not alike, in the order of the newer one.

    A function with the same signature and decorators whose statements differ; a statement that binds the same to
    something else. Docstrings, annotations and formatting do not count. Of functions inside each other only the
    innermost one counts, unless more than that differs.
    """
    now, before = units(ast.parse(newer)), units(ast.parse(older))
    return [key for key in now if key in before and _is_other(now[key], before[key])]


def _is_other(now: ast.stmt, before: ast.stmt) -> bool:
    if not isinstance(now, _DEFINITIONS):
        return type(now) is type(before) and _shape(now) != _shape(before)
    assert isinstance(before, _DEFINITIONS)
    return _signature(now) == _signature(before) and _own_body(now) != _own_body(before)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [type(node).__name__, _shape(node.args), *map(_shape, node.decorator_list)]


def _own_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The statements, without the bodies of functions among them."""
    return [_shape(statement, is_own=True) for statement in _statements(node)]


def _statements(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The body without the docstring, unless that is all of it."""
    return (node.body[1:] or node.body) if ast.get_docstring(node) is not None else node.body


def _shape(node: ast.AST, *, is_own: bool = False) -> str:
    return ast.dump(_Plain(is_own=is_own).visit(copy.deepcopy(node)))


class _Plain(ast.NodeTransformer):
    """Takes out what does not count."""

    def __init__(self, *, is_own: bool) -> None:
        self._is_own = is_own

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return self._plain(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return self._plain(node)

    def _plain(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        node.returns = None
        node.body = [ast.Pass()] if self._is_own else _statements(node)
        self.generic_visit(node)
        return node


def reverted(newer: str, older: str, key: Key) -> tuple[str, tuple[int, ...]]:
    """The newer file with one unit of the older one, and the lines of it that differ.

    Where the older one only lacks lines, the line after the gap stands for them, or the last one.

    :raises ValueError: if one of the files has no such unit, or the result is not valid syntax.
    """
    end = "\r\n" if "\r\n" in newer else "\n"
    older = older.replace("\r\n", "\n").replace("\n", end)
    now, before = Text(newer), Text(older)
    start, stop = _extent(now, key)
    first, last = _extent(before, key)
    indent = now.place(start)[1]
    if before.place(first)[1] != indent:
        raise ValueError(f"{key} is indented otherwise")
    changed = newer[:start] + older[first:last] + newer[stop:]
    ast.parse(changed)
    lines = _changed(older[first:last].split("\n"), newer[start:stop].split("\n"))
    return changed, tuple(now.place(start)[0] + line for line in lines)


def _extent(text: Text, key: Key) -> tuple[int, int]:
    node = units(ast.parse(text.source)).get(key)
    if node is None:
        raise ValueError(f"there is no {key}")
    body = _statements(node) if isinstance(node, _DEFINITIONS) else [node]
    start, end = text.span(body[0])[0], text.span(body[-1])[1]
    for decorator in getattr(body[0], "decorator_list", ()):
        start = min(start, text.offset(decorator.lineno, body[0].col_offset))
    return start, end


def _changed(before: list[str], now: list[str]) -> list[int]:
    """The lines, from 0, that are not in the newer text; blank ones and comments do not count."""
    old, new = _code(before), _code(now)
    texts = [text for _, text in old], [text for _, text in new]
    found: list[int] = []
    for tag, start, stop, _, _ in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if tag == "insert" and old:  # in the newer one
            start, stop = min(start, len(old) - 1), min(start, len(old) - 1) + 1
        if tag != "equal":
            found += [line for line, _ in old[start:stop]]
    return sorted(set(found)) or [0]


def _code(lines: list[str]) -> list[tuple[int, str]]:
    bare = ((number, line.strip()) for number, line in enumerate(lines))
    return [(number, text) for number, text in bare if text and not text.startswith("#")]


def unknown(changed: str, newer: str) -> set[str]:
    """Global names that are loaded in the changed file, not in the newer one, and not there."""
    top = symtable.symtable(changed, "changed.py", "exec")
    if any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(ast.parse(changed))):
        return set()
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    loaded = _globals(top) - _globals(symtable.symtable(newer, "newer.py", "exec"))
    return loaded - bound - _MODULE_NAMES


def _globals(table: symtable.SymbolTable) -> set[str]:
    found = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return found.union(*map(_globals, table.get_children()))


def defined(sources: Iterable[str]) -> frozenset[str]:
    """Every name that files define: functions, classes, parameters, variables, attributes, what they import."""
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (*_DEFINITIONS, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.alias):
                found.add(node.asname or node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return frozenset(found)


def outdated(older: str, key: Key, gone: frozenset[str]) -> set[str]:
    """The attributes, keywords and imported names that a unit uses and that only the older release defines."""
    found: set[str] = set()
    for node in ast.walk(units(ast.parse(older))[key]):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.name for alias in node.names)
    return found & gone


def reached(newer: str, key: Key, lines: Mapping[int, object] | set[int]) -> bool:
    """Whether one of the lines is among a unit's statements."""
    node = units(ast.parse(newer))[key]
    body = _statements(node) if isinstance(node, _DEFINITIONS) else [node]
    first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
    return any(first <= line <= last for line in lines)
