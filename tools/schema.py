"""Write the schema of the JSON report, which is made from its records."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import msgspec

from loop_close.prompt.report_json import SCHEMA, Document

PATH = Path(__file__).parent.parent / "src" / "loop_close" / "schema" / "report-1.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Make the schema; Python before 3.13 leaves the indent of a docstring in."""
    made = msgspec.json.schema(Document)
    for each in made["$defs"].values():
        # A report has all fields of a record, and no others.
        each.update(required=sorted(each["properties"]), additionalProperties=False)
        for field in each["properties"].values():
            field.pop("default", None)
        about, *fields = inspect.cleandoc(each["description"]).replace("``", "`").split("\n:ivar ")
        each["description"] = _in_a_line(about)
        for names, said in (field.split(": ", 1) for field in fields):
            for name in names.split(", "):
                each["properties"][name]["description"] = _in_a_line(said)
    records = json.loads(json.dumps(made["$defs"]))
    document = {**records.pop("Document"), "title": "loop-close report"}
    document["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": _DIALECT, "$id": SCHEMA, **document, "$defs": records}


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    """Replace the file."""
    PATH.write_text(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
