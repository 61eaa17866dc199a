"""A JSON report in the formats of CI systems: pure functions from the report to a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FORMATS = ("github-summary", "github-annotations", "gitlab", "sarif", "junit")
#: How a file in one of the formats begins: no other file is replaced.
BEGINNINGS = (
    *(
        "# loop-close: ",
        "loop-close: ",
        "::error title=loop-close%3A ",
        "[]",
        '[\n{"check_name": "loop-close/',
    ),
    '{\n"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [\n'
    '{"tool": {"driver": {"name": "loop-close"',
    '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="loop-close"',
)


def emitted(name: str, document: dict[str, Any], held: int = 0, history: Sequence[str] = ()) -> str:
    """The report in one of :data:`FORMATS`.

    :param document: what :func:`~loop_close.emit.report.checked` returned.
    :param held: bytes that the file of the step summary holds already; ``history``: its lines on earlier runs.
    """
    from loop_close.emit import formats

    writers = {
        "gitlab": formats.gitlab,
        "sarif": formats.sarif,
        "junit": formats.junit,
    }
    if name == "github-summary":
        return formats.summary(document, held, history)
    if name == "github-annotations":
        return "".join(f"{line}\n" for line in formats.error_annotations(document))
    return writers[name](document)
