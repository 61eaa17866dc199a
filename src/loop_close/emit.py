"""A JSON report in the formats of CI systems: GitHub, GitLab, SARIF. Pure functions from the report to a text."""

from __future__ import annotations

import json
import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.prompt import safe
from loop_close.prompt.place import LEAST_SHOWN, percent
from loop_close.prompt.report_json import SCHEMA, Cause, Document, Evidence
from loop_close.text import code, digest, fence, fields_of, listed, with_texts

#: The kind of a run that is not green without a root cause.
_INCOMPLETE = "incomplete-run"


# --- what is read of a report


class ReportError(ValueError):
    """A text that is not a report of this version. The message says why, and what would be right."""


def parsed(text: str) -> dict[str, Any]:
    """The JSON object of a report.

    :raises ReportError: for a text that is not a report, is cut off or has another version.
    """
    try:
        document = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        raise ReportError(f"it is not JSON, or cut off ({fault})") from fault
    schema = str(fields_of(document).get("schema"))
    if not schema.startswith("loop-close.report/"):
        raise ReportError("it is not a report of loop-close, as --loop-close-json and merge --json write it")
    if schema != SCHEMA:
        raise ReportError(
            f"its schema is {schema}, this version reads {SCHEMA}; use the version of loop-close that wrote it"
        )
    return dict(document)


def document_of(document: Mapping[str, Any], folder: str = "") -> Document:
    """A report from anywhere: each value of its type, each text sanitized and redacted.

    :param folder: the root's path in the repository, which is put before the path of each file.
    :returns: paths are relative, with forward slashes and without dot segments.
    :raises ReportError: for a value that is missing or has another type.
    """

    def cleaned(text: str, field: str) -> str:
        return _path(safe(text), folder) if field == "file" else safe(text)

    try:
        return msgspec.convert(with_texts(document, cleaned), Document)
    except msgspec.ValidationError as fault:
        raise ReportError(f"it does not fit: {fault}") from fault


def _path(file: str, folder: str) -> str:
    """The path from the folder; empty for none, and for one outside of it all."""
    path = posixpath.normpath(f"{folder}/{file.replace(chr(10), ' ').strip()}".lstrip("/"))
    return "" if not file or path in (".", "..") or path.startswith("../") else path


def shortened(text: str, limit: int) -> str:
    """The beginning of a text; a cut one ends in ``…``."""
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# --- findings: what to show at a place

#: Where a finding without a file is shown: both formats want one, and most projects have this.
_NO_FILE = "pyproject.toml"
_MESSAGE = 2_000
_MOST_TESTS = 20
#: The severities of GitLab by kind; ``major`` for those of third parties.
_SEVERITIES = {
    **dict.fromkeys(
        (
            *("internal-error", "syntax-error", "missing-module", "collection-error", "crash"),
            "incomplete-run",
        ),
        "blocker",
    ),
    **dict.fromkeys(("test-failure", "not-implemented", "timeout", "unhandled-async"), "critical"),
    **dict.fromkeys(("lint-error", "coverage-below"), "minor"),
    **dict.fromkeys(("incomplete-function", "todo-marker", "fixme-marker", "stack-trace"), "info"),
}
_LEVELS = {"minor": "warning", "info": "note"}


class Finding(NamedTuple):
    """Something to show at a place.

    :ivar file: empty if no file is known; ``line`` is 0 if no line is.
    :ivar title: plain text of one line; ``message`` may have several.
    :ivar fingerprint: unique in the report; the same in the next one, as far as cause and file are.
    """

    cause: Cause
    file: str
    line: int
    title: str
    message: str
    fingerprint: str


