"""Read Ruff's JSON: one document, or an object on each line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loop_close.readers.checks import Finding, Findings
from loop_close.readers.json_parts import json_documents, json_line, mapping, number, objects, string, word

_DOCUMENT = re.compile(r'^\[\s{0,20}\{\s{0,20}"', re.MULTILINE)
_KEYS = {"code", "end_location", "filename", "location", "message", "noqa_row"}


def read_json(text: str, lines: Sequence[str], found: Findings) -> None:
    """Add what ``--output-format json`` and ``json-lines`` say."""
    for document, start, end in json_documents(text, _DOCUMENT):
        items = objects(document)
        if items and all(_KEYS.issubset(item) for item in items):
            found.is_certain = True
            found.spans.append((start, end))
            for item in items:
                found.add(_finding(item))
    for at, line in enumerate(lines):
        if line.startswith("{") and '"noqa_row"' in line and _KEYS.issubset(item := json_line(line)):
            found.is_certain = True
            found.cover(at, at + 1)
            found.add(_finding(item))


def _finding(item: Mapping[str, Any]) -> Finding:
    location = mapping(item["location"])
    help_text = string(mapping(item.get("fix")).get("message"))
    return Finding(
        message=string(item["message"]),
        code=word(item["code"]) or "invalid-syntax",  # null, before Ruff had a name for it
        file=word(item["filename"]),
        line=number(location.get("row")),
        column=number(location.get("column")),
        cell=str(number(item.get("cell")) or ""),
        notes=(f"help: {help_text}",) if help_text else (),
    )
