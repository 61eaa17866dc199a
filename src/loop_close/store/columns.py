"""Values as a column of the database can hold them."""

from __future__ import annotations

import json
import zlib
from typing import Any

from loop_close.store.contract import HistoryError
from loop_close.store.records import RecordError

# Shorter ones gain nothing by it.
_LONG = 2_000
# What a text grows to when it is unpacked: our own stay far below, a damaged or foreign one may go on for ever.
# An episode of 3,000 failing tests comes to 5 MB, to 21 where each of them failed in as many ways as are kept.
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
    """A time for a column, in seconds since 1970; zero where it is none: programs under test change the clock."""
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
    """What the data unpacks to, of which no more is made than is allowed, whatever it would come to."""
    try:
        unpacked = zlib.decompressobj().decompress(data, most + 1)
    except zlib.error as error:
        raise RecordError(f"invalid compression: {error}") from error
    if len(unpacked) > most:
        raise RecordError("larger than recorded after decompression")
    return unpacked