def findings(document: Document) -> list[Finding]:
    """The root causes at the place to look first, in the report's order; then all other places where they show.

    A run that is not green without a root cause, or is incomplete, is the first finding: more may fail.
    """
    evidence: defaultdict[str, list[Evidence]] = defaultdict(list)
    for each in document.evidence:
        evidence[each.cause].append(each)
    numbers: Counter[tuple[str, str]] = Counter()

    def finding(cause: Cause, file: str, line: int, title: str, message: str) -> Finding:
        # Not of the line, which edits above it move; those alike are numbered.
        numbers[cause.id, file] += 1
        key = digest(cause.id, file, str(numbers[cause.id, file]), size=16)
        return Finding(cause, file, line, shortened(title, 300).replace("\n", " "), message, key)

    causes = list(document.root_causes)
    if document.verdict != "green" and (document.incomplete or not causes):
        said = document.summary
        causes.insert(0, Cause(id=_INCOMPLETE, kind=_INCOMPLETE, title="No complete result", message=said))
    found = [finding(each, each.place.file, each.place.line, each.title, _message(each)) for each in causes]
    for cause in causes:
        places = {("", 0), (cause.place.file, cause.place.line)}
        for each in evidence[cause.id]:
            if each.file and (each.file, each.line) not in places:
                places.add((each.file, each.line))
                message = f"{shortened(each.snippet, _MESSAGE)}\nRoot cause: {cause.title}"
                found.append(finding(cause, each.file, each.line, each.test or each.kind, message))
    return found


def _message(cause: Cause) -> str:
    tests = [test for test in cause.tests if test]
    lines = [cause.said, *([f"Fails: {listed(tests, _MOST_TESTS)}"] if tests else [])]
    return "\n".join(shortened(line, _MESSAGE) for line in lines)


def gitlab(document: Document) -> str:
    """A code quality report ("Code Quality report format" in GitLab's documentation): an array, one finding a line."""
    rows = [
        {
            "check_name": f"loop-close/{each.cause.kind}",
            "description": shortened(f"{each.title}\n{each.message}", _MESSAGE),
            "fingerprint": each.fingerprint,
            "severity": _SEVERITIES.get(each.cause.kind, "major"),
            "location": {"path": each.file or _NO_FILE, "lines": {"begin": max(each.line, 1)}},
        }
        for each in findings(document)
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n" if rows else "[]\n"


# --- SARIF

#: What GitHub takes of one run: results, locations of a result.
_MOST_RESULTS, _MOST_LOCATIONS = 5_000, 100


def sarif(document: Document) -> str:
    """A SARIF 2.1.0 log of one run, within the limits of GitHub's code scanning.

    A root cause of failing tests is one result, and the places where it shows are its related locations. Of one
    without tests, such as what a checker found, each place is a result. Results beyond the limits are left out, the
    last ones first.
    """
    groups: dict[str, list[Finding]] = {}
    for each in findings(document):
        groups.setdefault(each.cause.id if any(each.cause.tests) else each.fingerprint, []).append(each)
    rules = [_rule(kind) for kind in dict.fromkeys(first.cause.kind for first, *_ in groups.values())]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    lines = [
        json.dumps(_result(first, index[first.cause.kind], related), ensure_ascii=False)
        for first, *related in [*groups.values()][:_MOST_RESULTS]
    ]
    driver = json.dumps({"name": "loop-close", "rules": rules}, ensure_ascii=False)
    return (
        '{\n"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [\n'
        f'{{"tool": {{"driver": {driver}}},\n"columnKind": "unicodeCodePoints", "results": [\n'
        + ",\n".join(lines)
        + f"\n]{_left_out(len(groups) - len(lines))}}}\n]}}\n"
    )


def _left_out(number: int) -> str:
    """What SARIF has for the limits of a tool; empty if no result is left out."""
    said = {"level": "warning", "message": {"text": f"{number:,} results are left out"}}
    run = {"executionSuccessful": True, "toolExecutionNotifications": [said]}
    return f', "invocations": {json.dumps([run])}' if number else ""


def _rule(kind: str) -> dict[str, Any]:
    """A kind of finding, in the words of its detector."""
    words = {each.kind: (each.label, each.description, each.hint) for each in DEFAULT_DETECTORS}
    label, about, hint = words.get(kind, (kind, kind, kind))
    return {
        "id": kind,
        "shortDescription": {"text": label},
        "fullDescription": {"text": about},
        "help": {"text": hint},
        "defaultConfiguration": {"level": _level(kind)},
    }


def _level(kind: str) -> str:
    return _LEVELS.get(_SEVERITIES.get(kind, "major"), "error")


def _result(finding: Finding, rule: int, related: list[Finding]) -> dict[str, Any]:
    kind = finding.cause.kind
    result = {
        "ruleId": kind,
        "ruleIndex": rule,
        "level": _level(kind),
        "message": {"text": f"{finding.title}\n{finding.message}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.fingerprint}:1"},
    }
    others = [
        {**_location(each), "id": number, "message": {"text": shortened(each.title, 200)}}
        for number, each in enumerate(related[: _MOST_LOCATIONS - 1], 1)
    ]
    return {**result, "relatedLocations": others} if others else result


def _location(finding: Finding) -> dict[str, Any]:
    """A place, as a relative reference of a URI (RFC 3986)."""
    uri = quote(finding.file or _NO_FILE, safe="/", errors="replace")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(finding.line, 1)},
        }
    }


