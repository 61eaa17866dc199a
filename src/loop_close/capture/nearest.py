"""The nearest existing names for a missing one, and the file that should define it.

Everything is read statically: no ``__dir__``, ``__getattr__``, property or comparison of the program is run.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from inspect import CO_OPTIMIZED
from itertools import chain, islice
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from loop_close import lazy
from loop_close.capture import (
    MISSING,
    LiveFrame,
    Namespaces,
    ProjectCode,
    bases_of,
    file_of_class,
    file_of_module,
    index_of,
    instance_fields,
    namespace_of,
    statement_of,
    unwrap,
    variables_of,
)
from loop_close.conventions import is_test_file
from loop_close.facts import PARTIAL
from loop_close.syntax import expression_at
from loop_close.syntax.uses import own_nodes

MOST = 3
_MAX_NAMES = 2_000
_MAX_LENGTH = 100
# Of pairs of names, one of which was meant by the other, nearly all reach both; of pairs that differ in meaning by a
# letter (name and game, gross and cross) hardly any. The first prefers names that begin alike, as mistyped ones do;
# the second sorts out long names that only begin alike. Both measures are from 0 to 1.
_LEAST_BEGINNING = 0.9  # Jaro-Winkler
_LEAST_COMMON = 0.65  # optimal string alignment, over the length of the longer name
_MIN_WORD = 4
_WORDS = lazy.pattern(r"[^\W_]+")

_UNEXPECTED = lazy.pattern(
    r"\A(?P<function>[\w.<>]{1,300})\(\) got an unexpected keyword argument '(?P<name>[^'\n]{1,100})'"
)
_ABSENT = lazy.pattern(
    r"\A(?P<function>[\w.<>]{1,300})\(\) missing \d+ required (?:positional|keyword-only) arguments?: "
    r"'(?P<name>[^'\n]{1,100})'"
)
_UNBOUND = lazy.pattern(r"\Acannot access local variable '(?P<name>[^'\n]{1,100})'")
_FIXTURES = lazy.pattern(r"available fixtures: (?P<names>[^\n]{1,20000})")
_ENVIRONMENT = type(os.environ)
_QUALNAME = vars(FunctionType)["__qualname__"].__get__
_ARGUMENTS = vars(BaseException)["args"].__get__
_OBJECT = vars(AttributeError)["obj"].__get__


class Lack(NamedTuple):
    """What is known about a missing name.

    :ivar nearest: existing names, the nearest first.
    :ivar details: for :attr:`loop_close.model.Raised.details`.
    """

    nearest: tuple[str, ...] = ()
    details: Mapping[str, str] = {}


def nearest(wanted: str, names: Iterable[Any], *, by_words: bool = True) -> tuple[str, ...]:
    """At most three names that ``wanted`` may be a misspelling of, the nearest first.

    Case, underscores and the order of words do not matter. Without a similar name, those with one word more or less are
    proposed (``total`` and ``compute_total``), unless they are many. Private names are proposed for private ones only.
    Only the first 2,000 names are compared; instances of subclasses of ``str`` are skipped.

    :param by_words: propose names with a word more or less.
    """
    if not 0 < len(wanted) <= _MAX_LENGTH:
        return ()
    from rapidfuzz.distance import OSA, JaroWinkler  # late: 10-50 ms, and few failures are about a name

    folded, words = _folded(wanted), sorted(_WORDS.findall(wanted.lower()))
    found: dict[str, float] = {}
    alike: set[str] = set()
    for name in islice(names, _MAX_NAMES):
        if type(name) is not str or not 0 < len(name) <= _MAX_LENGTH or name == wanted:
            continue
        if name[0] == "_" and wanted[0] != "_":
            continue
        other = _folded(name)
        score = JaroWinkler.similarity(folded, other, score_cutoff=_LEAST_BEGINNING)
        if score and OSA.normalized_similarity(folded, other) < _LEAST_COMMON:
            score = 0.0
        others = [] if score else sorted(_WORDS.findall(name.lower()))
        if len(words) > 1 and others == words:
            score = _LEAST_BEGINNING
        if score:
            found[name] = score
        elif by_words and _is_part(words, others):
            alike.add(name)
    if not found and len(alike) <= MOST:
        return tuple(sorted(alike))
    return tuple(sorted(found, key=lambda name: (-found[name], name))[:MOST])


def _is_part(words: list[str], others: list[str]) -> bool:
    """Whether one name has the words of the other and one more, with at least one long word."""
    few, many = sorted((words, others), key=len)
    return 0 < len(few) == len(many) - 1 and set(few) < set(many) and max(map(len, few)) >= _MIN_WORD


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def lacking(
    exc: BaseException, details: Mapping[str, str], live: list[LiveFrame], project: ProjectCode
) -> Lack:
    """The nearest names for what the exception reports as missing; empty for other exceptions.

    :param details: details from the attributes of the exception.
    :param live: every frame of its traceback, outermost first.
    """
    kind, name = type(exc), details.get("name", "")
    if "environment" in details:
        names: Iterable[Any] = os.environ if type(os.environ) is _ENVIRONMENT else ()
        return Lack(nearest(details["environment"], names))
    if "fixture" in details:
        return Lack(nearest(details["fixture"], _fixtures(exc)))
    if issubclass(kind, ModuleNotFoundError):
        return _of_import_path(name, live, project) if name else Lack()
    if issubclass(kind, ImportError):
        return _of_import(exc, name, details["owner"], live, project) if "owner" in details else Lack()
    if issubclass(kind, AttributeError):
        return _of_object(exc, name, project) if name else Lack()
    if not live:
        return Lack()
    if issubclass(kind, NameError):
        return _of_frame(exc, name, live[-1], project)
    if kind is KeyError:
        return _of_mapping(exc, live[-1], project)
    return _of_call(exc, live[-1], project) if kind is TypeError else Lack()


def _lack(near: tuple[str, ...], home: str | None) -> Lack:
    return Lack(near, {"home": home} if home else {})


def _said(exc: BaseException, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The groups of a pattern in a message that Python created."""
    arguments = _ARGUMENTS(exc)
    return pattern.match(arguments[0]) if arguments and type(arguments[0]) is str else None


