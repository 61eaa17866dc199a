"""Write the schema of the JSON report, which is made from its records."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec.inspect import StructType, multi_type_info

from loop_close.prompt.report_json import SCHEMA, Document
from loop_close.records import Record

PATH = Path(__file__).parent.parent / "src" / "loop_close" / "schema" / "report-1.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Make the schema."""
    made = json.loads(json.dumps(msgspec.json.schema(Document)))["$defs"]
    for record in records():
        describe(made[record.__name__], record)
    document = {**made.pop("Document"), "title": "loop-close report"}
    document["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": _DIALECT, "$id": SCHEMA, **document, "$defs": made}


def records() -> set[type[Record]]:
    """Find the records that a report holds."""
    found: set[type[Record]] = set()
    left = [*multi_type_info([Document])]
    while left:
        each = left.pop()
        if isinstance(each, StructType) and each.cls not in found:
            found.add(each.cls)
            left += [field.type for field in each.fields]
        left += [*getattr(each, "types", ()), *getattr(each, "item_types", ())]
        left += [part for name in ("item_type", "type") if (part := getattr(each, name, None)) is not None]
    return found


def describe(schema: dict[str, Any], record: type[Record]) -> None:
    """Say what its fields mean, in the words of the docstrings. A report has all fields of a record, and no others."""
    fields = schema["properties"]
    schema.update(required=sorted(fields), additionalProperties=False)
    for field in fields.values():
        field.pop("default", None)
    for base in reversed(record.__mro__):
        if issubclass(base, Record) and base is not Record:
            about, *said = inspect.cleandoc(base.__doc__ or "").split("\n:ivar ")
            schema["description"] = in_a_line(about)
            for names, text in (each.split(": ", 1) for each in said):
                for name in names.split(", "):
                    fields[name]["description"] = in_a_line(text)
    words = [field["description"] for field in fields.values() if "description" in field]
    for name, field in fields.items():  # several that one sentence is about have it in common
        found = [each for each in words if f"`{name}`" in each]
        if found and "description" not in field:
            field["description"] = found[-1]


def in_a_line(text: str) -> str:
    """Say it without markup, and with JSON's word for None."""
    return " ".join(re.sub(r"\bNone\b", "null", re.sub(r"(:\w+:)?(`+)([^`]+)\2", r"`\3`", text)).split())


def main() -> None:
    """Replace the file."""
    PATH.write_text(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
