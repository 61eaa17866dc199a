"""Texts of values, and the values of the names in a statement, without running code of the program.

Read are builtin types, the attributes of instances themselves, and the declared fields of dataclasses, attrs and named
tuples. Classes are compared by identity, because hashing or comparing one may run code of its metaclass.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime
import pathlib
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import EnumType
from importlib import import_module
from itertools import islice
from types import (
    CoroutineType,
    GeneratorType,
    MemberDescriptorType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any
from uuid import UUID

from loop_close import lazy
from loop_close.capture import (
    MISSING,
    Namespaces,
    ProjectCode,
    bases_of,
    class_attribute,
    file_of_class,
    instance_fields,
    qualname_of,
    slot_value,
    variables_of,
)
from loop_close.syntax.makers import Maker
from loop_close.syntax.uses import checked_expressions
from loop_close.text import cut_apart
from loop_close.text.normalize import display
from loop_close.text.redact import clean, mark

#: Limits of the text of a value, and of its name, in characters.
MAX_TEXT = 120
_MAX_NAME = 80
_MAX_NAMES = 6
#: Limits of containers: items that are shown, and depth.
_ITEMS = 10
_LEVELS = 2
#: More characters of a string are read than shown, because half a credential does not look like one.
_ROOM = 4_000
_INNER_ROOM = 1_000
#: Sets up to this size are sorted by the texts of their items; larger ones are only counted.
_SORTED = 100
#: Single items of larger dicts are not read.
_MOST_KEYS = 10_000

_Keys: Any = type({}.keys())
_ATOMS = (type(None), bool, int, float, complex, str)
# Their ``__repr__`` and ``__eq__`` are the library's, and so is all that they hold.
_PLAIN = (
    *(*_ATOMS, bytes, bytearray, range, type(...), type(NotImplemented), Decimal, UUID),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath),
)
#: Builtin types to derive from, with what turns an instance of a derived class into one of theirs.
SCALARS: Mapping[Any, Any] = {
    str: str.__str__,
    bytes: bytes.__bytes__,
    int: int.__int__,
    float: float.__float__,
}
_BRACKETS = {list: "[]", tuple: "()", dict: "{}", set: "{}", frozenset: "{}", deque: "[]", _Keys: "[]"}
SETS = (set, frozenset, _Keys)
_ATOM_IDS, _PLAIN_IDS = frozenset(map(id, _ATOMS)), frozenset(map(id, _PLAIN))
_BASES = {id(base): base for base in (*SCALARS, *_BRACKETS)}
_ARGUMENTS = vars(BaseException)["args"].__get__
_WAITING = {id(GeneratorType): "generator", id(CoroutineType): "coroutine"}
_INNER_SCOPES = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def is_plain(value: Any) -> bool:
    """Whether the value's own ``repr`` and ``==`` run no code of the program."""
    if id(type(value)) not in _PLAIN_IDS:
        return _is_of(value, "fractions", "Fraction")
    if type(value) is datetime.datetime or type(value) is datetime.time:
        zone = value.tzinfo
        return zone is None or type(zone) is datetime.timezone or _is_of(zone, "zoneinfo", "ZoneInfo")
    return True


def _is_of(value: Any, module: str, name: str) -> bool:
    """Whether it is an instance of a class of the standard library that is loaded only where one seems to be there."""
    return qualname_of(type(value)) == name and type(value) is getattr(import_module(module), name)


def is_atom(value: Any) -> bool:
    """Whether it can be hashed and compared without running code of the program."""
    if type(value) is tuple:
        return len(value) <= _ITEMS and all(map(is_atom, value))
    return id(type(value)) in _ATOM_IDS or type(value) is bytes


def are_atoms(values: Iterable[Any]) -> bool:
    """Whether all are None, numbers or strings; optimized for speed."""
    return _ATOM_IDS.issuperset(map(id, map(type, values)))


def base_of(cls: type) -> Any:
    """The builtin container or scalar that the class is or derives from; None for others."""
    return next((_BASES[id(base)] for base in bases_of(cls) if id(base) in _BASES), None)


def class_name(cls: type) -> str:
    """The unqualified name of a class."""
    return str.__str__(qualname_of(cls)).rpartition(".")[2]


def tuple_names(cls: type) -> tuple[str, ...]:
    """The names of a named tuple's items; empty for other classes."""
    names = class_attribute(cls, "_fields") if base_of(cls) is tuple else ()
    return names if type(names) is tuple and all(type(name) is str for name in names) else ()