# --- names in code


def _of_frame(exc: BaseException, name: str, live: LiveFrame, project: ProjectCode) -> Lack:
    """For a variable: visible names, attributes of ``self``, or the module that defines it."""
    unbound = _said(exc, _UNBOUND)
    wanted = unbound["name"] if unbound else name
    if not wanted:
        return Lack()
    local = _locals(live.frame)
    owner = local.get("self", MISSING)
    own = () if unbound or owner is MISSING else islice(_names_in(owner), _MAX_NAMES)
    if any(type(each) is str and each == wanted for each in own):
        return Lack((f"self.{wanted}",))
    seen = nearest(wanted, chain(local, _globals(live.frame), vars(builtins)))
    if unbound:
        return Lack(seen)
    elsewhere = _defined_elsewhere(wanted, project)
    return _lack((*elsewhere, *seen)[:MOST], None if elsewhere else live.file)


def _locals(frame: FrameType) -> Mapping[str, Any]:
    """The local names; none for a class body with a namespace of its metaclass."""
    found = frame.f_locals
    return found if frame.f_code.co_flags & CO_OPTIMIZED or type(found) is dict else {}


def _globals(frame: FrameType) -> Mapping[str, Any]:
    """The global names; none for a custom mapping, as with ``exec``."""
    return frame.f_globals if type(frame.f_globals) is dict else {}


def _defined_elsewhere(wanted: str, project: ProjectCode) -> tuple[str, ...]:
    """The dotted name of a function or class of the project that was not imported; none if there are several."""
    found = [
        f"{module}.{wanted}"
        for module, space, _ in _modules_of(project)
        if _is_defined_in(module, space.get(wanted))
    ]
    return tuple(found) if len(found) == 1 else ()


