"""Texts of values, and the values of the names in a statement, without running code of the program.

Shown are builtin types, the attributes that instances of the project's classes store, and the declared fields of
dataclasses and named tuples; of any other object nothing.
"""

from __future__ import annotations

import ast
import datetime
import pathlib
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import EnumType
from fractions import Fraction
from itertools import islice
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from loop_close.capture import ProjectCode
from loop_close.capture.objects import (
    MISSING,
    Names,
    bases_of,
    declared_fields,
    fields_of,
    file_of_class,
    qualname_of,
    tuple_names,
)
from loop_close.syntax import checked_expressions
from loop_close.text import cut_apart
from loop_close.text.normalize import display
from loop_close.text.redact import clean

#: Limits of the text of a value, and of its name, in characters.
MAX_TEXT = 120
_MAX_NAME = 80
_MAX_NAMES = 6
#: Limits of containers: items that are shown, and depth.
_ITEMS = 10
_LEVELS = 2
#: More characters of a string are read than shown, because half a credential does not look like one.
_ROOM = 8_000
_INNER_ROOM = 1_000
#: Sets up to this size are sorted by the texts of their items; larger ones are only counted.
_SORTED = 100

# Their ``__repr__`` and ``__eq__`` are the library's, and so is all that they hold.
_PLAIN_TYPES = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, range, type(...), type(NotImplemented)),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, Decimal, Fraction, UUID),
    *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath),
)
_PLAIN_IDS = frozenset(map(id, _PLAIN_TYPES))
#: Builtin types to derive from, with what turns an instance of a derived class into one of theirs.
SCALARS: Mapping[Any, Any] = {
    str: str.__str__,
    bytes: bytes.__bytes__,
    int: int.__int__,
    float: float.__float__,
}
_BRACKETS = {list: "[|]", tuple: "(|)", dict: "{|}", set: "{|}", frozenset: "{|}", deque: "[|]"}
_SETS = (set, frozenset)
_BASES = {id(base): base for base in (*SCALARS, *_BRACKETS)}
_ARGUMENTS = vars(BaseException)["args"].__get__
# Those at the end of a path: an item of a list has the name of the list.
_INDEXES = re.compile(r"(?:\[[0-9:-]{1,20}\])+\Z")


def is_plain(value: Any) -> bool:
    """Whether the value's own ``repr`` and ``==`` run no code of the program."""
    if id(type(value)) not in _PLAIN_IDS:
        return False
    zone = value.tzinfo if type(value) in (datetime.datetime, datetime.time) else None
    # Not imported, which takes 4 ms: a zone was made by a module that is there.
    zone_info = getattr(sys.modules.get("zoneinfo"), "ZoneInfo", datetime.timezone)
    if type(zone) is datetime.timezone:
        return type(zone.tzname(None)) is str
    return zone is None or type(zone) is zone_info


def class_name(cls: type) -> str:
    """The unqualified name of a class."""
    return str.__str__(qualname_of(cls)).rpartition(".")[2]


def nothing_of(cls: type) -> str:
    """The text of an instance without anything to show: a function, a class, a module, a foreign object."""
    return f"<{class_name(cls)}>"


class Texts:
    """Texts of values: deterministic, without credentials.

    :param project: instances of its classes are shown with their attributes.
    :ivar numbers: of the credentials in the texts: what differs has another number.
    """

    def __init__(self, project: ProjectCode) -> None:
        self._project = project
        self.numbers: dict[str, int] = {}

    def of(self, value: Any, *labels: str) -> str:
        """The text of a value on one line, without credentials, volatile values and paths of this machine; uncut.

        :param labels: its names or paths: the value of a ``password`` is not shown.
        """
        text = self._project.tidy(self._raw(value, _LEVELS)).replace("\n", " ")
        for label in labels or ("",):
            start = f"{_INDEXES.sub('', label)} = " if label else ""
            shown = clean(start + text, numbers=self.numbers)
            text = shown[len(start) :] if shown.startswith(start) else clean(text, numbers=self.numbers)
        return display(text)

    def _raw(self, value: Any, levels: int) -> str:
        cls, room = type(value), _ROOM if levels == _LEVELS else _INNER_ROOM
        if is_plain(value):
            return _plain(value, room)
        if issubclass(type(cls), EnumType):
            name = fields_of(value).get("_name_")  # a combination of flags may have none
            return f"{class_name(cls)}.{name}" if type(name) is str else nothing_of(cls)
        base = next((_BASES[id(each)] for each in bases_of(cls) if id(each) in _BASES), None)
        if base in SCALARS:
            return _plain(SCALARS[base](value), room)
        if base is not None and not tuple_names(cls):
            return self._container(base, value, levels)
        if issubclass(cls, BaseException):
            texts = (self._raw(each, levels - 1) for each in _ARGUMENTS(value))
            return f"{class_name(cls)}({_joined(texts, levels)})"
        fields = self._shown_fields(value)
        texts = (f"{name}={self._raw(each, levels - 1)}" for name, each in fields.items())
        return f"{class_name(cls)}({_joined(texts, levels)})" if fields else nothing_of(cls)

    def _shown_fields(self, value: Any) -> Mapping[str, Any]:
        """The attributes to show, public ones first; none for an instance of a foreign class."""
        cls, names = type(value), tuple_names(type(value))
        if names:
            return dict(zip(names, tuple.__iter__(value), strict=False))
        declared = declared_fields(cls)
        is_known = bool(declared) or cls is SimpleNamespace
        if not is_known and self._project.relative(file_of_class(cls)) is None:
            return {}
        shown = {name: each for name, each in fields_of(value).items() if declared.get(name, (True,))[0]}
        return dict(sorted(shown.items(), key=lambda pair: pair[0].startswith("_")))

    def _container(self, base: Any, value: Any, levels: int) -> str:
        cls, size = type(value), base.__len__(value)
        if base in _SETS and size > _SORTED:
            return f"<{class_name(cls)} of {size} items>"
        if base is dict:
            pairs = dict.items(value)
            texts = (f"{self._raw(key, levels - 1)}: {self._raw(each, levels - 1)}" for key, each in pairs)
        else:
            texts = (self._raw(each, levels - 1) for each in base.__iter__(value))
        inner = _joined(sorted(texts) if base in _SETS and levels > 0 else texts, levels) if size else ""
        comma = "," if base is tuple and size == 1 else ""
        text = _BRACKETS[base].replace("|", inner + comma) if size or base not in _SETS else ""
        is_bare = cls is base and text and base not in (frozenset, deque)
        return text if is_bare else f"{class_name(cls)}({text})"