def declared_fields(cls: type) -> dict[str, tuple[bool, bool]] | None:
    """The fields of a dataclass or an attrs class, each with whether it is shown and compared; else None."""
    fields = class_attribute(cls, "__dataclass_fields__")
    if type(fields) is dict:
        plain = [field for field in fields.values() if type(field) is dataclasses.Field]
        return {field.name: (bool(field.repr), bool(field.compare)) for field in plain}
    attributes = class_attribute(cls, "__attrs_attrs__")
    module = sys.modules.get("attr")
    kind = variables_of(module).get("Attribute") if type(module) is ModuleType else None
    if kind is None or base_of(type(attributes)) is not tuple:
        return None
    known = [each for each in tuple.__iter__(attributes) if type(each) is kind]
    return {each.name: (each.repr is True, each.eq is True and each.eq_key is None) for each in known}


# Those at the end of a path: an item of a list has the name of the list, and a part of a string that of the string.
_INDEXES = lazy.pattern(r"(?:\[[0-9:-]{1,20}\]|\.split\(\"\\n\"\))+\Z")


def is_of_credential(label: str) -> bool:
    """Whether a value of that name is a credential."""
    return "q7Rk2xw9" not in clean(f"{label} = 'q7Rk2xw9'")


class Texts:
    """Texts of values: deterministic, bounded, without credentials.

    :param project: instances of its classes are shown with their attributes, most others only by class name.
    """

    def __init__(self, project: ProjectCode) -> None:
        self._project = project
        #: Of the credentials in the texts: what differs has another number.
        self.numbers: dict[str, int] = {}

    def of(self, value: Any, label: str = "") -> str:
        """The text of a value, at most :data:`MAX_TEXT` characters.

        :param label: its name or path: the value of a ``password`` is not shown.
        """
        return self.fit(self._raw(value, _LEVELS), label)

    def exact_of(self, value: Any) -> tuple[str, ...]:
        """What is shown of a value somewhere, with the credentials in it: its text, and the end of a long string."""
        text = self._raw(value, _LEVELS)
        is_string = type(value) is str or type(value) is bytes  # "in" would run code of a metaclass
        return (text, repr(value[-_ROOM:])) if is_string and len(value) > _ROOM else (text,)

    def note(self, exact: Iterable[str]) -> None:
        """Note the credentials that have a name in one of the texts: a part of one alone has none."""
        for text in exact:
            clean(text, numbers=self.numbers)

    def whole_of(self, value: Any, label: str = "") -> str:
        """The uncut text of a value."""
        return self.whole(self._raw(value, _LEVELS), label)

    def of_data(self, value: Any, label: str) -> str:
        """The uncut text of a value; empty for functions, classes, modules, and objects without anything to show."""
        text = self._raw(value, _LEVELS)
        return self.whole(text, label) if not text.startswith("<") or id(type(value)) in _WAITING else ""

    def of_set(self, items: Sequence[Any], label: str) -> str:
        """The uncut text of items as a set; empty for none, only the number for very many."""
        if len(items) > _SORTED:
            return f"{len(items)} items"
        texts = sorted(self._raw(item, _LEVELS - 1, _INNER_ROOM) for item in items)
        return self.whole(f"{{{_joined(texts, 1)}}}", label) if texts else ""

    def fit(self, text: str, label: str = "", limit: int = MAX_TEXT) -> str:
        """The text as :meth:`whole`, cut to ``limit`` characters."""
        return cut_apart([self.whole(text, label)], limit)[0]

    def whole(self, text: str, label: str = "") -> str:
        """The text without credentials, volatile values and paths of this machine; uncut."""
        text = self._project.tidy(text).replace("\n", " ")
        label = label and f"{_INDEXES.sub('', label)} = "
        shown = clean(label + text, numbers=self.numbers)
        shown = shown[len(label) :] if shown.startswith(label) else clean(text, numbers=self.numbers)
        return display(shown)

    def renamed(self, text: str, label: str) -> str:
        """A text that was cut before its name was known: of a secret without its beginning nothing is shown."""
        if text.startswith("…") and is_of_credential(label):
            return mark(text, self.numbers)
        return self.whole(text, label)

    def is_of_project(self, cls: type) -> bool:
        """Whether a file of the project defines the class."""
        return self._project.relative(file_of_class(cls)) is not None

    def _raw(self, value: Any, levels: int, room: int = _ROOM) -> str:
        """The uncut text; a name in angle brackets for a value without anything to show."""
        cls = type(value)
        if is_plain(value):
            return _plain_text(value, room)
        if issubclass(type(cls), EnumType):
            return _member_text(cls, instance_fields(value))
        if id(cls) in _WAITING:
            return f"<{_WAITING[id(cls)]} {str.__str__(value.__qualname__)}>"
        base = base_of(cls)
        if base in SCALARS:
            return _plain_text(SCALARS[base](value), room)
        if base is not None and not tuple_names(cls):
            return self._container(base, value, levels)
        if issubclass(cls, BaseException):
            return f"{class_name(cls)}({self._joined(_ARGUMENTS(value), levels)})"
        fields = self._shown_fields(value)
        if not fields:
            return f"<{class_name(cls)}>"
        texts = (f"{name}={self._raw(each, levels - 1, _INNER_ROOM)}" for name, each in fields.items())
        return f"{class_name(cls)}({_joined(texts, levels)})"

    def _shown_fields(self, value: Any) -> Mapping[str, Any]:
        """The attributes to show, public ones first; none for an instance of a foreign class."""
        cls = type(value)
        names = tuple_names(cls)
        if names:
            return dict(zip(names, tuple.__iter__(value), strict=False))
        declared = declared_fields(cls)
        if declared is None and cls is not SimpleNamespace and not self.is_of_project(cls):
            return {}
        hidden = {name for name, (is_shown, _) in (declared or {}).items() if not is_shown}
        held = [pair for pair in instance_fields(value).items() if pair[0] not in hidden]
        return dict(sorted(held, key=lambda pair: pair[0].startswith("_")))

    def _container(self, base: Any, value: Any, levels: int) -> str:
        cls, brackets = type(value), _BRACKETS[base]
        size = base.__len__(value)
        if base in SETS and size > _SORTED:
            return f"<{class_name(cls)} of {size} items>"
        inner = ""
        if base is dict:
            pairs = islice(dict.items(value), _ITEMS + 1)
            texts = (
                f"{self._raw(k, levels - 1)}: {self._raw(each, levels - 1, _INNER_ROOM)}" for k, each in pairs
            )
            inner = _joined(texts, levels) if size else ""
        else:
            items = islice(base.__iter__(value), _SORTED if base in SETS else _ITEMS + 1)
            inner = self._joined(items, levels, is_sorted=base in SETS) if size else ""
        comma = "," if base is tuple and size == 1 else ""
        text = f"{brackets[0]}{inner}{comma}{brackets[1]}" if size or base not in SETS else ""
        is_bare = cls in (list, tuple, dict) or (cls is set and size)
        return text if is_bare else f"{class_name(cls)}({text})"

    def _joined(self, items: Iterable[Any], levels: int, *, is_sorted: bool = False) -> str:
        texts = (self._raw(item, levels - 1, _INNER_ROOM) for item in items)
        return _joined(sorted(texts) if is_sorted and levels > 0 else texts, levels)


