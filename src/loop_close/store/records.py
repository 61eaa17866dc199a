"""Frozen records and other values as plain JSON, and as columns of the database hold them."""

from __future__ import annotations

import contextlib
import json
import sys
import types
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from loop_close.store import HistoryError

T = TypeVar("T")
_Change = Callable[[Any], Any]
# Types that JSON returns unchanged.
_EXACT = (str, int, bool)
#: The most common annotations of records, which need not be evaluated.
_COMMON: dict[Any, Any] = {
    **{kind.__name__: kind for kind in (str, int, bool, float)},
    "tuple[str, ...]": tuple[str, ...],
    "tuple[int, ...]": tuple[int, ...],
}
# Kinds of records whose codecs are being built.
_BUILT: list[Any] = []


class RecordError(ValueError):
    """What was stored is not a record of ours."""


def to_plain(record: Any) -> dict[str, Any]:
    """The record, a dataclass, as a dictionary that JSON can hold."""
    kind: Any = type(record)
    return cast("dict[str, Any]", _codec(kind)[0](record))


def to_record(kind: type[T], value: object) -> T:
    """The record of that kind; names that it does not know are passed over.

    :raises RecordError: when a value has another type, or one is missing that has no default.
    """
    return cast("T", _codec(cast("Any", kind))[1](value))


@cache
def _codec(hint: Any) -> tuple[_Change, _Change]:
    """How values of the type are written and read. Built once: a record takes microseconds after that."""
    origin = get_origin(hint)
    if is_dataclass(hint) or hasattr(hint, "_field_defaults"):
        if hint in _BUILT:  # it holds one of its own kind, as an exception holds its cause
            return lambda value: _codec(hint)[0](value), lambda value: _codec(hint)[1](value)
        _BUILT.append(hint)
        try:
            return _record_codec(cast("type[Any]", hint))
        finally:
            _BUILT.remove(hint)
    if hint is Any:
        return _same, _same
    if hint in (str, int, float, bool):
        return _same, _checked(hint)
    if origin is Literal:
        return _same, _one_of(get_args(hint))
    if origin in (Union, types.UnionType):
        return _optional_codec(hint)
    if origin is tuple:
        return _tuple_codec(get_args(hint))
    if origin is frozenset:
        write, read = _row_codec(get_args(hint)[0])
        return lambda value: write(sorted(value)), lambda value: frozenset(read(value))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_codec(*get_args(hint))
    raise TypeError(f"no way to store {hint!r}")


def _same(value: Any) -> Any:
    return value


def _checked(kind: type) -> _Change:
    allowed = (int, float) if kind is float else (kind,)

    def read(value: Any) -> Any:
        if type(value) not in allowed:  # exactly: True is not a number here
            raise RecordError(f"expected {kind.__name__}, got {type(value).__name__}")
        return value

    return read


def _one_of(values: tuple[Any, ...]) -> _Change:
    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in values:
            raise RecordError(f"not one of {', '.join(map(str, values))}")
        return value

    return read


def _optional_codec(hint: Any) -> tuple[_Change, _Change]:
    (inner,) = (kind for kind in get_args(hint) if kind is not types.NoneType)
    write, read = _codec(inner)
    return (
        lambda value: None if value is None else write(value),
        lambda value: None if value is None else read(value),
    )


def _tuple_codec(hints: tuple[Any, ...]) -> tuple[_Change, _Change]:
    if hints[1:] == (...,):
        return _row_codec(hints[0])
    codecs = [_codec(hint) for hint in hints]
    if all(hint in _EXACT for hint in hints):
        return _same, _exact_row(list(hints))  # JSON takes a tuple for a list

    def read(value: Any) -> Any:
        if type(value) is not list or len(value) != len(codecs):
            raise RecordError(f"not a list of {len(codecs)}")
        return tuple([codec[1](item) for codec, item in zip(codecs, value, strict=True)])

    return lambda value: [codec[0](item) for codec, item in zip(codecs, value, strict=True)], read