# --- GitHub: the summary of a step, and annotations

#: The bytes that a step summary may have, those included that others wrote; GitHub drops more than 1,048,576.
LIMIT = 900_000
_MOST_ANNOTATIONS = 10
# The characters of a message that are shown, how many tests of a root cause, and how many sources.
_SUMMARY_MESSAGE, _SUMMARY_TESTS, _MOST_SOURCES = 4_000, 20, 100
#: Bytes kept free to say how many root causes are left out.
_RESERVE = 100


def summary(document: Document, held: int = 0) -> str:
    """The step summary; a green report is one line.

    :param held: bytes that its file holds already.
    :returns: as many root causes as there is room for, and how many are left out; empty if there is no room.
    """
    mark = "" if document.verdict == "green" else "# "
    text = "\n\n" * bool(held) + f"{mark}loop-close: {code(document.summary, 500)}\n"
    sources = document.sources[:_MOST_SOURCES] if mark else ()
    text += "\n" * bool(sources) + "".join(f"- {code(s.source)}: {code(s.summary, 300)}\n" for s in sources)
    room = LIMIT - held - _size(text) - _RESERVE
    if room < 0:
        return ""
    for number, cause in enumerate(document.root_causes, 1):
        block = "\n".join(("", f"## {number}. {code(cause.title)}", "", *cause_lines(cause), ""))
        room -= _size(block)
        if room < 0:
            left = len(document.root_causes) - number + 1
            return f"{text}\n… and {left:,} more root cause{'s' * (left != 1)}\n"
        text += block
    return text


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def cause_lines(cause: Cause) -> Iterator[str]:
    """What a root cause says below its title, as Markdown: message, reasons, other suspects, tests."""
    tests = [test for test in cause.tests if test]
    raised = (
        f"{code(cause.exception or cause.kind)} at {code(cause.location.where)}" if cause.suspects else ""
    )
    count = f"{len(tests):,} test{'s' * (len(tests) != 1)}" if tests else ""
    if line := ", ".join(filter(None, (raised, count))):
        yield from (f"{line}:", "")
    yield from fence(shortened(cause.message, _SUMMARY_MESSAGE) or cause.kind)
    reasons = [reason for each in cause.suspects[:1] for reason in each.reasons]
    if reasons:
        yield from ("", f"Why: {code('; '.join(reasons), 600)}")
    if others := [each for each in cause.suspects[1:] if each.score >= LEAST_SHOWN]:
        named = [f"{code(each.called or each.where)} ({percent(each.score)})" for each in others]
        yield from ("", f"Other suspects: {', '.join(named)}")
    if tests:
        yield from ("", *(f"- {code(test, 300)}" for test in tests[:_SUMMARY_TESTS]))
    if (more := len(tests) - _SUMMARY_TESTS) > 0:
        yield f"- … and {more:,} more"


def error_annotations(document: Document) -> str:
    """Workflow commands that annotate files with errors, one a line: root causes first, then their other places.

    GitHub shows ten of a step; the tenth says how many are left out.
    """
    found = findings(document)
    shown = [_annotation(each) for each in found[:_MOST_ANNOTATIONS]]
    if (left := len(found) - len(shown)) > 0:
        shown[-1] += _data(f"\n… and {left:,} more")
    return "".join(f"{line}\n" for line in shown)


def _annotation(finding: Finding) -> str:
    properties = {"title": f"loop-close: {shortened(finding.title, 200)}"}
    if finding.file:
        properties |= {"file": finding.file, "line": str(max(finding.line, 1))}
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {named}::{_data(shortened(finding.message, 1_000))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


#: How a report is written, by the names of the formats.
FORMATS = {
    "github-summary": summary,
    "github-annotations": error_annotations,
    "gitlab": gitlab,
    "sarif": sarif,
}