def _joined(texts: Iterable[str], levels: int) -> str:
    """The first texts, joined by commas; an ellipsis for the rest, and for everything below the last level."""
    shown: list[str] = []
    size = 0
    for text in texts if levels > 0 else ("…",):
        if len(shown) == _ITEMS or size > _ROOM:
            shown.append("…")
            break
        shown.append(text)
        size += len(text)
    return ", ".join(shown)


def _member_text(cls: type, held: Mapping[str, Any]) -> str:
    """The text of an enum member; for a combination of flags its number."""
    name, number = held.get("_name_"), held.get("_value_", "")
    shown = f".{name}" if type(name) is str else f"({number!r})" if is_plain(number) else "(…)"
    return f"{class_name(cls)}{shown}"


def _plain_text(value: Any, room: int) -> str:
    if type(value) in (str, bytes, bytearray) and len(value) > room:
        return f"{value[:room]!r}…"
    if type(value) is int and value.bit_length() > _ROOM:  # much longer ones Python refuses to write
        return f"<int of {value.bit_length()} bits>"
    return repr(value)


def evaluate(node: ast.expr, names: Namespaces) -> Any:
    """The value of a literal, a name, an attribute or an item with a constant key, or :data:`MISSING`."""
    match node:
        case ast.Name():
            return names.value(node)
        case ast.Attribute(value=inner, attr=attr):
            owner = evaluate(inner, names)
            return MISSING if owner is MISSING else _attribute(owner, attr)
        case ast.Subscript(value=inner, slice=index):
            owner = evaluate(inner, names)
            return MISSING if owner is MISSING else _item(owner, _literal(index))
        case _:
            return _literal(node)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return MISSING


def _attribute(owner: Any, name: str) -> Any:
    """The value of an attribute that can be read without running code."""
    cls = type(owner)
    if issubclass(cls, ModuleType):
        return variables_of(owner).get(name, MISSING)
    if issubclass(cls, type):
        return _without_getter(class_attribute(owner, name))
    if type(class_attribute(cls, "__getattribute__")) is not WrapperDescriptorType:
        return MISSING
    names, found = tuple_names(cls), class_attribute(cls, name)
    if name in names:
        return tuple.__getitem__(owner, names.index(name))
    if type(found) is MemberDescriptorType:
        return slot_value(found, owner)
    if class_attribute(type(found), "__set__") is not MISSING:
        return MISSING
    return instance_fields(owner).get(name, _without_getter(found))


