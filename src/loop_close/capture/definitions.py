"""From live functions and classes to the place in the project that defines them.

Objects are looked at by their exact type, never by ``isinstance`` or an attribute that their class may have
changed: a proxy that makes what it stands for when asked for its class would be made by the asking.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from loop_close.capture.namespaces import Namespaces, bases_of, file_of_class, namespace_of, qualname_of
from loop_close.capture.project import Project
from loop_close.capture.sources import function_of, index_of, source_between
from loop_close.conventions import is_test_file
from loop_close.model import Origin, Source
from loop_close.syntax.attributes import assignment
from loop_close.syntax.index import Function, SourceIndex, class_named, docstring_end, is_placeholder_body

_LINES = 20
_CALLS = 6
_AROUND = 2
_Cached = type(functools.lru_cache(len))
_GETTER = vars(property)["fget"].__get__


class _Module(NamedTuple):
    """A file of the project, by its path below the root as well, and what is in it."""

    filename: str
    file: str
    parsed: SourceIndex


def origin_of(found: Any, project: Project) -> Origin | None:
    """The project function or class behind an object; None for everything else."""
    function = unwrap(found)
    if type(function) is FunctionType:
        return origin_of_function(function, project)
    return origin_of_class(function, project) if issubclass(type(function), type) else None


def unwrap(found: Any) -> Any:
    """The plain function behind methods, properties, partials and decorators that keep ``__wrapped__``."""
    for _ in range(10):
        kind = type(found)
        if kind is staticmethod or kind is classmethod or kind is MethodType:
            found = found.__func__
        elif issubclass(kind, property):
            found = _GETTER(found)
        elif kind is functools.partial or kind is functools.cached_property:
            found = found.func
        elif kind is _Cached or (kind is FunctionType and "__wrapped__" in vars(found)):
            found = vars(found)["__wrapped__"]
        else:
            break
    return found


def origin_of_function(function: FunctionType, project: Project) -> Origin | None:
    """Where a function of the project is defined, with its first statements."""
    code = function.__code__
    key = code.co_filename, code  # code of two files that reads the same is equal
    known = project.origins.get(key)
    file = project.relative(code.co_filename)
    if file is not None and known is None:
        known = _origin(function, file)
        node = function_of(code)
        if node is not None and not known.is_test:
            known = replace(known, calls=_calls(node, function, project))
        project.origins[key] = known
    return known


def _calls(node: Function, function: FunctionType, project: Project) -> tuple[tuple[str, int, str], ...]:
    """The functions of the code under test that the body calls by name, in order, each once."""
    names = Namespaces({}, function.__globals__)
    called = (unwrap(names.value(n.func)) for n in ast.walk(node) if isinstance(n, ast.Call))
    codes = (f.__code__ for f in called if type(f) is FunctionType and f is not function)
    files = dict.fromkeys((project.relative(code.co_filename), code) for code in codes)
    found = [
        (file, code.co_firstlineno, code.co_qualname)
        for file, code in files
        if file and not is_test_file(file)
    ]
    return tuple(found[:_CALLS])


def _origin(function: FunctionType, file: str) -> Origin:
    code = function.__code__
    line = code.co_firstlineno
    origin = Origin(file=file, line=line, function=code.co_qualname, is_test=is_test_file(file))
    node = function_of(code)
    if node is None:
        return replace(origin, source=source_between(code.co_filename, line, line + _LINES - 1, line))
    last, after = node.end_lineno or line, docstring_end(node)
    if after is None or after >= last:
        source, body = source_between(code.co_filename, line, min(last, line + _LINES - 1), line), None
    else:
        source = source_between(code.co_filename, line, node.body[0].lineno, line)
        body = source_between(code.co_filename, after + 1, min(last, after + _LINES), after + 1)
    return replace(origin, source=source, body=body, is_empty=is_placeholder_body(node))


def origin_of_class(cls: type, project: Project) -> Origin | None:
    """What makes the instances, if that is the project's: its ``__init__``, or the one it inherits; else the class.

    What is inherited goes by the name of the class: two classes of one base are two things.
    """
    base = next(each for each in bases_of(cls) if "__init__" in namespace_of(each))  # the last of all has one
    made = namespace_of(base)["__init__"]
    known = origin_of_function(made, project) if type(made) is FunctionType else None
    if known is not None:
        return known if base is cls else replace(known, function=qualname_of(cls))
    return _of_class(cls, qualname_of(cls), project)


def origin_of_attribute(cls: type, attribute: str, project: Project) -> Origin | None:
    """Where the instances of a class of the project get an attribute: it, or one of its bases, assigns it.

    It goes by the name of the class all the same. Where nothing assigns it, as far as can be read, the class is shown.
    """
    name = f"{qualname_of(cls)}.{attribute}"
    key = attribute, *(_name(base) for base in bases_of(cls))
    if key not in project.attributes:
        found = (_assigning(base, attribute, name, project) for base in bases_of(cls))
        known = next((origin for origin in found if origin is not None), None)
        project.attributes[key] = known or _of_class(cls, name, project)
    return project.attributes[key]


def _assigning(cls: type, attribute: str, name: str, project: Project) -> Origin | None:
    """The assignment of the attribute in the class, and some lines around it, under the name."""
    read = _read(cls, project)
    at = assignment(read.parsed, qualname_of(cls), attribute) if read is not None else None
    if read is None or at is None:
        return None
    source = source_between(read.filename, at.first, at.first, at.first)
    body, start = None, min(at.last, max(at.first + 1, at.line - _AROUND))
    if at.last > at.first:
        body = source_between(read.filename, start, min(at.last, at.line + _AROUND), at.line)
    return _at(read, at.line, name, source, body)


def _of_class(cls: type, name: str, project: Project) -> Origin | None:
    """The first lines of the class, under the name."""
    read = _read(cls, project)
    node = class_named(read.parsed, qualname_of(cls)) if read is not None else None
    if read is None or node is None:
        return None
    line, last = node.lineno, node.end_lineno or node.lineno
    source = source_between(read.filename, line, min(last, line + _LINES - 1), line)
    return _at(read, line, name, source)


def _at(read: _Module, line: int, name: str, source: Source | None, body: Source | None = None) -> Origin:
    is_test = is_test_file(read.file)
    return Origin(file=read.file, line=line, function=name, is_test=is_test, source=source, body=body)


def _name(cls: type) -> str:
    """Its module and name: the class itself as a key could run the program's code, and would be kept alive."""
    module = namespace_of(cls).get("__module__")
    return f"{module if type(module) is str else ''}:{qualname_of(cls)}"


def _read(cls: type, project: Project) -> _Module | None:
    """The module of the class, if it is a file of the project that can be parsed."""
    filename = file_of_class(cls)
    file = project.relative(filename) if filename else None
    index = index_of(filename) if file else None
    return _Module(filename, file, index) if file is not None and index is not None else None
