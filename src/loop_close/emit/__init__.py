"""A JSON report in the formats of CI systems: pure functions from the report to a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_close.emit.report import Document

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


def emitted(name: str, document: Document, held: int = 0) -> str:
    """The report in one of :data:`FORMATS`.

    :param held: bytes that the file of the step summary holds already.
    """
    from loop_close.emit import formats

    match name:
        case "github-summary":
            return formats.summary(document, held)
        case "github-annotations":
            return "".join(f"{line}\n" for line in formats.error_annotations(document))
        case "gitlab":
            return formats.gitlab(document)
        case "sarif":
            return formats.sarif(document)
        case _:
            return formats.junit(document)