def _without_getter(found: Any) -> Any:
    return found if class_attribute(type(found), "__get__") is MISSING else MISSING


def _item(owner: Any, key: Any) -> Any:
    base = base_of(type(owner))
    if base not in (list, tuple, dict) or not is_atom(key):
        return MISSING
    if class_attribute(type(owner), "__getitem__") is not vars(base)["__getitem__"]:
        return MISSING
    if base is dict:
        is_safe = dict.__len__(owner) <= _MOST_KEYS and all(map(is_atom, dict.__iter__(owner)))
        return dict.get(owner, key, MISSING) if is_safe else MISSING
    is_there = type(key) is int and -base.__len__(owner) <= key < base.__len__(owner)
    return base.__getitem__(owner, key) if is_there else MISSING


def _read_by(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a simple statement that are read, without the object whose attribute is assigned."""
    if isinstance(statement, ast.Assign):
        return [*(t for t in statement.targets if not isinstance(t, ast.Attribute)), statement.value]
    return [statement]


def named_values(
    statement: ast.stmt,
    names: Namespaces,
    texts: Texts,
    *,
    makers: Sequence[Maker] = (),
    is_test: bool,
    in_expression: bool,
) -> tuple[tuple[str, str], ...]:
    """The names in a failing statement with the texts of their values, in its order, bounded.

    Left out are functions, classes, modules, and objects without anything to show; also a name that is compared with a
    literal that it equals, and ``self`` in tests.

    :param names: the namespaces of the failing code.
    :param makers: what made the values that the statement tests. Of the names in these follow those whose values are
        still the same: immutable ones, and all where the statement follows at once.
    :param in_expression: the code is a lambda or a comprehension, which has the names that it binds itself.
    """
    read = checked_expressions(statement) if hasattr(statement, "body") else _read_by(statement)
    inside = (node for part in read for node in ast.walk(part) if isinstance(node, _INNER_SCOPES))
    hidden = set() if in_expression else {name for node in inside for name in _bound_by(node)}
    literals = {pair for part in read for pair in _beside_literals(part)}
    found: dict[str, str] = {}
    for node in (*(chain for part in read for chain in _chains(part)), *_arguments(makers, names)):
        if len(found) == _MAX_NAMES:
            break
        for link in _links(node):
            name = ast.unparse(link)
            is_left_out = _root(link) in hidden or (is_test and name in ("self", "cls"))
            text = "" if is_left_out else _text(link, name, names, texts)
            if text:
                if (name, text) not in literals:
                    found.setdefault(name, text)
                break
    return tuple(zip(found, cut_apart([*found.values()], MAX_TEXT), strict=True))


def _arguments(makers: Sequence[Maker], names: Namespaces) -> Iterator[ast.expr]:
    """The names in the calls that made what is tested, as far as they have the values that were passed."""
    changed = {name for maker in makers for name in maker.changed}
    for maker in makers:
        inner = (node for node in ast.walk(maker.value) if isinstance(node, _INNER_SCOPES))
        left_out = changed | {name for node in inner for name in _bound_by(node)}
        for node in _chains(maker.value):
            is_fixed = maker.is_next or (isinstance(node, ast.Name) and is_atom(evaluate(node, names)))
            if is_fixed and _root(node) not in left_out:
                yield node


def _text(node: ast.expr, name: str, names: Namespaces, texts: Texts) -> str:
    value = evaluate(node, names) if len(name) <= _MAX_NAME else MISSING
    text = texts.of_data(value, name) if value is not MISSING else ""
    return text if text != name else ""  # the member of an enumeration is its own text


def _chains(node: ast.AST) -> Iterator[ast.expr]:
    """The longest chains of names, attributes and items that are read below a node, in order."""
    match node:
        case ast.Name(ctx=ast.Load()):
            yield node
        case ast.Attribute(ctx=ast.Load()) | ast.Subscript(ctx=ast.Load()) if _root(node):
            yield node
        case ast.NamedExpr(target=target, value=value) | ast.AugAssign(target=target, value=value):
            yield from [target] if _root(target) else _chains(target)
            yield from _chains(value)
        case _:
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
    is_fixed = all(_literal(each.slice) is not MISSING for each in links if isinstance(each, ast.Subscript))
    return links[-1].id if is_fixed and isinstance(links[-1], ast.Name) else ""


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a lambda or a comprehension binds."""
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.comprehension):
            yield from (name.id for name in ast.walk(each.target) if isinstance(name, ast.Name))


def _beside_literals(part: ast.AST) -> Iterator[tuple[str, str]]:
    """The expressions that are compared with a literal, each with the text of the literal."""
    for node in ast.walk(part):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [ast.unparse(side) for side in sides if isinstance(side, ast.Constant)]
            yield from ((ast.unparse(side), text) for side in sides for text in texts)
