"""The functions and classes of the project that expressions in a failing statement refer to."""

from __future__ import annotations

import ast
from collections.abc import Collection
from types import FrameType, FunctionType, ModuleType
from typing import Any

from loop_close.capture import ProjectCode, function_of, index_of, source_between
from loop_close.capture.objects import (
    MISSING,
    Names,
    bases_of,
    file_of_class,
    namespace_of,
    qualname_of,
    unwrap,
)
from loop_close.conventions import is_test_file
from loop_close.model import Origin
from loop_close.syntax import is_placeholder_body

_LINES = 40


def origin_of(found: Any, project: ProjectCode) -> Origin | None:
    """The definition of an object in the project: a function or class; None for anything else."""
    function = unwrap(found)
    if type(function) is FunctionType:
        return _of_function(function, project)
    return _of_class(function, project) if issubclass(type(function), type) else None


def _of_function(function: FunctionType, project: ProjectCode) -> Origin | None:
    code = function.__code__
    key = code.co_filename, code  # code of two files that reads the same is equal
    file = project.relative(code.co_filename)
    if file is not None and key not in project.origins:
        line, node = code.co_firstlineno, function_of(code)
        last = node.end_lineno if node is not None and node.end_lineno else line + _LINES
        project.origins[key] = Origin(
            file=file,
            line=line,
            function=code.co_qualname,
            is_test=is_test_file(file),
            is_empty=node is not None and is_placeholder_body(node),
            source=source_between(code.co_filename, line, min(last, line + _LINES - 1), line),
        )
    return project.origins.get(key)


def _of_class(cls: type, project: ProjectCode) -> Origin | None:
    """The project's ``__init__`` of the class; for any other the class itself, by its own name."""
    made = namespace_of(cls).get("__init__")
    found = _of_function(made, project) if type(made) is FunctionType else None
    return found or origin_of_member(cls, qualname_of(cls), project)


def origin_of_member(cls: type, name: str, project: ProjectCode) -> Origin | None:
    """What a class of the project has by a name: its own lines, or those of the nearest base in the project."""
    for base in bases_of(cls):
        filename = file_of_class(base)
        file = project.relative(filename) if filename else None
        index = index_of(filename) if file else None
        line = index.classes.get(qualname_of(base)) if index is not None else None
        if file and line:
            source = source_between(filename, line, line + _LINES // 2 - 1, line)
            return Origin(file=file, line=line, function=name, is_test=is_test_file(file), source=source)
    return None


class FrameLookup:
    """Finds the project's functions and classes by expressions, with the names of one frame.

    :param fixtures: names of the fixtures the test asked for; a parameter of that name is the fixture's value.
    :param left_out: (file, function) of helpers that are not under test.
    """

    def __init__(
        self,
        frame: FrameType,
        project: ProjectCode,
        fixtures: Collection[str] = (),
        left_out: Collection[tuple[str, str]] = (),
    ) -> None:
        self.names = Names.of(frame)
        self._project = project
        self._fixtures = fixtures
        self._left_out = left_out

    def origin(self, node: ast.expr) -> Origin | None:
        """The project function, property or class that ``node`` names; None for everything else."""
        found = self.names.value(node)
        known = origin_of(found, self._project) if found is not MISSING else None
        if known is None and isinstance(node, ast.Name):
            return self._fixture(node)
        return None if known and (known.file, known.function) in self._left_out else known

    def attribute(self, node: ast.Attribute) -> Origin | None:
        """A plain attribute of an instance of a project class."""
        owner = self.names.value(node.value)
        cls = self.names.class_of(node.value) if owner is MISSING else type(owner)
        if cls is MISSING or issubclass(cls, type | ModuleType):
            return None
        return origin_of_member(cls, f"{qualname_of(cls)}.{node.attr}", self._project)

    def _fixture(self, node: ast.Name) -> Origin | None:
        """The fixture of a parameter whose value is plain data, from which its origin cannot be seen."""
        value = self.names.local.get(node.id, MISSING) if node.id in self._fixtures else MISSING
        if value is MISSING or namespace_of(type(value)).get("__module__", "builtins") != "builtins":
            return None
        return Origin(file="", line=0, function=f"fixture {node.id}")
