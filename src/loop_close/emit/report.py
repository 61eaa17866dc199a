"""What the formats read of a JSON report, as records; and what they say of a root cause and of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from loop_close.facts import base_name
from loop_close.model import Counts
from loop_close.prompt import failing, number_of, safe
from loop_close.prompt.place import POSSIBLE, percent
from loop_close.prompt.report_json import SCHEMA
from loop_close.records import Record
from loop_close.syntax.meaning import MODULE
from loop_close.text import one_line

#: The largest number that every format holds.
_LARGEST = 2**31 - 1
_Line = Annotated[int, Meta(ge=0, le=_LARGEST)]


class Located(Record, frozen=True):
    """What has a place; ``file`` is empty and ``line`` 0 if that is not known."""

    file: str
    line: _Line

    @property
    def where(self) -> str:
        """``file:line``, or the file alone."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Place(Located, frozen=True):
    """A place in a function."""

    function: str


class Suspect(Place, frozen=True):
    """A place that may have to be changed, with its probability."""

    end_line: _Line
    score: Annotated[float, Meta(ge=0, le=1)]
    reasons: tuple[str, ...]
    constant: str = ""

    @property
    def called(self) -> str:
        """``cost()``, or ``RATES``; empty for other code outside of functions."""
        return self.constant or (f"{self.function}()" if self.function not in ("", MODULE) else "")


class Cause(Record, frozen=True):
    """A root cause."""

    id: str
    kind: str
    exception: str
    message: str
    location: Place
    tests: tuple[str, ...]
    suspects: tuple[Suspect, ...]

    @property
    def said(self) -> str:
        """What was raised, on the lines of its message."""
        return raised_text(self.exception, self.message or self.kind)

    @property
    def suspect(self) -> Suspect | None:
        """The first suspect, unless the location of the failure says more."""
        first = next(iter(self.suspects), None)
        return first if first is not None and (first.score >= POSSIBLE or not self.location.file) else None

    @property
    def place(self) -> Place:
        """Where to look first: the failing line if it is in the suspect."""
        at, first = self.location, self.suspect
        if first is None:
            return at
        # without its file at hand, its last line is not known
        last = first.end_line or (_LARGEST if base_name(at.function) == first.function else 0)
        return at if at.file == first.file and first.line <= at.line <= last else first

    def heading(self, quote: Callable[[str], str] = one_line) -> str:
        """``cost() in src/shop/shipping.py:15 (62 %)``, or what failed and where, on one line.

        :param quote: what is done to each text from outside.
        """
        where = quote(self.place.where)
        if self.suspect is None:
            name = quote(self.exception or self.kind)
            return f"{name} at {where}" if self.place.file else name
        name = f"{quote(self.suspect.called)} in " if self.suspect.called else ""
        return f"{name}{where} ({percent(self.suspect.score)})"


class Link(Record, frozen=True):
    """An exception of a chain."""

    exception: str


class Evidence(Located, frozen=True):
    """A failure, or a finding that is of no test."""

    kind: str
    label: str
    snippet: str
    test: str = ""
    phase: str = ""
    subtest: str = ""
    cause: str = ""
    chain: tuple[Link, ...] = ()

    @property
    def exception(self) -> str:
        """The name of the exception; empty for none."""
        return self.chain[0].exception if self.chain else ""

    @property
    def said(self) -> str:
        """What was raised, on the lines of its message."""
        return raised_text(self.exception, self.snippet or self.kind)


class Source(Record, frozen=True):
    """The result of one source; ``failed`` are its failing tests, ``root_causes`` the ids of theirs."""

    source: str
    verdict: str
    incomplete: str
    counts: Counts
    root_causes: tuple[str, ...]
    failed: tuple[str, ...] = ()
    stall_reason: str = ""


class Document(Record, frozen=True):
    """A report."""

    source: str
    verdict: str
    incomplete: str
    stall_reason: str
    counts: Counts
    root_causes: tuple[Cause, ...]
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]


class ReportError(ValueError):
    """A text that is not a report of this version. The message says why, and what would be right."""


def parsed(text: str) -> dict[str, Any]:
    """The JSON object of a report.

    :raises ReportError: for a text that is not a report, is cut off or has another version.
    """
    try:
        document = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as fault:
        raise ReportError(f"it is not JSON, or cut off ({fault})") from fault
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("loop-close.report/"):
        raise ReportError("it is not a report of loop-close, as --loop-close-json and merge --json write it")
    if schema != SCHEMA:
        raise ReportError(
            f"its schema is {schema}, this version reads {SCHEMA}; use the version of loop-close that wrote it"
        )
    return dict(document)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def checked(document: Mapping[str, Any], folder: str = "") -> Document:
    """A report from anywhere: each value of its type, each text sanitized and redacted, as of :func:`document_of`."""
    return document_of(
        {name: _texts(value, lambda _, text: safe(text)) for name, value in document.items()}, folder
    )


def document_of(document: Mapping[str, Any], folder: str = "") -> Document:
    """What the formats read of a report of our own.

    :param folder: the root's path in the repository, which is put before the path of each file.
    :returns: paths are relative, with forward slashes and without dot segments.
    :raises ReportError: for a value that is missing or has another type.
    """
    located = _texts(document, lambda name, text: _path(text, folder) if name == "file" else text)
    try:
        return msgspec.convert(located, Document)
    except msgspec.ValidationError as fault:
        raise ReportError(f"it does not fit: {fault}") from fault


def _texts(value: Any, changed: Callable[[str, str], str], name: str = "") -> Any:
    """A value of JSON with each text ``changed``, which is called with the key and the text."""
    if isinstance(value, str):
        return changed(name, value)
    if isinstance(value, Mapping):
        return {key: _texts(inner, changed, key) for key, inner in value.items()}
    return [_texts(item, changed, name) for item in value] if isinstance(value, list) else value


def _path(file: str, folder: str) -> str:
    """The path from the folder; empty for none, and for one outside of it all."""
    file = file.replace("\n", " ").strip()
    names: list[str] = []
    for name in f"{folder}/{file}".split("/") if file else ():
        if name == ".." and not names:
            return ""
        if name == "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return "/".join(names)


def why_no_result(result: Document | Source) -> str:
    """Why a report, or one of its sources, is not green though no root cause says so; empty if one does.

    :returns: why the run is incomplete, also if there are root causes: more may fail.
    """
    if result.verdict == "green":
        return ""
    if result.incomplete:
        return f"The run is incomplete: {result.incomplete}"
    known = result.stall_reason or "no test failed, but the run is not green"
    return "" if result.root_causes else f"No result: {known}"


def title(document: Document) -> str:
    """``2 tests fail, 1 error, 34 pass``; plain text."""
    counts = document.counts
    parts = [failing(counts.failed, counts.failed_subtests), number_of(counts.errors, "error", "errors")]
    if not any(parts):
        parts = [number_of(len(document.root_causes), "root cause", "root causes") or "No result"]
    if counts.passed:
        parts.append(f"{counts.passed:,} pass{'es' * (counts.passed == 1)}")
    return ", ".join(filter(None, parts))


def raised_text(exception: str, message: str) -> str:
    """What was raised, on the lines of its message; an assertion needs no name."""
    is_named = not exception or message.startswith(("assert ", exception))
    return message if is_named else f"{exception}: {message}"


def shortened(text: str, limit: int) -> str:
    """The beginning of a text; a cut one ends in ``…``."""
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
