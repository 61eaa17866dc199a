"""Statements of modules and classes whose values functions load: tables, patterns, defaults."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import NamedTuple

from loop_close.calls import Called, Calls, Constant, sample
from loop_close.syntax import Function, SourceIndex, first_line
from loop_close.syntax.uses import bound_names

#: Finds the parsed file by its path; None if it cannot be parsed.
IndexOf = Callable[[str], SourceIndex | None]
#: File and qualified name of a class.
_ClassName = tuple[str, str]

# Failing tests that are looked at; of each the functions that set it apart the most.
_MOST_TESTS, _MOST_FUNCTIONS = 20, 40
_MOST_FILES = 40
# Statements that are looked at for one name, and pairs of a line and a statement: a registry may be filled in thousands
# of statements, of which one is named.
_MOST_STATEMENTS, _MOST_LOADS = 500, 50_000
# Constants that are made of constants that are made of constants, and names that are imported from one module by way
# of others.
_DEEPEST = 4
# What methods call the object, and the class, that they belong to.
_SELF = ("self", "cls")


class _Load(NamedTuple):
    """A name that is read in a line, or an attribute of ``base``."""

    line: int
    base: str
    name: str


class _BodyStatement(NamedTuple):
    """A statement that binds a name in the body of a module, or of the class ``owner``."""

    file: str
    owner: str
    name: str
    node: ast.stmt


@dataclass(slots=True)
class _ClassBody:
    bases: Sequence[str]
    binds: dict[str, list[_BodyStatement]] = field(default_factory=dict)


@dataclass(slots=True)
class _ModuleBody:
    """What the body of a module binds, and those of its classes.

    :ivar imports: by name the module that it is imported from, and its name there; that is empty for a module.
    """

    index: SourceIndex
    binds: dict[str, list[_BodyStatement]] = field(default_factory=dict)
    classes: dict[str, _ClassBody] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


def constants_of(calls: Calls, index_of: IndexOf) -> tuple[Constant, ...]:
    """The statements whose values are loaded in lines that failing tests ran, sorted by place.

    Only functions that few passing tests ran in the same way are searched, and only files of the code under test.

    :param calls: what the tests called.
    """
    finder = _Finder(calls, index_of)
    loads: defaultdict[_BodyStatement, set[tuple[str, int]]] = defaultdict(set)
    classes: defaultdict[_BodyStatement, set[_ClassName]] = defaultdict(set)
    anywhere: set[_BodyStatement] = set()  # not by way of an object alone
    direct: set[tuple[_BodyStatement, tuple[str, int]]] = set()
    # All that functions load comes before its parts: those of a registry may be in more files than are read.
    found = [(called.file, each) for called in unusual_functions(calls) for each in finder.loaded_by(called)]
    finder.read_more()
    pairs = ((file, line, cls, part) for file, (line, cls, own) in found for part in finder.with_parts(own))
    for file, line, cls, (binding, is_part) in islice(pairs, _MOST_LOADS):
        loads[binding].add((file, line))
        if not is_part:
            direct.add((binding, (file, line)))
        if cls is None:
            anywhere.add(binding)
        else:
            classes[binding].add(cls)
    return tuple(
        sorted(
            Constant(
                file=each.file,
                line=each.node.lineno,
                end_line=each.node.end_lineno or each.node.lineno,
                owner=each.owner,
                name=each.name,
                loads=tuple(sorted(places)),
                classes=() if each in anywhere else tuple(sorted(classes[each])),
                parts=tuple(sorted(place for place in places if (each, place) not in direct)),
            )
            for each, places in loads.items()
        )
    )


def unusual_functions(calls: Calls) -> list[Called]:
    """The functions that set the failing tests apart, in the order of the calls."""
    tests = sample(calls.failed, _MOST_TESTS)
    found = {index for test in tests for index in calls.unusual(test)[:_MOST_FUNCTIONS]}
    return [calls.functions[index] for index in sorted(found)]


class _Finder:
    """Finds what names refer to, by the text of the modules alone."""

    def __init__(self, calls: Calls, index_of: IndexOf) -> None:
        self._index_of = index_of
        self._files = sorted({*calls.modules, *(each.file for each in calls.functions)})
        self._modules: dict[str, _ModuleBody | None] = {}
        self._most_files = _MOST_FILES
        ran = {hit for hits in calls.failed.values() for hit in hits}
        self._ran = {(calls.functions[index].file, line) for index, line in ran}
        functions = [calls.functions[index] for index in sorted({index for index, _ in ran})]
        self._classes = sorted({(f.file, owner) for f in functions if (owner := class_of(f.function))})
        self._values = cache(self._find_values)
        self.with_parts = cache(self._with_parts)
        self._lineage = cache(self._find_lineage)
        self._file_of = cache(self._find_file)

    def read_more(self) -> None:
        """Allow as many more files to be read."""
        self._most_files += _MOST_FILES

    def loaded_by(
        self, called: Called
    ) -> Iterator[tuple[int, _ClassName | None, tuple[_BodyStatement, ...]]]:
        """The line, the class that an object has to be of for that, and what it loads then."""
        module = self._module(called.file)
        node = module.index.functions.get(called.line) if module is not None else None
        if module is None or node is None:
            return
        around = _around(module.index, node) if "<locals>" in called.function else ()
        own = set[str]().union(*map(_local_names, (node, *around))) - {*_SELF}
        for load in _loads(node):
            head = (load.base or load.name).partition(".")[0]
            if (called.file, load.line) in self._ran and head not in own:
                owner = class_of(called.function) if load.base in _SELF else ""
                for cls, statements in self._values(called.file, owner, load._replace(line=0)):
                    yield load.line, cls, statements

    def _find_values(
        self, file: str, owner: str, load: _Load
    ) -> Sequence[tuple[_ClassName | None, tuple[_BodyStatement, ...]]]:
        """What a load may get, by the class that an object has to be of for that."""
        if load.base not in _SELF:
            return [(None, tuple(self._named(file, load)))]
        lines = [
            (cls, line) for cls in self._classes if owner and (file, owner) in (line := self._lineage(cls))
        ]
        return [(cls, tuple(self._attribute(line, load.name))) for cls, line in lines]

    def _named(self, file: str, load: _Load) -> Sequence[_BodyStatement]:
        """What a global name, or an attribute of a class or module that one names, is bound to."""
        if not load.base:
            return self._global(file, load.name)
        cls = self._class(file, load.base)
        if cls is not None:
            return self._attribute(self._lineage(cls), load.name)
        module = self._imported_module(file, load.base)
        return self._global(module, load.name) if module else ()

    def _with_parts(self, statements: tuple[_BodyStatement, ...]) -> Sequence[tuple[_BodyStatement, bool]]:
        """The statements, and those that their values are made of, each with whether it is one of the latter."""
        asked: set[tuple[str, str, _Load]] = set()
        level = dict.fromkeys(islice(statements, _MOST_STATEMENTS))
        seen, own = dict(level), len(level)
        for _ in range(_DEEPEST - 1):
            found = (other for each in level for other in self._needed(each, asked) if other not in seen)
            level = dict.fromkeys(islice(found, _MOST_STATEMENTS - len(seen)))
            seen.update(level)
        return [(each, number >= own) for number, each in enumerate(seen)]

    def _needed(
        self, binding: _BodyStatement, asked: set[tuple[str, str, _Load]]
    ) -> Iterator[_BodyStatement]:
        """:param asked: what was looked up already, which is added to."""
        module = self._module(binding.file)
        body = module.classes[binding.owner].binds if module is not None and binding.owner else {}
        for load in _loads(binding.node):
            key = binding.file, binding.owner, load._replace(line=0)
            if key not in asked:
                asked.add(key)
                inside = body.get(load.name, ()) if not load.base else ()
                yield from inside or self._named(binding.file, load)

    def _global(self, file: str, name: str, depth: int = 0) -> Sequence[_BodyStatement]:
        module = self._module(file)
        if module is None or depth > _DEEPEST:
            return ()
        if name in module.binds:
            return module.binds[name]
        source, original = module.imports.get(name, ("", ""))
        other = self._file_of(file, source) if original else ""
        return self._global(other, original, depth + 1) if other and other != file else ()

    def _class(self, file: str, name: str, depth: int = 0) -> _ClassName | None:
        module = self._module(file)
        if module is None or depth > _DEEPEST:
            return None
        if name in module.classes:
            return file, name
        head, _, rest = name.partition(".")
        source, original = module.imports.get(head, ("", ""))
        other = self._file_of(file, source) if original else ""
        if other and other != file:
            found = self._class(other, f"{original}.{rest}" if rest else original, depth + 1)
            if found is not None:
                return found
        inside = self._imported_module(file, head) if rest else ""
        return self._class(inside, rest, depth + 1) if inside else None

    def _find_lineage(self, cls: _ClassName) -> list[_ClassName]:
        """The class with its bases, depth first."""
        found: dict[_ClassName, None] = {}
        waiting = [cls]
        while waiting:
            each = waiting.pop()
            module = self._module(each[0])
            if each not in found and module is not None and each[1] in module.classes:
                found[each] = None
                bases = (self._class(each[0], base) for base in reversed(module.classes[each[1]].bases))
                waiting += [base for base in bases if base is not None]
        return list(found)

    def _attribute(self, lineage: Iterable[_ClassName], name: str) -> Sequence[_BodyStatement]:
        for file, cls in lineage:
            module = self._module(file)
            if module is not None and name in module.classes[cls].binds:
                return module.classes[cls].binds[name]
        return ()

    def _imported_module(self, file: str, name: str) -> str:
        """The file of a module that a name is bound to; empty for anything else."""
        module = self._module(file)
        source, original = module.imports.get(name, ("", "")) if module is not None else ("", "")
        if not source:
            return ""
        separator = "" if source.endswith(".") else "."
        return self._file_of(file, f"{source}{separator}{original}" if original else source)

    def _find_file(self, file: str, module: str) -> str:
        """The file of a module as it is named in another file; empty for one of no known file."""
        name = module.lstrip(".")
        level = len(module) - len(name)
        folders = file.split("/")[:-level] if level else []
        path = "/".join([*folders, *name.split(".")] if name else folders)
        for end in (f"{path}.py", f"{path}/__init__.py"):
            for known in self._files:
                if known == end or (not level and known.endswith(f"/{end}")):
                    return known
        return ""

    def _module(self, file: str) -> _ModuleBody | None:
        if file not in self._modules:
            is_known = file in self._files and len(self._modules) < self._most_files
            index = self._index_of(file) if is_known else None
            self._modules[file] = _module_of(file, index) if index is not None else None
        return self._modules[file]


def class_of(function: str) -> str:
    """The qualified name of the class whose method a function is, or is in; empty for none."""
    return function.partition(".<locals>")[0].rpartition(".")[0]


def _module_of(file: str, index: SourceIndex) -> _ModuleBody:
    module = _ModuleBody(index)
    _read_body(file, index.tree.body, "", module.binds, module)
    return module


def _read_body(
    file: str,
    body: Iterable[ast.stmt],
    owner: str,
    binds: dict[str, list[_BodyStatement]],
    module: _ModuleBody,
) -> None:
    """Add what the statements bind, those inside of conditions and of classes as well."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            name = f"{owner}.{node.name}" if owner else node.name
            cls = module.classes[name] = _ClassBody([*filter(None, map(_dotted, node.bases))])
            _read_body(file, node.body, name, cls.binds, module)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            module.imports.update({each.asname or each.name: (source, each.name) for each in node.names})
        elif isinstance(node, ast.Import):
            for each in node.names:
                name = each.asname or each.name.partition(".")[0]
                module.imports[name] = (each.name if each.asname else name, "")
        elif isinstance(node, ast.ExceptHandler):
            caught: dict[str, list[_BodyStatement]] = {}
            _read_body(file, node.body, owner, caught, module)
            for name in caught.keys() - module.imports.keys():  # not the substitute for an import
                binds.setdefault(name, []).extend(caught[name])
        elif not isinstance(node, Function):
            for name in _bound(node):
                binds.setdefault(name, []).append(_BodyStatement(file, owner, name, node))
            for part in ("body", "orelse", "finalbody", "handlers"):
                inner = getattr(node, part, ())
                _read_body(file, inner, owner, binds, module)


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose objects it changes."""
    match node:
        case ast.Assign(targets=targets):
            changed: Sequence[ast.expr] = targets
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            changed = [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target))):
            changed = [target]
        case ast.For(target=target):
            changed = [target]
        case _:
            changed = ()
    yield from dict.fromkeys(name for each in changed for name in _first_names(each))


def _first_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _first_names(each)
    else:
        name = _dotted(target.value if isinstance(target, ast.Subscript) else target)
        if name:
            yield name.partition(".")[0]


def _dotted(node: ast.AST) -> str:
    """``a.b`` for names and attributes of names; empty for other expressions."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _loads(owner: ast.AST) -> Iterator[_Load]:
    for node in ast.walk(owner):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield _Load(node.lineno, "", node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _dotted(node.value):
            yield _Load(node.lineno, _dotted(node.value), node.attr)


def _local_names(function: Function) -> set[str]:
    """Parameters and names that the function, or one inside of it, binds."""
    return {name for node in ast.walk(function) if node is not function for name in bound_names(node)}


def _around(index: SourceIndex, function: Function) -> Iterator[Function]:
    """The functions that a function is defined in."""
    first, last = first_line(function), function.end_lineno or function.lineno
    for each in index.functions.values():
        if each.lineno <= first and last <= (each.end_lineno or each.lineno) and each is not function:
            yield each