def _is_defined_in(module: str, found: Any) -> bool:
    if type(found) is FunctionType:
        return found.__module__ == module
    return issubclass(type(found), type) and namespace_of(found).get("__module__") == module


def _modules_of(project: ProjectCode) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name, variables, file) of the modules of the code under test that were imported."""
    for name, module in islice([*sys.modules.items()], 10 * _MAX_NAMES):
        if type(name) is not str or not issubclass(type(module), ModuleType):
            continue
        file = _file_of(module, project)
        if file is not None and not is_test_file(file):
            yield name, variables_of(module), file


def _file_of(module: ModuleType, project: ProjectCode) -> str | None:
    filename = variables_of(module).get("__file__")
    return project.relative(filename) if type(filename) is str else None


# --- attributes and members of modules


def _of_object(exc: BaseException, name: str, project: ProjectCode) -> Lack:
    """For an attribute of an instance, a class or a module."""
    obj = _OBJECT(exc)
    if issubclass(type(obj), ModuleType):
        return _of_module(name, variables_of(obj), project, is_partial=_said(exc, PARTIAL) is not None)
    cls = obj if issubclass(type(obj), type) else type(obj)
    filename = file_of_class(cls)
    return _lack(nearest(name, _names_in(obj)), project.relative(filename) if filename else None)


def _names_in(obj: Any) -> Iterator[Any]:
    """Names of the attributes of an instance or a class."""
    is_class = issubclass(type(obj), type)
    yield from () if is_class else [*instance_fields(obj)]
    for cls in (*bases_of(obj), *bases_of(type(obj))) if is_class else bases_of(type(obj)):
        yield from [*namespace_of(cls)]


def _of_module(name: str, space: Mapping[str, Any], project: ProjectCode, *, is_partial: bool) -> Lack:
    """For a member of a module: its names, those in its source if it is only partly loaded, and its submodules."""
    filename = space.get("__file__")
    filename = filename if type(filename) is str else ""
    bound = _bound_in(filename, str(space.get("__name__"))) if is_partial and filename else frozenset()
    below = [*_modules_in(_search_path(space))]
    if is_partial and not {*bound, *below}.isdisjoint((name, "*", "__getattr__")):
        return Lack()  # it will be there, and is not yet: a circular import
    if name in below:
        return Lack((f"{space.get('__name__')}.{name}",))
    home = project.relative(filename) if filename else None
    return _lack(nearest(name, chain([*space], bound, below)), home)


def _bound_in(filename: str, package: str = "") -> frozenset[str]:
    """The names that the statements of a module bind, from its source.

    :param package: name of the module, to include names that it imports from others.
    """
    index = index_of(filename)
    found: set[str] = set()
    for node in own_nodes(index.tree) if index is not None else ():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.ImportFrom(module=module, level=level, names=names) if package:
                if module != package and (module or level > 1):  # not from itself
                    found |= {each.asname or each.name for each in names}
            case ast.Import(names=names) if package:
                found |= {each.asname or each.name.partition(".")[0] for each in names}
    return frozenset(found)


def _of_import(
    exc: BaseException, name: str, owner: str, live: list[LiveFrame], project: ProjectCode
) -> Lack:
    space = _space_of(owner, live)
    return _of_module(name, space, project, is_partial=_said(exc, PARTIAL) is not None) if space else Lack()


def _space_of(module: str, live: list[LiveFrame]) -> Mapping[str, Any]:
    """The namespace of a module; after a failed import it is only in the frames."""
    loaded = sys.modules.get(module)
    if issubclass(type(loaded), ModuleType):
        space: Mapping[str, Any] = variables_of(loaded)
        return space
    spaces = (_globals(each.frame) for each in live)
    return next((each for each in spaces if each.get("__name__") == module), {})


def _of_import_path(name: str, live: list[LiveFrame], project: ProjectCode) -> Lack:
    """For a module: its siblings, or the importable top-level modules; then the same name elsewhere."""
    parent, _, last = name.rpartition(".")
    if not parent:
        importable = chain(_modules_in(_import_path(project)), sys.stdlib_module_names)
        near = nearest(name, importable, by_words=False)  # packages that extend others share a word with them
        same = [each for each, _, _ in _modules_of(project) if each.endswith(f".{name}")]
        return _lack((*same[:1], *near)[:MOST], _beside_import_path(name, project))
    folders = _search_path(_space_of(parent, live))
    near = tuple(f"{parent}.{each}" for each in nearest(last, _modules_in(folders)))
    return _lack(near, project.relative(os.path.join(folders[0], f"{last}.py")) if folders else None)


def _search_path(package: Mapping[str, Any]) -> list[str]:
    """The folders of a package, from its namespace."""
    found = package.get("__path__")
    return [each for each in found[:20] if type(each) is str] if type(found) is list else []


def _import_path(project: ProjectCode) -> list[str]:
    """The folders of the import path, those of the project first."""
    folders = [os.path.abspath(each) for each in sys.path[:100] if type(each) is str and os.path.isdir(each)]
    return sorted(folders, key=lambda each: project.relative(os.path.join(each, "x.py")) is None)


def _beside_import_path(name: str, project: ProjectCode) -> str | None:
    """The module in a folder of the project that is not on the import path."""
    known = {os.path.realpath(each) for each in _import_path(project)}
    for folder in ("", "src", "lib"):
        above = os.path.join(project.root, folder)
        for tail in (f"{name}.py", os.path.join(name, "__init__.py")):
            path = os.path.join(above, tail)
            if os.path.realpath(above) not in known and os.path.isfile(path):
                return project.relative(path)
    return None


def _modules_in(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        yield from _listed(folder, os.stat(folder).st_mtime_ns) if os.path.isdir(folder) else ()


@lru_cache(maxsize=64)
def _listed(folder: str, changed: int) -> tuple[str, ...]:
    """Names of the modules in a folder, sorted.

    :param changed: modification time; an unchanged folder is not read again.
    """
    found = set()
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MAX_NAMES):
            name, _, ending = entry.name.partition(".")
            is_module = ending.endswith(("py", "so", "pyd")) if ending else entry.is_dir()
            if is_module and name.isidentifier() and not name.startswith("__"):
                found.add(name)
    return tuple(sorted(found))


def _fixtures(exc: BaseException) -> list[str]:
    """The available fixtures in pytest's message about a missing one."""
    made = getattr(exc, "formatrepr", None)
    listed = _FIXTURES.search(str(made().errorstring)) if made is not None else None
    return listed["names"].split(", ") if listed else []


