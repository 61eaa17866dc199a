"""Statements of modules and classes whose values functions load: tables, patterns, defaults."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from loop_close.calls import Called, Calls, Constant, sample
from loop_close.syntax import Function, SourceIndex, definitions, last_line

#: Finds a parsed file by its path; None if it cannot be parsed.
IndexOf = Callable[[str], SourceIndex | None]
# Failing tests that are looked at; of each the functions that set it apart the most.
_MOST_TESTS, _MOST_FUNCTIONS = 20, 40
# A registry may be filled by thousands of statements.
_MOST_STATEMENTS = 50
# Constants that are made of constants that are made of constants.
_DEEPEST = 3
#: A statement that binds a name, in the body of a module or class: file, class, name, node.
_Statement = tuple[str, str, str, ast.stmt]


def constants_of(calls: Calls, index_of: IndexOf) -> tuple[Constant, ...]:
    """The statements whose values are loaded in lines that failing tests ran, sorted by place.

    Those of a function's own module, of its class with the bases, and of modules that it imports names from. What
    their values are made of belongs to them.

    :param calls: what the tests called.
    """
    finder = _Finder(calls, index_of)
    loads: defaultdict[tuple[str, str, str, int, int], set[tuple[str, int]]] = defaultdict(set)
    for called in _unusual_functions(calls):
        for line, (file, owner, name, node) in finder.with_parts(finder.loaded_by(called)):
            loads[file, owner, name, node.lineno, last_line(node)].add((called.file, line))
    return tuple(
        Constant(file=file, line=line, end_line=end, owner=owner, name=name, loads=tuple(sorted(places)))
        for (file, owner, name, line, end), places in sorted(loads.items())
    )


def _unusual_functions(calls: Calls) -> list[Called]:
    """The functions that set the failing tests apart, in the order of the calls."""
    tests = sample(calls.failed, _MOST_TESTS)
    found = {index for test in tests for index in calls.unusual(test)[:_MOST_FUNCTIONS]}
    return [calls.functions[index] for index in sorted(found)]


class _Finder:
    """Finds what names refer to, by the text of the modules alone."""

    def __init__(self, calls: Calls, index_of: IndexOf) -> None:
        self._index_of = index_of
        self._files = sorted({*calls.modules, *(each.file for each in calls.functions)})
        ran = {hit for hits in calls.failed.values() for hit in hits}
        self._ran = {(calls.functions[index].file, line) for index, line in ran}
        functions = [calls.functions[index] for index in {index for index, _ in ran}]
        self._classes = sorted(
            {(each.file, owner) for each in functions if (owner := class_of(each.function))}
        )
        self._lineage = cache(self._read_lineage)
        self._bindings = cache(self._read_bindings)
        self._imports = cache(self._read_imports)

    def loaded_by(self, called: Called) -> Iterator[tuple[int, _Statement]]:
        """The line of each load, with file, class, name and statement of what it loads."""
        index = self._index_of(called.file)
        function = index.functions.get(called.line) if index is not None else None
        if function is None:
            return
        own = _local_names(function)
        owner = class_of(called.function)
        for node in ast.walk(function):
            if isinstance(node, ast.expr) and (called.file, node.lineno) in self._ran:
                match node:
                    case ast.Name(id=name, ctx=ast.Load()) if name not in own:
                        found = self._global(called.file, name)
                    case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Load()) if owner:
                        found = self._of_object(called.file, owner, name)
                    case ast.Attribute(value=ast.Name(id=base), attr=name, ctx=ast.Load()) if base not in own:
                        found = self._attribute(called.file, base, name)
                    case _:
                        found = []
                yield from ((node.lineno, each) for each in found)

    def with_parts(self, loads: Iterable[tuple[int, _Statement]]) -> Iterator[tuple[int, _Statement]]:
        """The loads, and those of the constants of modules that their values are made of."""
        level, seen = list(loads), set[tuple[int, int]]()
        for _ in range(_DEEPEST):
            yield from level
            parts = {
                (line, id(part[3])): (line, part)
                for line, (file, _, _, node) in level
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
                for part in self._global(file, each.id)
            }
            level = [part for key, part in parts.items() if key not in seen]
            seen |= parts.keys()

    def _of_object(self, file: str, owner: str, name: str) -> list[_Statement]:
        """An attribute of ``self``, as each of the classes with methods that ran has it."""
        found: dict[int, _Statement] = {}
        for line in (self._lineage(*cls) for cls in self._classes):
            if (file, owner) in line:
                bound = next(filter(None, (self._bound(*place, name) for place in line)), [])
                found.update({id(each[3]): each for each in bound})
        return list(found.values())

    def _read_lineage(self, file: str, owner: str) -> list[tuple[str, str]]:
        """The class with its bases, the nearest first, as (file, class)."""
        found = [(file, owner)]
        for path, name in found:  # grows by the bases
            tree = self._tree(path)
            nodes = [
                node for node, known in definitions(tree) if known == name and isinstance(node, ast.ClassDef)
            ]
            for base in nodes[-1].bases if nodes else ():
                base_name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                place = self._imports(path).get(base_name, (path, base_name))
                if place[0] and place not in found:
                    found.append(place)
        return found

    def _bound(self, file: str, owner: str, name: str) -> list[_Statement]:
        nodes = self._bindings(file).get((owner, name), [])
        return [(file, owner, name, node) for node in nodes[:_MOST_STATEMENTS]]

    def _global(self, file: str, name: str) -> list[_Statement]:
        """What a name of a module is bound to, there or in the module that it is imported from."""
        source, original = self._imports(file).get(name, ("", ""))
        return self._bound(file, "", name) or self._bound(source, "", original)

    def _attribute(self, file: str, base: str, name: str) -> list[_Statement]:
        """An attribute of a class or module that a name refers to."""
        source, original = self._imports(file).get(base, ("", ""))
        return self._bound(file, base, name) or self._bound(source, original, name)

    def _tree(self, file: str) -> ast.Module:
        """The tree of a file of the project; an empty one for any other."""
        index = self._index_of(file) if file in self._files else None
        return index.tree if index is not None else ast.Module([], [])

    def _read_bindings(self, file: str) -> dict[tuple[str, str], list[ast.stmt]]:
        """What the body of a module and its classes bind, by (qualified name of the class, else empty; name)."""
        found: dict[tuple[str, str], list[ast.stmt]] = {}
        for owner, name, node in _bound_in(self._tree(file).body):
            found.setdefault((owner, name), []).append(node)
        return found

    def _read_imports(self, file: str) -> dict[str, tuple[str, str]]:
        """By name the file that it is imported from, and its name there, which is empty for a module."""
        found = {}
        for node in self._tree(file).body:
            if isinstance(node, ast.ImportFrom):
                package = "." * node.level + (node.module or "")
                dot = "." if node.module else ""
                for each in node.names:
                    module = self._file_of(file, f"{package}{dot}{each.name}")
                    place = (module, "") if module else (self._file_of(file, package), each.name)
                    found[each.asname or each.name] = place
            elif isinstance(node, ast.Import):
                found.update(
                    {each.asname or each.name: (self._file_of(file, each.name), "") for each in node.names}
                )
        return found

    def _file_of(self, file: str, module: str) -> str:
        """The file of a module as another file names it; empty for one that is not the project's."""
        name = module.lstrip(".")
        level = len(module) - len(name)
        folders = file.split("/")[:-level] if level else []
        path = "/".join([*folders, *filter(None, name.split("."))])
        ends = (f"{path}.py", f"{path}/__init__.py")
        found = (
            known
            for end in ends
            for known in self._files
            if known == end or (not level and known.endswith(f"/{end}"))
        )
        return next(found, "")


def class_of(function: str) -> str:
    """The qualified name of the class whose method a function is, or is in; empty for none."""
    return function.partition(".<locals>")[0].rpartition(".")[0]


def _bound_in(body: Iterable[ast.stmt], owner: str = "") -> Iterator[tuple[str, str, ast.stmt]]:
    """What statements bind, as class, name and statement, those inside of conditions and of classes as well."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _bound_in(node.body, f"{owner}.{node.name}" if owner else node.name)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _bound_in(getattr(node, part, ()), owner)
        for target in _targets(node):
            yield from ((owner, each.id, node) for each in ast.walk(target) if isinstance(each, ast.Name))


def _targets(node: ast.stmt) -> list[ast.expr]:
    """What a statement binds, or whose objects it changes."""
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            return [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target))):
            return [target]
    return []


def _local_names(function: Function) -> set[str]:
    """Parameters and names that the function, or one inside of it, binds."""
    nodes = [*ast.walk(function)]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return bound | {node.arg for node in nodes if isinstance(node, ast.arg)}