def _joined(texts: Iterable[str], levels: int) -> str:
    """The first texts, joined by commas; an ellipsis for the rest, and for everything below the last level."""
    shown: list[str] = []
    for text in texts if levels > 0 else ("…",):
        if len(shown) == _ITEMS or sum(map(len, shown)) > _ROOM:
            return ", ".join([*shown, "…"])
        shown.append(text)
    return ", ".join(shown)


def _plain(value: Any, room: int) -> str:
    """The ``repr``; of a long string its beginning and its end, where pytest shows it, too."""
    if type(value) in (str, bytes, bytearray) and len(value) > room:
        return f"{value[: room // 2]!r}…{value[-room // 2 :]!r}"
    if type(value) is int and value.bit_length() > _ROOM:  # much longer ones Python refuses to write
        return f"<int of {value.bit_length()} bits>"
    return repr(value)


# --- the values of the names in a statement


def named_values(
    statement: ast.stmt,
    names: Names,
    texts: Texts,
    labels: Sequence[str] = (),
    *,
    is_test: bool,
    is_expression: bool,
) -> tuple[tuple[str, str], ...]:
    """The names in a failing statement with the texts of their values, in its order, bounded.

    Left out is what has nothing to show: functions, classes, modules; also ``self`` in tests.

    :param names: those of the failing code.
    :param labels: names of credentials that the values may have.
    :param is_expression: the code is a lambda or a comprehension, which has the names that it binds itself.
    """
    found: dict[str, str] = {}
    for part in checked_expressions(statement) if hasattr(statement, "body") else [statement]:
        hidden = {*_bound_in(part)} if not is_expression else set()
        for node in _chains(part):
            for link in _links(node):
                name = ast.unparse(link)
                if _root(link) in hidden or (is_test and name in ("self", "cls")) or len(name) > _MAX_NAME:
                    continue
                value = names.data(link)
                text = texts.of(value, name, *labels) if value is not MISSING else name
                if text not in (name, nothing_of(type(value))):  # a member of an enumeration is its own text
                    found.setdefault(name, text)
                    break
    first = dict(islice(found.items(), _MAX_NAMES))
    return tuple(zip(first, cut_apart([*first.values()], MAX_TEXT), strict=True))


def _chains(node: ast.AST) -> Iterator[ast.expr]:
    """The longest chains of names, attributes and items that are read below a node, in order."""
    if isinstance(node, ast.expr) and _root(node):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _chains(child)


def _links(node: ast.expr) -> Iterator[ast.expr]:
    """A chain of attributes and items, then each of its prefixes, down to the first name."""
    yield node
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        yield node


def _root(node: ast.expr) -> str:
    """The first name of a chain of attributes and items with constant keys; empty for other expressions."""
    links = [*_links(node)]
    is_fixed = all(isinstance(each.slice, ast.Constant) for each in links if isinstance(each, ast.Subscript))
    return links[-1].id if is_fixed and isinstance(links[-1], ast.Name) else ""


def _bound_in(node: ast.AST) -> Iterator[str]:
    """The names that the lambdas and comprehensions below a node bind."""
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.comprehension):
            yield from (name.id for name in ast.walk(each.target) if isinstance(name, ast.Name))