# --- keys and arguments, by the instruction that failed


def _failing(live: LiveFrame) -> ast.expr | None:
    """The failing expression, by the columns of the instruction."""
    statement, _ = statement_of(live)
    return expression_at(statement, live.span) if statement is not None and live.span else None


def _of_mapping(exc: BaseException, live: LiveFrame, project: ProjectCode) -> Lack:
    """For a key of a dict: ``d[key]``, ``del d[key]`` and ``d.pop(key)``."""
    match _ARGUMENTS(exc), _failing(live):
        case (key,), ast.Subscript(value=owner) if type(key) in (str, int):
            pass
        case (key,), ast.Call(func=ast.Attribute(value=owner, attr="pop")) if type(key) in (str, int):
            pass
        case _:
            return Lack()
    found = _value(owner, Namespaces(_locals(live.frame), _globals(live.frame)))
    if not issubclass(type(found), dict):
        return Lack()
    keys = [each for each in islice(dict.keys(found), _MAX_NAMES) if type(each) in (str, int)]
    near = _nearest_keys(key, keys)
    return _lack(near, _home_of_constant(owner, found, live, project))


def _value(node: ast.expr, names: Namespaces) -> Any:
    """The object behind names, attributes, and items of exact dicts by a literal key."""
    if not isinstance(node, ast.Subscript):
        return names.value(node)
    owner = _value(node.value, names)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else names.value(node.slice)
    if type(owner) is not dict or type(key) not in (str, int):
        return MISSING
    pairs = islice(owner.items(), _MAX_NAMES)  # not owner[key], which may compare with a key of the program
    return next((value for each, value in pairs if type(each) is type(key) and each == key), MISSING)


