"""Write the records of the loop and of the gate into the schema of the JSON report."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import msgspec

from loop_close.baseline.undo import Undo
from loop_close.model import SecondLook
from loop_close.records import Edits, Loop, Signal, State

PATH = Path(__file__).parent.parent / "src" / "loop_close" / "schema" / "report-1.json"


def definitions() -> dict[str, dict]:
    """Make the definition of each record, by name; Python before 3.13 leaves the indent of a docstring in."""
    _, records = msgspec.json.schema_components(
        (Loop, Signal, State, Edits, SecondLook, Undo), ref_template="#/$defs/{name}"
    )
    for each in records.values():
        if "description" in each:
            each["description"] = inspect.cleandoc(each["description"])
    return json.loads(json.dumps(records))


def main() -> None:
    """Replace the definitions that are made from records; the others stay."""
    schema = json.loads(PATH.read_text(encoding="utf-8"))
    others = {name: each for name, each in schema["$defs"].items() if not name[0].isupper()}
    schema["$defs"] = {**others, **definitions()}
    PATH.write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
