"""The nearest existing names for a missing one, and the file that should define it.

Python's own suggestions call ``dir()``, which runs code of the program; here everything is read statically.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from types import FrameType, ModuleType, TracebackType
from typing import Any

from loop_close.capture import ProjectCode
from loop_close.capture.objects import (
    bases_of,
    fields_of,
    file_of_class,
    global_names,
    local_names,
    namespace_of,
    variables_of,
)
from loop_close.facts import PARTIAL

MOST = 3
_MAX_NAMES = 2_000
_MAX_LENGTH = 100
# Of pairs of names, one of which was meant by the other, nearly all reach both; of pairs that differ in meaning by a
# letter (name and game, gross and cross) hardly any. The first prefers names that begin alike, as mistyped ones do;
# the second sorts out long names that only begin alike. Both measures are from 0 to 1.
_LEAST_BEGINNING = 0.9  # Jaro-Winkler
_LEAST_COMMON = 0.65  # optimal string alignment, over the length of the longer name
_WORDS = re.compile(r"[^\W_]+")

_FIXTURES = re.compile(r"available fixtures: (?P<names>[^\n]{1,20000})")
_OBJECT = vars(AttributeError)["obj"].__get__

#: Existing names, the nearest first; and details for :attr:`loop_close.model.Raised.details`.
Lack = tuple[tuple[str, ...], dict[str, str]]
_NOTHING: Lack = (), {}


def nearest(wanted: str, names: Iterable[Any]) -> tuple[str, ...]:
    """At most three names that ``wanted`` may be a misspelling of, the nearest first.

    Case, underscores and the order of words do not matter. Private names are proposed for private ones only. Only the
    first 2,000 names are compared; instances of subclasses of ``str`` are skipped.
    """
    from rapidfuzz import process  # late: 10-50 ms, and few failures are about a name
    from rapidfuzz.distance import OSA, JaroWinkler

    known = {
        name: _folded(name)
        for name in islice(names, _MAX_NAMES)
        if type(name) is str and 0 < len(name) <= _MAX_LENGTH and name != wanted
        if name[0] != "_" or wanted[:1] == "_"
    }
    folded = _folded(wanted[: _MAX_LENGTH + 1])
    like = process.extract(
        folded, known, scorer=JaroWinkler.similarity, score_cutoff=_LEAST_BEGINNING, limit=None
    )
    near = {
        name: -score
        for other, score, name in like
        if OSA.normalized_similarity(folded, other) >= _LEAST_COMMON
    }
    return tuple(sorted(near, key=lambda name: (near[name], name))[:MOST])


def _folded(name: str) -> str:
    return "".join(sorted(_WORDS.findall(name.lower()))) or name


def lacking(
    exc: BaseException, details: Mapping[str, str], live: list[TracebackType], project: ProjectCode
) -> Lack:
    """The nearest names for what the exception reports as missing, and its file; empty for other exceptions.

    :param details: details from the attributes of the exception.
    :param live: every frame of its traceback, outermost first.
    """
    kind, name, owner = type(exc), details.get("name", ""), details.get("owner", "")
    if "fixture" in details:
        return nearest(details["fixture"], _fixtures(exc)), {}
    if issubclass(kind, ModuleNotFoundError) and name:
        return _of_import_path(name, project)
    if issubclass(kind, ImportError) and owner:
        space = _space_of(owner)
        return _of_module(exc, name, space, project) if space else _NOTHING
    if issubclass(kind, AttributeError) and name:
        return _of_object(exc, name, project)
    is_variable = issubclass(kind, NameError) and name and live
    return _of_frame(name, live[-1].tb_frame, project) if is_variable else _NOTHING


def _at(file: str | None) -> dict[str, str]:
    return {"home": file} if file else {}


def _fixtures(exc: Any) -> list[str]:
    """The available fixtures in pytest's message about a missing one."""
    listed = _FIXTURES.search(str(exc.formatrepr().errorstring))
    return listed["names"].split(", ") if listed else []


# --- variables and attributes


def _of_frame(name: str, frame: FrameType, project: ProjectCode) -> Lack:
    """For a variable: an attribute of ``self``, or visible names."""
    local, outer = local_names(frame), global_names(frame)
    if any(type(each) is str and each == name for each in _names_in(local.get("self"))):
        return (f"self.{name}",), {}
    return nearest(name, chain(local, outer, vars(builtins))), _at(project.relative(frame.f_code.co_filename))


def _of_object(exc: BaseException, name: str, project: ProjectCode) -> Lack:
    """For an attribute of an instance, a class or a module."""
    obj = _OBJECT(exc)
    if issubclass(type(obj), ModuleType):
        return _of_module(exc, name, variables_of(obj), project)
    cls = obj if issubclass(type(obj), type) else type(obj)
    return nearest(name, _names_in(obj)), _at(project.relative(file_of_class(cls)))


def _names_in(obj: Any) -> Iterator[Any]:
    """Names of the attributes of an instance or a class."""
    is_class = issubclass(type(obj), type)
    yield from () if is_class else [*fields_of(obj)]
    for cls in (*(bases_of(obj) if is_class else ()), *bases_of(type(obj))):
        yield from [*namespace_of(cls)]


# --- modules and their members


def _of_module(exc: BaseException, name: str, space: Mapping[str, Any], project: ProjectCode) -> Lack:
    """For a member of a module: its names and its submodules; nothing while it is only partly loaded."""
    if PARTIAL.match(str(exc)) is not None:
        return _NOTHING
    below = _modules_in(_search_path(space))
    if name in below:
        return (f"{space.get('__name__')}.{name}",), {}
    return nearest(name, chain([*space], below)), _at(project.relative(str(space.get("__file__"))))


def _space_of(module: str) -> Mapping[str, Any]:
    """The namespace of a loaded module; empty for any other."""
    loaded = sys.modules.get(module)
    return variables_of(loaded) if issubclass(type(loaded), ModuleType) else {}


def _of_import_path(name: str, project: ProjectCode) -> Lack:
    """For a module: its siblings, or the importable top-level modules."""
    parent, _, last = name.rpartition(".")
    if not parent:
        path = tuple(os.path.abspath(each) for each in sys.path[:100] if type(each) is str)
        return nearest(name, chain(_modules_in(path), sys.stdlib_module_names)), {}
    folders = _search_path(_space_of(parent))
    near = tuple(f"{parent}.{each}" for each in nearest(last, _modules_in(folders)))
    return near, _at(project.relative(os.path.join(folders[0], f"{last}.py")) if folders else None)


def _search_path(package: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders of a package, from its namespace."""
    found = package.get("__path__")
    return tuple(each for each in found[:20] if type(each) is str) if type(found) is list else ()


@lru_cache(maxsize=64)
def _modules_in(folders: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the modules in some folders, those of the first folder first."""
    import pkgutil

    return tuple(dict.fromkeys(each.name for each in pkgutil.iter_modules(folders)))