def _nearest_keys(key: str | int, keys: list[str | int]) -> tuple[str, ...]:
    """The nearest keys as Python code: the same text in another type, then similar ones; for numbers the closest."""
    same = [repr(each) for each in keys if type(each) is not type(key) and str(each) == str(key)]
    if type(key) is str:
        near = [repr(each) for each in nearest(key, keys)]
    else:
        near = [repr(each) for each in keys if type(each) is int and abs(each - int(key)) == 1]
    return tuple((*same, *near)[:MOST])


def _home_of_constant(owner: ast.expr, found: Any, live: LiveFrame, project: ProjectCode) -> str | None:
    """The file that binds a constant of a module, ``RATES`` or ``rates.RATES``."""
    match owner:
        case ast.Name(id=name) if name.isupper() and _globals(live.frame).get(name) is found:
            pass
        case ast.Attribute(attr=name) if name.isupper():
            pass
        case _:
            return None
    spaces = [_globals(live.frame), *(space for _, space, _ in _modules_of(project))]
    files = [space.get("__file__") for space in spaces if space.get(name) is found]
    filename = next((each for each in files if type(each) is str and name in _bound_in(each)), None)
    return project.relative(filename) if filename is not None else None


def _of_call(exc: BaseException, live: LiveFrame, project: ProjectCode) -> Lack:
    """For an unexpected or a missing argument of a function."""
    unexpected = _said(exc, _UNEXPECTED)
    said = unexpected or _said(exc, _ABSENT)
    function = _called(said["function"], live, project) if said else None
    if said is None or function is None:
        return Lack()
    home = project.relative(function.__code__.co_filename)  # generated by dataclasses: <string>
    filename = file_of_module(function.__module__)
    home = home or (project.relative(filename) if filename else None)
    near = nearest(said["name"], _parameters(function.__code__)) if unexpected else ()
    if home is None and not near:
        return Lack()
    details = {"name": said["name"], "owner": f"{said['function']}()"}
    return Lack(near, {**details, "home": home} if home else details)


def _parameters(code: CodeType) -> list[str]:
    """The parameters that can be passed by name."""
    named = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    return [name for name in named if name not in ("self", "cls")]


def _called(qualname: str, live: LiveFrame, project: ProjectCode) -> FunctionType | None:
    """The function with a qualified name: the one that the statement calls, else the only one in the project."""
    node = _failing(live)
    names = Namespaces(_locals(live.frame), _globals(live.frame))
    called = names.value(node.func) if isinstance(node, ast.Call) else MISSING
    found = [called, *(_from_class(called, name) for name in ("__init__", "__new__"))]
    spaces = [_globals(live.frame), *(space for _, space, _ in _modules_of(project))]
    found = [each for each in map(unwrap, found) if _is_function(each, qualname)]
    if not found:
        found = [each for each in (_by_name(space, qualname) for space in spaces) if each is not None]
    return found[0] if len({id(each) for each in found}) == 1 else None


def _from_class(cls: Any, name: str) -> Any:
    """The member with this name of the class or its first base that has it."""
    spaces = map(namespace_of, bases_of(cls)) if issubclass(type(cls), type) else ()
    return next((space[name] for space in spaces if name in space), MISSING)


def _is_function(found: Any, qualname: str) -> bool:
    return type(found) is FunctionType and _QUALNAME(found) == qualname


def _by_name(space: Mapping[str, Any], qualname: str) -> FunctionType | None:
    """The function with a qualified name in a module."""
    first, *rest = qualname.split(".")
    found = space.get(first, MISSING)
    for name in rest:
        found = namespace_of(found).get(name, MISSING) if issubclass(type(found), type) else MISSING
    found = unwrap(found)
    return found if _is_function(found, qualname) else None
