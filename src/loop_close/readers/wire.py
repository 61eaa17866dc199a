"""Records as plain values and back: what a worker process sends to the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from loop_close.model import Difference, Frame, Origin, Raised, Site, Source


def to_wire(raised: Raised) -> dict[str, Any]:
    """Only dicts, tuples, strings, integers, booleans and None; strings can be encoded as UTF-8."""
    plain: dict[str, Any] = _encodable(asdict(raised))
    return plain


def _encodable(value: Any) -> Any:
    """Replace what cannot cross a process border: lone surrogates, and subclasses of ``str``."""
    if isinstance(value, str):
        text = str.__str__(value)
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {key: _encodable(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_encodable(item) for item in value)
    return value


def from_wire(data: Mapping[str, Any]) -> Raised:
    """The inverse of :func:`to_wire`.

    :raises KeyError, TypeError: when ``data`` was not made by it.
    """
    return Raised(
        **{
            **data,
            "frames": tuple(_frame(f) for f in data["frames"]),
            "site": _site(data["site"]),
            "cause": _optional(data["cause"]),
            "context": _optional(data["context"]),
            "members": tuple(from_wire(m) for m in data["members"]),
            "bases": tuple(data["bases"]),
            "nearest": tuple(data["nearest"]),
            "differences": tuple(Difference(**d) for d in data["differences"]),
        }
    )


def _optional(data: Mapping[str, Any] | None) -> Raised | None:
    return from_wire(data) if data is not None else None


def _source(data: Mapping[str, Any] | None) -> Source | None:
    return Source(start=data["start"], lines=tuple(data["lines"])) if data is not None else None


def _frame(data: Mapping[str, Any]) -> Frame:
    return Frame(**{**data, "source": _source(data["source"])})


def _origin(data: Mapping[str, Any]) -> Origin:
    return Origin(
        **{
            **data,
            "source": _source(data["source"]),
            "body": _source(data["body"]),
            "calls": tuple((file, line, function) for file, line, function in data["calls"]),
        }
    )


def _site(data: Mapping[str, Any] | None) -> Site | None:
    if data is None:
        return None
    return Site(
        frame=_frame(data["frame"]),
        statement=data["statement"],
        values=tuple((name, value) for name, value in data["values"]),
        origins=tuple(_origin(o) for o in data["origins"]),
        inner=tuple(data["inner"]),
    )