def _exact_row(kinds: list[Any]) -> _Change:
    def read(value: Any) -> Any:
        if type(value) is not list or [type(item) for item in value] != kinds:
            raise RecordError(f"not a list of {', '.join(kind.__name__ for kind in kinds)}")
        return tuple(value)

    return read


def _row_codec(hint: Any) -> tuple[_Change, _Change]:
    write, read_item = _codec(hint)

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise RecordError(f"expected a list, got {type(value).__name__}")
        return tuple([read_item(item) for item in value])

    if write is _same:
        return _same, read
    return lambda value: [write(item) for item in value], read


def _mapping_codec(key: Any, hint: Any) -> tuple[_Change, _Change]:
    write, read_item = _codec(hint)
    read_key = _number if key is int else _same  # JSON has no other keys than strings
    is_numbers = key is int and hint is int

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise RecordError(f"expected a mapping, got {type(value).__name__}")
        if is_numbers and {*map(type, value.values())} == {int}:  # without a call for each
            with contextlib.suppress(ValueError):
                return {int(name): item for name, item in value.items()}
        return {read_key(name): read_item(item) for name, item in value.items()}

    return lambda value: {name: write(item) for name, item in value.items()}, read


def _number(name: str) -> int:
    try:
        return int(name)
    except ValueError as error:
        raise RecordError(f"not a whole number: {name!r}") from error


def _record_codec(kind: type[Any]) -> tuple[_Change, _Change]:
    hints = _hints(kind)
    rows = [(name, default, _codec(hints[name])) for name, default in _defaults(kind)]
    writers = [(name, default, None if c[0] is _same else c[0]) for name, default, c in rows]
    # A look at the type saves most calls, and half of the time.
    readers = {name: (hints[name] if hints[name] in _EXACT else None, c[1]) for name, _, c in rows}

    def write(record: Any) -> dict[str, Any]:
        plain = {}
        for name, default, change in writers:
            value = getattr(record, name)
            if value != default:
                plain[name] = value if change is None else change(value)
        return plain

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise RecordError(f"expected {kind.__name__}, got {type(value).__name__}")
        known = {}
        for name, item in value.items():
            if name in readers:
                exact, change = readers[name]
                known[name] = item if type(item) is exact else change(item)
        try:
            return kind(**known)
        except TypeError as error:
            raise RecordError(str(error)) from error

    return write, (read if is_dataclass(kind) else _tuple_reader(kind, rows, hints))


def _tuple_reader(kind: Any, rows: list[tuple[str, Any, Any]], hints: Mapping[str, Any]) -> _Change:
    """The same for named tuples: of calls there are hundreds of thousands, with few names of files and functions."""
    defaults = [default for _, default, _ in rows]
    required = {name for name, default, _ in rows if default is MISSING}
    readers = {
        name: (n, hints[name] if hints[name] in _EXACT else None, codec[1])
        for n, (name, _, codec) in enumerate(rows)
    }

    def read(value: Any) -> Any:
        if type(value) is not dict or not required <= value.keys():
            raise RecordError(f"not a {kind.__name__} with {', '.join(sorted(required))}")
        row = defaults.copy()
        for name, item in value.items():
            if name in readers:
                at, exact, change = readers[name]
                if type(item) is not exact:
                    row[at] = change(item)
                else:
                    row[at] = sys.intern(item) if exact is str else item
        return kind._make(row)

    return read


def _hints(kind: Any) -> dict[str, Any]:
    """As :func:`typing.get_type_hints`, which evaluates each of them, most of them for the same few types."""
    written = {name: hint for name, hint in kind.__annotations__.items() if hint not in _COMMON}
    others = types.SimpleNamespace(__annotations__=written)
    evaluated = get_type_hints(others, vars(sys.modules[kind.__module__])) if written else {}
    return {name: evaluated.get(name) or _COMMON[hint] for name, hint in kind.__annotations__.items()}


