"""The code of the project: its files, their syntax trees, and the objects that names in a statement refer to."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import os
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import (
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple

from msgspec.structs import replace

from loop_close import lazy
from loop_close.conventions import is_test_file
from loop_close.model import Frame, Origin, SourceLines
from loop_close.project_files import ProjectFiles
from loop_close.records import Record
from loop_close.syntax import (
    Function,
    SourceIndex,
    assignment,
    class_named,
    docstring_end,
    index_source,
    is_placeholder_body,
    statement_at,
)
from loop_close.syntax.uses import is_reraise
from loop_close.text.normalize import relativize

# --- which files are the project's, and their source text

#: Where the Python of a system lives beside everything else.
_SHARED = ("/", "/usr", "/usr/local")


class ProjectCode:
    """The source files of the project and their syntax.

    :param root: absolute path of the root (pytest's ``rootpath``).
    :param files: those of the root, as they were found before the first test.
    :ivar root: the same without links.
    """

    def __init__(self, root: str, files: ProjectFiles | None = None) -> None:
        self._files = files or ProjectFiles(root)
        self.root = self._files.root
        self._known: dict[str, str | None] = {}
        #: What is known of functions already looked up, by their file and code.
        self.origins: dict[tuple[str, CodeType], Origin] = {}
        #: The same of attributes, by their name and those of the classes that may give it.
        self.attributes: dict[tuple[str, ...], Origin | None] = {}
        self._shorter = [(os.path.abspath(root), ""), (self.root, "")]
        if self._files.top != self.root:
            self._shorter.append((self._files.top, os.path.relpath(self._files.top, self.root)))
        pythons = (folder for folder in (sys.prefix, sys.base_prefix) if folder not in _SHARED)
        self._shorter += [(folder, "<python>") for folder in pythons]

    def relative(self, filename: str) -> str | None:
        """The path of a project file relative to the root, with ``/``; None for any other file."""
        if filename not in self._known:
            found = self._files.relative(filename)
            if found is None and os.path.isabs(filename):
                found = self._files.relative(os.path.realpath(filename))
            self._known[filename] = found
        return self._known[filename]

    def tidy(self, text: str) -> str:
        """The text with relative paths for files below the root, and short paths for those of the environment."""
        return relativize(text, self._shorter)


# --- source lines and syntax trees of the files that frames run in, read once

MAX_LINES = 60
MAX_LINE = 2_000  # longer ones are cut when they are shown, after credentials were looked for
_MAX_PARSED = 1_000_000


@lru_cache(maxsize=64)
def index_of(filename: str) -> SourceIndex | None:
    """The parsed file; None if it cannot be parsed or is too large."""
    text = "".join(linecache.getlines(filename))
    if not text or len(text) > _MAX_PARSED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parser's, of an odd escape in a file that is not ours
        return index_source(text)


def function_of(code: CodeType) -> Function | None:
    """The syntax tree of a running function."""
    index = index_of(code.co_filename)
    return index.functions.get(code.co_firstlineno) if index else None


def source_around(code: CodeType, line: int) -> SourceLines | None:
    """The function's lines, the ``line`` among them, at most :data:`MAX_LINES`."""
    first, last = _function_at(code.co_filename, code.co_firstlineno)
    if not first or code.co_name == "<module>":
        first, last = max(1, line - 5), line + 3
    return source_between(code.co_filename, first, last or line, line)


@lru_cache(maxsize=4096)
def _function_at(filename: str, line: int) -> tuple[int, int]:
    """First and last line of the innermost function there; zeros for none. Lambdas and the like are part of one."""
    functions = index.functions if (index := index_of(filename)) else {}
    if line in functions:
        return line, functions[line].end_lineno or 0
    inside = (first for first, node in functions.items() if first <= line <= (node.end_lineno or first))
    first = max(inside, default=0)
    return first, (functions[first].end_lineno or 0) if first else 0


@lru_cache(maxsize=4096)
def source_between(filename: str, first: int, last: int, line: int) -> SourceLines | None:
    """Lines ``first`` to ``last`` of a file, cut to :data:`MAX_LINES` around ``line``."""
    if last - first >= MAX_LINES:
        first = max(first, min(line - MAX_LINES // 2, last - MAX_LINES + 1))
        last = first + MAX_LINES - 1
    lines = linecache.getlines(filename)[first - 1 : last]
    cut = tuple(text.rstrip("\r\n")[:MAX_LINE] for text in lines)
    return SourceLines(start=first, lines=cut) if cut else None


def forget() -> None:
    """Drop the cache."""
    index_of.cache_clear()
    _function_at.cache_clear()
    source_between.cache_clear()
    linecache.checkcache()


# --- walk a traceback and keep the frames that run in project files

# A place that is on a traceback so many times is one that calls itself, if by way of others.
_OFTEN = 10
_COMPREHENSION = lazy.pattern(r"(?:\.<locals>)?\.?<(?:list|dict|set)comp>\Z")


class LiveFrame(Record, frozen=True):
    """A frame of a traceback with the position where it stopped.

    :ivar span: (line, end line, column, end column) of the instruction; columns in UTF-8 bytes.
    :ivar file: the path relative to the root, None outside of the project.
    """

    frame: FrameType
    line: int
    span: tuple[int, int, int, int] | None
    file: str | None

    @property
    def code(self) -> CodeType:
        """The code that runs in it."""
        return self.frame.f_code


def live_frames(traceback: TracebackType | None, project: ProjectCode) -> list[LiveFrame]:
    """Every frame of the traceback, outermost first, including those of pytest."""
    return list(_walk(traceback, project))


def without_end(own: list[LiveFrame]) -> list[LiveFrame]:
    """The frames of an infinite recursion, up to the last recursive call of its outermost function.

    Where the recursion itself ends depends on the depth of the stack, and so on the runner.
    """
    places = [(frame.file or "", frame.code.co_firstlineno, frame.line) for frame in own]
    counts = Counter(places)
    most = max(counts.values(), default=0)
    if most < _OFTEN:
        return own  # it was raised by hand, or goes in circles where no file is the project's
    first = min(place for place, times in counts.items() if 2 * times >= most)
    return own[: len(places) - places[::-1].index(first)]


def _walk(traceback: TracebackType | None, project: ProjectCode) -> Iterator[LiveFrame]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = project.relative(code.co_filename)
        # Only in project files does the very instruction matter; of all frames, most are pytest's.
        span = _span(code, traceback.tb_lasti) if file is not None else None
        yield LiveFrame(traceback.tb_frame, traceback.tb_lineno or (span[0] if span else 0), span, file)
        traceback = traceback.tb_next


def _span(code: CodeType, offset: int) -> tuple[int, int, int, int] | None:
    """The source range of the instruction at ``offset`` (PEP 657)."""
    if offset < 0:
        return None
    # One item for each code unit, which has two bytes.
    line, end_line, column, end_column = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, end_line, column, end_column


def is_hidden(frame: FrameType) -> bool:
    """Whether the function set ``__tracebackhide__``: a helper, which the failure is not about."""
    if "__tracebackhide__" not in frame.f_code.co_varnames:
        return False
    return frame.f_locals.get("__tracebackhide__") is True  # anything else would have to be run to be known


def statement_of(live: LiveFrame) -> tuple[ast.stmt | None, Function | None]:
    """The statement at which a frame stopped, and its function; None if unknown."""
    function = function_of(live.code)
    index = index_of(live.code.co_filename)
    scope: ast.AST | None = function or (index.tree if index else None)
    return statement_at(scope, live.line) if scope is not None else None, function


def is_handing_on(live: LiveFrame) -> bool:
    """Whether the frame raises an exception that it received or caught: it was created elsewhere."""
    function = function_of(live.code)
    statement = statement_at(function, live.line) if function is not None else None
    return function is not None and statement is not None and is_reraise(statement, function)


def record(live: LiveFrame) -> Frame:
    """The frame as a record, with the source of its function."""
    file = live.file or ""
    return Frame(
        file=file,
        line=live.line,
        function=function_name(live.code),
        is_test=is_test_file(file),
        is_hidden=is_hidden(live.frame),
        is_handing_on=is_handing_on(live),
        source=source_around(live.code, live.line),
    )


def function_name(code: CodeType) -> str:
    """The qualified name; for a comprehension that of its function (since Python 3.12 they share a frame)."""
    return _COMPREHENSION.sub("", code.co_qualname) or code.co_qualname


# --- where live objects come from: their namespaces, and the places in the project that define them

#: Means "unknown".
MISSING: Any = object()
#: Of a class, whatever its metaclass says: its own namespace, itself with its bases, and its qualified name.
namespace_of = vars(type)["__dict__"].__get__
bases_of = vars(type)["__mro__"].__get__
qualname_of = vars(type)["__qualname__"].__get__
#: Of a module, its namespace.
variables_of = vars(ModuleType)["__dict__"].__get__
_BUILTIN = GetSetDescriptorType, MemberDescriptorType


class Namespaces:
    """The namespaces that a piece of code sees, inner ones first."""

    def __init__(self, inner: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
        self._namespaces = (inner, outer, vars(builtins))

    def value(self, node: ast.expr) -> Any:
        """The object that a name or a chain of attributes refers to, or :data:`MISSING`."""
        match node:
            case ast.Name(id=name):
                return next((names[name] for names in self._namespaces if name in names), MISSING)
            case ast.Attribute(value=value, attr=attr):
                owner = self.value(value)
                if owner is MISSING:
                    owner = self.class_of(value)
                return MISSING if owner is MISSING else _static(owner, attr)
            case _:
                return MISSING

    def class_of(self, node: ast.expr) -> Any:
        """The class of ``Class(...)``: its instances have the class's methods."""
        if isinstance(node, ast.Call):
            called = self.value(node.func)
            if issubclass(type(called), type):  # not isinstance, which may run a property of the program
                return called
        return MISSING


def _static(owner: Any, attr: str) -> Any:
    try:
        return inspect.getattr_static(owner, attr, MISSING)
    except Exception:  # a hostile __dict__ or __class__ must not cost the run
        return MISSING


def class_attribute(cls: type, name: str) -> Any:
    """The value of a name in the class or its nearest base, or :data:`MISSING`."""
    return next((names[name] for names in map(namespace_of, bases_of(cls)) if name in names), MISSING)


class InstanceLayout(NamedTuple):
    """Where the instances of a class store their attributes.

    :ivar slots: by name, those of the last base first.
    :ivar namespace: returns the ``__dict__`` of an instance; None if there is none, or if the program defines it.
    """

    slots: Mapping[str, MemberDescriptorType]
    namespace: Any


def layout_of(cls: type) -> InstanceLayout:
    """Where the instances of a class hold their attributes."""
    slots = {
        name: slot
        for base in reversed(bases_of(cls))
        for name, slot in namespace_of(base).items()
        if type(slot) is MemberDescriptorType and type(name) is str and not name.startswith("__")
    }
    where = class_attribute(cls, "__dict__")
    return InstanceLayout(slots, where.__get__ if type(where) in _BUILTIN else None)


def instance_fields(owner: Any, layout: InstanceLayout | None = None) -> dict[str, Any]:
    """The attributes of an instance itself, those in slots first.

    :param layout: of its class, if known.
    """
    layout = layout or layout_of(type(owner))
    held = {name: slot_value(slot, owner) for name, slot in layout.slots.items()}
    own = layout.namespace(owner) if layout.namespace is not None else None
    if type(own) is dict:
        held |= {name: value for name, value in own.items() if type(name) is str}
    return {name: value for name, value in held.items() if value is not MISSING}


def slot_value(slot: MemberDescriptorType, owner: Any) -> Any:
    """The value in a slot, or :data:`MISSING` if it is empty."""
    try:
        return slot.__get__(owner)
    except AttributeError:
        return MISSING


def file_of_class(cls: type) -> str:
    """The file of the module in ``__module__`` of the class; empty if unknown."""
    return file_of_module(namespace_of(cls).get("__module__"))


def file_of_module(name: Any) -> str:
    """The file of a loaded module, by its name; empty if unknown."""
    module = sys.modules.get(name) if type(name) is str else None
    filename = variables_of(module).get("__file__") if issubclass(type(module), ModuleType) else None
    return filename if type(filename) is str else ""


# --- the definitions of live functions and classes in the project
# Objects are looked at by their exact type, never by ``isinstance`` or an attribute that their class may have
# changed: a lazy proxy would create its object when asked for its class.

_LINES = 20
_CALLS = 6
_AROUND = 2
_Cached = type(functools.lru_cache(len))
_GETTER = vars(property)["fget"].__get__


class _Module(NamedTuple):
    """A file of the project, its path relative to the root, and its content."""

    filename: str
    file: str
    parsed: SourceIndex


def origin_of(found: Any, project: ProjectCode) -> Origin | None:
    """The definition of an object in the project: a function or class; None for anything else."""
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


def origin_of_function(function: FunctionType, project: ProjectCode) -> Origin | None:
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


def _calls(node: Function, function: FunctionType, project: ProjectCode) -> tuple[tuple[str, int, str], ...]:
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


def origin_of_class(cls: type, project: ProjectCode) -> Origin | None:
    """The project's ``__init__`` of the class, own or inherited; else the class.

    An inherited one is named after the class, so that two classes with one base stay apart.
    """
    base = next(each for each in bases_of(cls) if "__init__" in namespace_of(each))  # the last of all has one
    made = namespace_of(base)["__init__"]
    known = origin_of_function(made, project) if type(made) is FunctionType else None
    if known is not None:
        return known if base is cls else replace(known, function=qualname_of(cls))
    return _of_class(cls, qualname_of(cls), project)


def origin_of_attribute(cls: type, attribute: str, project: ProjectCode) -> Origin | None:
    """The assignment of an attribute in a class of the project or its bases.

    It is named after the class. Without a visible assignment, the class is returned.
    """
    name = f"{qualname_of(cls)}.{attribute}"
    key = attribute, *(_name(base) for base in bases_of(cls))
    if key not in project.attributes:
        found = (_assigning(base, attribute, name, project) for base in bases_of(cls))
        known = next((origin for origin in found if origin is not None), None)
        project.attributes[key] = known or _of_class(cls, name, project)
    return project.attributes[key]


def _assigning(cls: type, attribute: str, name: str, project: ProjectCode) -> Origin | None:
    """The assignment of the attribute in the class, with some lines around it."""
    read = _read(cls, project)
    at = assignment(read.parsed, qualname_of(cls), attribute) if read is not None else None
    if read is None or at is None:
        return None
    source = source_between(read.filename, at.first, at.first, at.first)
    body, start = None, min(at.last, max(at.first + 1, at.line - _AROUND))
    if at.last > at.first:
        body = source_between(read.filename, start, min(at.last, at.line + _AROUND), at.line)
    return _at(read, at.line, name, source, body)


def _of_class(cls: type, name: str, project: ProjectCode) -> Origin | None:
    """The first lines of the class."""
    read = _read(cls, project)
    node = class_named(read.parsed, qualname_of(cls)) if read is not None else None
    if read is None or node is None:
        return None
    line, last = node.lineno, node.end_lineno or node.lineno
    source = source_between(read.filename, line, min(last, line + _LINES - 1), line)
    return _at(read, line, name, source)


def _at(
    read: _Module, line: int, name: str, source: SourceLines | None, body: SourceLines | None = None
) -> Origin:
    is_test = is_test_file(read.file)
    return Origin(file=read.file, line=line, function=name, is_test=is_test, source=source, body=body)


def _name(cls: type) -> str:
    """Module and name of the class. The class itself as a key could run code of the program, and would stay alive."""
    module = namespace_of(cls).get("__module__")
    return f"{module if type(module) is str else ''}:{qualname_of(cls)}"


def _read(cls: type, project: ProjectCode) -> _Module | None:
    """The module of the class, if it is in a parsable file of the project."""
    filename = file_of_class(cls)
    file = project.relative(filename) if filename else None
    index = index_of(filename) if file else None
    return _Module(filename, file, index) if file is not None and index is not None else None


# --- look up what a name stood for in a frame, without running any of the program's code

_MODULE = vars(type)["__module__"].__get__


class FrameLookup:
    """Resolves expressions to project functions, by the namespaces of one frame (``names``).

    Attributes are read statically: no ``__getattr__``, property or descriptor of the program is run.

    :param fixtures: names of the fixtures the test asked for; a parameter of that name is the fixture's value.
    """

    def __init__(self, frame: FrameType, project: ProjectCode, fixtures: Collection[str] = ()) -> None:
        self._locals = dict(frame.f_locals)
        self.names = Namespaces(self._locals, frame.f_globals)
        self._project = project
        self._fixtures = fixtures

    def origin(self, node: ast.expr) -> Origin | None:
        """The project function, property or class that ``node`` names; None for everything else."""
        found = self.names.value(node)
        known = origin_of(found, self._project) if found is not MISSING else None
        if known is None and isinstance(node, ast.Name):
            return self._fixture(node)
        return known

    def attribute(self, node: ast.Attribute) -> Origin | None:
        """A plain attribute of an instance of a project class."""
        owner = self.names.value(node.value)
        cls = self.names.class_of(node.value) if owner is MISSING else type(owner)
        if cls is MISSING or issubclass(cls, type | ModuleType):
            return None
        return origin_of_attribute(cls, node.attr, self._project)

    def _fixture(self, node: ast.Name) -> Origin | None:
        """The fixture of a parameter whose value is plain data, from which its origin cannot be seen."""
        if node.id not in self._fixtures or node.id not in self._locals:
            return None
        if _MODULE(type(self._locals[node.id])) != "builtins":
            return None
        return Origin(file="", line=0, function=f"fixture {node.id}")
