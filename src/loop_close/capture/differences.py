"""Where two values differ, found without running code of the program.

Values of builtin types, named tuples, dataclasses and attrs classes are compared as Python compares them. A class may
have an ``__eq__`` of its own, which is not called: a difference in the attributes is then only a possible reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from types import FunctionType, SimpleNamespace
from typing import Any, Literal, NamedTuple

from loop_close.capture import (
    MISSING,
    InstanceLayout,
    class_attribute,
    instance_fields,
    layout_of,
    namespace_of,
)
from loop_close.capture.values import (
    MAX_TEXT,
    SCALARS,
    SETS,
    Texts,
    are_atoms,
    base_of,
    declared_fields,
    is_atom,
    is_plain,
    tuple_names,
)
from loop_close.model import Difference
from loop_close.text import cut_apart, first_difference
from loop_close.text.redact import MARK, mark, redact

MAX_DIFFERENCES = 3
_MAX_PATH = 200
_MAX_KEY = 60
#: Limits: pairs to compare, depth, and items of one container.
MAX_STEPS = 20_000
_DEPTH = 40
_MOST = 100_000
#: The number of items that are compared at once if all are numbers and strings.
_CHUNK = 1_000
#: The number of such items that counts as one pair.
_PER_STEP = 20
#: Longer strings are shown only around the first difference.
_WHOLE = 60
_BEFORE = 20
_AROUND = 4_000
_IDENTITY = vars(object)["__eq__"]
_SEQUENCE_IDS = frozenset(map(id, (list, tuple, deque)))


class _Kind(NamedTuple):
    """How the instances of a class are compared.

    :ivar family: a builtin container, or the class itself; None if it has no parts.
    :ivar equality: decided by the parts, by the identity only, or by code of the program.
    :ivar scalar: converts an instance to a plain number or string; None for other classes.
    :ivar names: the attributes that are compared; None for all.
    :ivar layout: where they are stored.
    """

    family: Any = None
    equality: Literal["parts", "identity", "code"] = "parts"
    scalar: Any = None
    names: frozenset[str] | None = None
    layout: InstanceLayout | None = None


_PLAIN_KIND = _Kind(scalar=lambda value: value)


class Found(NamedTuple):
    """Where two values differ.

    :ivar certain: differences by the rules of Python, in order.
    :ivar possible: differences where code of the program decides; empty if there are certain ones.
    :ivar steps: how many pairs were compared.
    """

    certain: tuple[Difference, ...] = ()
    possible: tuple[Difference, ...] = ()
    steps: int = 0


def differences(left: Any, right: Any, texts: Texts, steps: int = MAX_STEPS) -> Found:
    r"""The first differences of two values, at most :data:`MAX_DIFFERENCES`.

    A path is an expression relative to the value: ``["lines"][17].qty``. The text of a side without the part is
    empty. Two lists are reported at the first index that differs, followed by their lengths, as ``3 items``, if that
    is not the end of the shorter one. For two sets each text has the items that only this set contains. Long strings
    are reported by the first line that differs, ``.split("\n")[3]``, or by the part around the difference,
    ``[120:180]``.

    :param steps: the number of pairs to compare at most.
    """
    walk = _Walk(texts, steps)
    walk.compare(left, right, "", 0, is_certain=True)
    return walk.found()._replace(steps=steps - walk.left)


class _Walk:
    """Compares two values part by part, with a limit on the number of steps."""

    def __init__(self, texts: Texts, steps: int) -> None:
        self._texts = texts
        self._certain: list[Difference] = []
        self._possible: list[Difference] = []
        self._unknown: list[Difference] = []
        self._pairs: set[tuple[int, int]] = set()
        self._kinds: dict[int, _Kind] = {}
        self._steps = steps

    @property
    def left(self) -> int:
        """The number of steps that are left."""
        return max(0, self._steps)

    def found(self) -> Found:
        """The result. If nothing differs but one pair that cannot be compared, it is that pair."""
        if self._certain or self._steps <= 0:
            return Found(tuple(self._certain))
        is_only = len(self._unknown) == 1 and self._unknown[0].path
        return Found((), tuple(self._possible or (self._unknown if is_only else ())))

    @property
    def _is_done(self) -> bool:
        return self._steps <= 0 or len(self._certain) >= MAX_DIFFERENCES

    def compare(self, left: Any, right: Any, path: str, depth: int, *, is_certain: bool) -> None:
        """Compare two values.

        :param is_certain: no container around them is compared by code of the program.
        """
        self._steps = 0 if depth > _DEPTH else self._steps - 1
        if _is_alike(left, right, is_inside=bool(path)) or self._is_done:
            return
        one, two = self._kind(left), self._kind(right)
        is_certain = is_certain and "code" not in (one.equality, two.equality)
        if one.scalar is not None and two.scalar is not None:
            self._scalars(left, right, one.scalar(left), two.scalar(right), path, is_certain=is_certain)
        elif one.family is not None and one.family is two.family:
            if (id(left), id(right)) not in self._pairs:
                self._pairs.add((id(left), id(right)))
                self._parts(one, left, right, path, depth + 1, is_certain=is_certain)
        elif "code" in (one.equality, two.equality):
            self._add_unknown(path, left, right)
        else:
            self._add(path, left, right, is_certain=is_certain)

    def _kind(self, value: Any) -> _Kind:
        if is_plain(value):
            return _PLAIN_KIND
        cls = type(value)
        if id(cls) not in self._kinds:
            self._kinds[id(cls)] = self._kind_of(cls)
        return self._kinds[id(cls)]

    def _kind_of(self, cls: type) -> _Kind:
        by = class_attribute(cls, "__eq__")
        if by is _IDENTITY:
            return _Kind(equality="identity")
        base = base_of(cls)
        if base is not None:
            equality: Literal["parts", "code"] = "parts" if by is namespace_of(base)["__eq__"] else "code"
            if base in SCALARS:
                return _Kind(equality=equality, scalar=SCALARS[base])
            return _Kind(set if base in SETS else base, equality)
        if _is_generated(cls, by):
            declared = declared_fields(cls)
            names = (
                None
                if declared is None
                else frozenset(n for n, (_, is_compared) in declared.items() if is_compared)
            )
            return _Kind(cls, names=names, layout=layout_of(cls))
        return _Kind(cls if self._texts.is_of_project(cls) else None, "code", layout=layout_of(cls))

    def _parts(self, kind: _Kind, a: Any, b: Any, path: str, depth: int, *, is_certain: bool) -> None:
        if id(kind.family) in _SEQUENCE_IDS:  # a class of the program may have an equality of its own
            self._sequences(a, b, path, depth, is_certain=is_certain)
        elif kind.family is set:
            self._sets(a, b, path, is_certain=is_certain)
        elif kind.family is dict:
            self._dicts(a, b, path, depth, is_certain=is_certain)
        else:
            left, right = (instance_fields(value, kind.layout) for value in (a, b))
            for name in dict.fromkeys([*left, *right]):
                if kind.names is None or name in kind.names:
                    one, two = left.get(name, MISSING), right.get(name, MISSING)
                    self._part(one, two, f"{path}.{name}", depth, is_certain=is_certain)

    def _part(self, left: Any, right: Any, path: str, depth: int, *, is_certain: bool) -> None:
        if self._is_done:
            return
        if left is MISSING or right is MISSING:
            self._add(path, left, right, is_certain=is_certain)
        else:
            self.compare(left, right, path, depth, is_certain=is_certain)

    def _sequences(self, a: Any, b: Any, path: str, depth: int, *, is_certain: bool) -> None:
        left, right = _items(a), _items(b)
        names = tuple_names(type(a)) if tuple_names(type(a)) == tuple_names(type(b)) else ()
        shorter, longer = sorted((len(left), len(right)))
        found = self._certain if is_certain else self._possible
        before = len(found)
        for index in self._unequal(left, right, shorter):
            step = f".{names[index]}" if names else f"[{index}]"
            self._part(left[index], right[index], path + step, depth, is_certain=is_certain)
            if len(found) > before and shorter != longer:
                lengths = [f"{len(side)} item{'s' * (len(side) != 1)}" for side in (left, right)]
                self._put(Difference(path=self._path(path), left=lengths[0], right=lengths[1]), found)
                return
        if longer == _MOST:
            self._steps = 0
        for index in range(shorter, longer):
            if self._is_done or len(found) >= MAX_DIFFERENCES:
                break
            one, two = (side[index] if index < len(side) else MISSING for side in (left, right))
            self._part(one, two, f"{path}[{index}]", depth, is_certain=is_certain)

    def _unequal(self, left: list[Any], right: list[Any], shorter: int) -> Iterator[int]:
        """The indices to compare; equal numbers and strings are skipped."""
        for start in range(0, shorter, _CHUNK):
            end = min(start + _CHUNK, shorter)
            some, others = left[start:end], right[start:end]
            self._steps -= 1
            if are_atoms(some) and are_atoms(others) and some == others:
                continue
            self._steps -= len(some) // _PER_STEP
            for index in range(start, end):
                if self._is_done:
                    return
                if not _is_alike(left[index], right[index]):
                    yield index

    def _dicts(self, a: Any, b: Any, path: str, depth: int, *, is_certain: bool) -> None:
        left, right = self._known(_items(a)), self._known(_items(b))
        is_sure = _are_sure(left, right)
        if not is_sure:
            self._add_unknown(path, a, b)
        for known in [*left, *(each for each in right if each not in left)]:
            key, one = left.get(known, (MISSING, MISSING))
            other, two = right.get(known, (MISSING, MISSING))
            is_there = key is not MISSING and other is not MISSING
            if _is_alike(one, two) or not (is_there or is_sure):
                continue
            if self._is_done:
                break
            step = self._key(other if key is MISSING else key)
            self._part(one, two, path + step, depth, is_certain=is_certain)

    def _sets(self, a: Any, b: Any, path: str, *, is_certain: bool) -> None:
        left, right = (self._known([(item, item) for item in _items(each)]) for each in (a, b))
        one, two = left.keys() - right.keys(), right.keys() - left.keys()
        if not _are_sure(left, right):
            self._add_unknown(path, a, b)
        elif (one or two) and not self._is_done:
            texts = [
                self._texts.of_set([held[known][0] for known in lone], path)
                for held, lone in ((left, one), (right, two))
            ]
            found = self._certain if is_certain else self._possible
            shown = cut_apart(texts, MAX_TEXT)
            self._put(Difference(path=self._path(path), left=shown[0], right=shown[1]), found)

    def _known(self, pairs: list[tuple[Any, Any]]) -> dict[Any, tuple[Any, Any]]:
        """Pairs of key and value by the identifier of the key, as many as there are steps."""
        self._steps -= len(pairs) // _PER_STEP
        if len(pairs) == _MOST:
            self._steps = 0
        if are_atoms(key for key, _ in pairs):
            return {pair[0]: pair for pair in pairs}
        return {self._lookup(pair[0]): pair for pair in pairs[: max(self._steps, 0)]}

    def _lookup(self, value: Any) -> Any:
        """The identifier of a key or an item: itself if it can be hashed without running code of the program."""
        self._steps -= 1
        if is_atom(value):
            return value
        kind = self._kind(value)
        if kind.scalar is not None and kind.equality == "parts":
            return kind.scalar(value)
        return _KnownValue(kind.equality == "identity", id(value))

    def _scalars(self, a: Any, b: Any, left: Any, right: Any, path: str, *, is_certain: bool) -> None:
        """Compare two scalars, or instances of classes derived from one, by their plain values."""
        if _is_equal(left, right):
            return
        is_text = type(left) is type(right) and type(left) in (str, bytes)
        if is_text and max(len(left), len(right)) > _WHOLE:
            self._put(self._in_text(left, right, path), self._certain if is_certain else self._possible)
        else:
            self._add(path, a, b, is_certain=is_certain)

    def _in_text(self, left: Any, right: Any, path: str) -> Difference:
        """The difference of two strings: the line, or the part around the first character that differs."""
        at, label, first = first_difference(left, right), path, 0
        ends = [len(left), len(right)]
        if type(left) is str and ("\n" in left or "\n" in right):
            number, first = left.count("\n", 0, at), left.rfind("\n", 0, at) + 1
            ends = [_end_of_line(text, at) for text in (left, right)]
            if left[first : ends[0]] == right[first : ends[1]]:  # where one of them ends, the other goes on
                number, first = number + 1, at + 1
                ends = [_end_of_line(text, first) if len(text) >= first else -1 for text in (left, right)]
            path += f'.split("\\n")[{number}]'
        if max(ends) - first > _WHOLE and min(ends) >= 0:
            start = max(first, at - _BEFORE)
            path += f"[{start - first}:{start - first + _WHOLE}]"
            first, ends = start, [min(end, start + _WHOLE) for end in ends]
        shown = [self._piece(text, first, end, label) for text, end in zip((left, right), ends, strict=True)]
        return Difference(path=self._path(path), left=shown[0], right=shown[1])

    def _piece(self, text: Any, start: int, end: int, label: str) -> str:
        """A part of a string as a literal; empty below zero. It is not shown if it cuts a credential."""
        if end < 0:
            return ""
        around, piece = text[max(0, start - _AROUND) : end + _AROUND], text[start:end]
        quoted = repr(piece)
        forms = [(around, redact(piece), piece)] if type(text) is str else []
        forms.append((repr(around), redact(quoted)[1:-1], quoted[1:-1]))
        for whole, shown, part in forms:
            hidden = redact(whole)
            if hidden != whole and MARK.sub("<>", shown) not in MARK.sub("<>", hidden):
                return mark(part, self._texts.numbers)
        return self._texts.fit(repr(piece[:_AROUND]), label)

    def _key(self, key: Any) -> str:
        """The subscript of a key as Python code, with strings in double quotes."""
        if type(key) is not str:
            return f"[{self._texts.of(key)}]"
        text = repr(key[: _MAX_KEY + 1])
        text = f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
        return (
            f"[{text}]"
            if len(key) <= _MAX_KEY
            else f"[{self._texts.fit(repr(key[:_AROUND]), limit=_MAX_KEY)}]"
        )

    def _path(self, path: str) -> str:
        return self._texts.fit(path, limit=_MAX_PATH)

    def _add(self, path: str, left: Any, right: Any, *, is_certain: bool) -> None:
        self._put(self._difference(path, left, right), self._certain if is_certain else self._possible)

    def _add_unknown(self, path: str, left: Any, right: Any) -> None:
        """Add a pair that only code of the program could compare."""
        if len(self._unknown) < 2:
            self._unknown.append(self._difference(path, left, right))

    def _put(self, difference: Difference, found: list[Difference]) -> None:
        if len(found) < MAX_DIFFERENCES:
            found.append(difference)

    def _difference(self, path: str, left: Any, right: Any) -> Difference:
        sides = ["" if side is MISSING else self._texts.whole_of(side, path) for side in (left, right)]
        one, two = cut_apart(sides, MAX_TEXT)
        return Difference(path=self._path(path), left=one, right=another(one, two))


class _KnownValue(NamedTuple):
    """A key or an item that is identified only by identity, because its equality may run code of the program."""

    is_by_identity: bool
    identity: int


def _items(value: Any) -> list[Any]:
    """The items of a container; those of a dict with their keys."""
    base = base_of(type(value))
    return list(islice(dict.items(value) if base is dict else base.__iter__(value), _MOST))


def _are_sure(left: Iterable[Any], right: Iterable[Any]) -> bool:
    """Whether items of one side only cannot be equal to one of the other by code of the program."""
    lone = set(left) ^ set(right)
    return all(each.is_by_identity for each in lone if type(each) is _KnownValue)


def _is_alike(left: Any, right: Any, *, is_inside: bool = True) -> bool:
    """Whether two values are identical, or equal numbers or strings. In containers NaN is equal to itself."""
    if left is right:
        return is_inside or type(left) is not float
    return are_atoms((left, right)) and bool(left == right)


def _is_generated(cls: type, equality: Any) -> bool:
    """Whether ``__eq__`` compares field by field: made by dataclasses or attrs, or of a namespace, or pydantic's."""
    if type(equality) is not FunctionType:
        return equality is vars(SimpleNamespace)["__eq__"]
    if equality.__globals__.get("__name__") == "pydantic.main":
        return True
    file = equality.__code__.co_filename
    return declared_fields(cls) is not None and (file == "<string>" or file.startswith("<attrs generated"))


def _is_equal(left: Any, right: Any) -> bool:
    """``left == right`` of plain values. Strings and bytes are never equal, and Python may warn of comparing them."""
    is_bytes = [type(side) in (bytes, bytearray) for side in (left, right)]
    return is_bytes[0] == is_bytes[1] and bool(left == right)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def another(left: str, right: str) -> str:
    """The text of the right value, made different if both texts are the same."""
    return f"another {right}" if left == right else right