def _defaults(kind: Any) -> Iterator[tuple[str, Any]]:
    """The fields with their defaults; for one that has none, what equals no value."""
    if is_dataclass(kind):
        for each in fields(kind):
            yield each.name, each.default if each.default_factory is MISSING else each.default_factory()
    else:  # a named tuple
        yield from ((name, kind._field_defaults.get(name, MISSING)) for name in kind._fields)


# --- values as a column of the database can hold them

# Shorter ones gain nothing by it.
_LONG = 2_000
# What a text grows to when it is unpacked: our own stay far below, a damaged or foreign one may go on for ever.
# An episode of 3,000 failing tests has 5 MB; 21 if each failed in as many ways as are kept.
_LARGEST = 24_000_000
_UNCOUNTED = 1 << 62
_LATEST = 1e12
_LARGEST_CONTENT = 300_000


def from_text(text: str) -> str | bytes:
    """A text for a column: file names and node ids may hold lone surrogates, which UTF-8 has no bytes for."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def to_text(value: Any) -> str:
    """The text of a column, as :func:`from_text` was given it.

    :raises RecordError: when it is none.
    """
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise RecordError("expected text, got bytes") from error
    if not isinstance(value, str):
        raise RecordError(f"expected text, got {type(value).__name__}")
    return value


def to_optional_text(value: Any) -> str | None:
    """As :func:`to_text`; None stays None."""
    return None if value is None else to_text(value)


def to_whole(value: Any) -> int:
    """The whole number of a column.

    :raises RecordError: when it is none, or larger than anything that we count.
    """
    if type(value) is not int or abs(value) >= _UNCOUNTED:
        raise RecordError("not a valid count")
    return value


def moment_of(now: Any) -> float:
    """A time for a column, in seconds since 1970; zero if it is none: programs under test change the clock."""
    return float(now) if type(now) in (int, float) and abs(now) < _LATEST else 0.0


def from_json(value: Any) -> str | bytes:
    """A plain JSON value for a column, compressed when it is long.

    JSON in ASCII holds any text, lone surrogates too.
    """
    return packed(json_text(value))


def json_text(value: Any) -> str:
    """The value in JSON, the same for the same value."""
    return json.dumps(value, separators=(",", ":"), check_circular=False)


def packed(text: str) -> str | bytes:
    """A text in ASCII for a column that :func:`to_json` reads, compressed when it is long.

    :raises HistoryError: when it is too long for that.
    """
    if len(text) > _LARGEST:
        raise HistoryError("the run is too large to record")
    return text if len(text) < _LONG else zlib.compress(text.encode(), 1)


def to_json(value: Any) -> Any:
    """The JSON value of a column.

    :raises RecordError: when it is none.
    """
    text = _unpacked(value, _LARGEST) if isinstance(value, bytes) else value
    if isinstance(text, str) and len(text) > _LARGEST:
        raise RecordError("a string that is too long")
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from error


def from_content(content: bytes) -> bytes:
    """A file's content for a column, compressed."""
    return zlib.compress(content, 1)


def to_content(value: Any, size: Any) -> bytes:
    """The content of a column that has that many bytes.

    :raises RecordError: when it is none.
    """
    if not isinstance(value, bytes) or not isinstance(size, int):
        raise RecordError("not the content of a file")
    content = _unpacked(value, _LARGEST_CONTENT)
    if len(content) != size:
        raise RecordError("the content of a file has the wrong length")
    return content


def _unpacked(data: bytes, most: int) -> bytes:
    """The unpacked data; unpacking stops at the limit."""
    try:
        unpacked = zlib.decompressobj().decompress(data, most + 1)
    except zlib.error as error:
        raise RecordError(f"invalid compression: {error}") from error
    if len(unpacked) > most:
        raise RecordError("larger than recorded after decompression")
    return unpacked
