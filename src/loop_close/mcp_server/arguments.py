"""What the tools take: their input schemas, and the check of a call against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loop_close.cli.memory import shown

#: Seconds that a run of the tests may take by default.
TIME_LIMIT = 600

Kind = Literal["string", "integer", "names"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """An argument of a tool; none has to be given, and null counts as not given.

    :ivar least: of an integer.
    :ivar most: of an integer.
    :ivar among: the names that there are, of ``names``.
    """

    name: str
    kind: Kind
    description: str
    least: int | None = None
    most: int | None = None
    among: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The argument in JSON Schema."""
        if self.kind == "names":
            items = {"type": "string", "enum": list(self.among)}
            return {"type": ["array", "null"], "items": items, "description": self.description}
        bounds = {"minimum": self.least, "maximum": self.most}
        return {
            "type": [self.kind, "null"],
            "description": self.description,
            **{name: bound for name, bound in bounds.items() if bound is not None},
        }


def input_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """What a tool takes, in JSON Schema."""
    return {
        "type": "object",
        "properties": {field.name: field.schema() for field in fields},
        "additionalProperties": False,
    }


def checked(tool: str, fields: Sequence[Field], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that were given.

    :raises ToolError: naming the argument that does not exist or cannot have its value.
    """
    known = {field.name: field for field in fields}
    found = {}
    for name, value in (given or {}).items():
        if name not in known:
            takes = ", ".join(known) or "none"
            raise ToolError(f"{tool} has no argument {name!r}; its arguments: {takes}")
        if value is not None:
            found[name] = _CHECKS[known[name].kind](tool, known[name], value)
    return found


def _string(tool: str, field: Field, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ToolError(f"{tool}: {field.name} must be a string, not {_named(value)}")


def _integer(tool: str, field: Field, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # to JSON 1.0 is the integer 1
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and _is_within(field, value):
        return int(value)
    raise ToolError(f"{tool}: {field.name} must be {_whole_number(field)}, not {_named(value)}")


def _is_within(field: Field, value: int) -> bool:
    return (field.least is None or value >= field.least) and (field.most is None or value <= field.most)


def _whole_number(field: Field) -> str:
    if field.least is None or field.most is None:
        return "a whole number" if field.least is None else f"a whole number, at least {field.least}"
    return f"a whole number from {field.least} to {field.most}"


def _names(tool: str, field: Field, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ToolError(f"{tool}: {field.name} must be an array of strings, not {_named(value)}")
    unknown = [name for name in value if name not in field.among]
    if unknown:
        raise ToolError(f"{tool}: unknown name in {field.name}; known names: {', '.join(field.among)}")
    return value


_TYPES: Mapping[type, str] = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}


def _named(value: Any) -> str:
    """The type, and the value where that is short: it goes back to who sent it."""
    kind = _TYPES.get(type(value), "a number")
    return f"{kind} ({value})" if isinstance(value, bool | int | float) and len(str(value)) < 25 else kind


_CHECKS: Mapping[str, Callable[[str, Field, Any], Any]] = {
    "string": _string,
    "integer": _integer,
    "names": _names,
}


# What a tool answers, before it is put into the words of the protocol.

_MAX_ITEMS = 25
_MAX_CHARACTERS = 600
_MAX_ERROR = 500
#: What bounds itself, or is a sum.
_WHOLE = ("next_prompt",)


class ToolError(Exception):
    """A call that cannot be answered; the text says why, and what would be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """What a tool answers.

    :ivar text: for a model to read.
    :ivar document: the same as plain values, as the tool's output schema describes them; None with an error.
    :ivar is_error: the call could not be answered. Failing tests and a loop that is stuck are answers.
    :ivar meta: for the host, by reverse-DNS key.
    """

    text: str
    document: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, bool] = field(default_factory=dict)


def failed(why: str) -> ToolAnswer:
    """The answer to a call that cannot be answered, on one line."""
    return ToolAnswer(text=shown(why, _MAX_ERROR), is_error=True)


def bounded(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its lists and texts cut, and with what was left out counted as ``omitted``.

    A host cuts or refuses what is long, and the next prompt says what counts.
    """
    omitted: dict[str, int] = {}
    found = {key: value if key in _WHOLE else _cut(value, key, omitted) for key, value in document.items()}
    return {**found, "omitted": omitted}


def _cut(value: Any, key: str, omitted: dict[str, int]) -> Any:
    if isinstance(value, Mapping):
        return {name: _cut(each, name, omitted) for name, each in value.items()}
    if isinstance(value, list):
        more = len(value) - _MAX_ITEMS
        if more > 0:
            omitted[key] = omitted.get(key, 0) + more
        return [_cut(each, key, omitted) for each in value[:_MAX_ITEMS]]
    if isinstance(value, str) and len(value) > _MAX_CHARACTERS:
        return f"{value[: _MAX_CHARACTERS - 1]}…"
    return value
