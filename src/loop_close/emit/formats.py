"""A report in the formats of CI systems: GitHub, GitLab, SARIF, JUnit XML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.emit.report import (
    called,
    evidence_by_cause,
    exception_of,
    heading,
    place_to_look,
    said,
    shortened,
    title,
    where,
    why_no_result,
)
from loop_close.prompt import counts_in_words, line_of, span
from loop_close.prompt.place import how_sure, percent
from loop_close.text import digest, fence

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
#: The kind of a run that is not green without a root cause.
_INCOMPLETE = "incomplete-run"
#: What GitHub takes of one run: results, locations of a result, bytes (some are kept free).
_MOST_RESULTS, _MOST_LOCATIONS, _MOST_BYTES = 5_000, 100, 9_500_000


class CodeIssue(NamedTuple):
    """Something to show at a place.

    :ivar cause: the id of its root cause; ``kind`` that of the cause.
    :ivar file: empty if no file is known; ``line`` is 0 if no line is.
    :ivar title: plain text of one line; ``message`` may have several.
    :ivar fingerprint: unique in the report; the same in the next one, as far as cause, file and function are.
    :ivar is_check: a checker found it, such as a linter: each place is a finding of its own.
    """

    cause: str
    kind: str
    file: str
    line: int
    title: str
    message: str
    fingerprint: str
    is_check: bool = False


def findings(document: Mapping[str, Any]) -> list[CodeIssue]:
    """The root causes at the place to look first, in the report's order; then all other places where they show.

    A run that is not green without a root cause, or is incomplete, is the first finding: more may fail.
    """
    by_cause = evidence_by_cause(document)
    seen: Counter[tuple[str, ...]] = Counter()
    first = [
        _first(
            cause, _is_check(by_cause[cause["id"]]), _fingerprint(seen, cause["id"], place_to_look(cause)[0])
        )
        for cause in document["root_causes"]
    ]
    others = []
    for cause, shown in zip(document["root_causes"], first, strict=True):
        places = {(shown.file, shown.line)}
        for evidence in by_cause[cause["id"]]:
            at = evidence["file"], evidence["line"]
            if evidence["file"] and at not in places:
                places.add(at)
                key = _fingerprint(seen, cause["id"], {**evidence, "function": evidence["label"]})
                others.append(_other(evidence, shown, key))
    if why := why_no_result(document):
        key = _fingerprint(seen, _INCOMPLETE, {"file": "", "function": ""})
        first.insert(0, CodeIssue(_INCOMPLETE, _INCOMPLETE, "", 0, "No complete result", why, key))
    return first + others


def _is_check(evidence: Iterable[Mapping[str, Any]]) -> bool:
    return all(each["phase"] == "check" for each in evidence)


def _fingerprint(seen: Counter[tuple[str, ...]], cause: str, at: Mapping[str, Any]) -> str:
    """Made of cause, file and function, not of the line, which edits above it move; those alike are numbered."""
    key = cause, at["file"], at["function"]
    seen[key] += 1
    return digest(*key, str(seen[key]), size=16)


def _first(cause: Mapping[str, Any], is_check: bool, fingerprint: str) -> CodeIssue:
    at, _ = place_to_look(cause)
    tests = [test for test in cause["tests"] if test]
    lines = [said(cause["exception"], cause["message"] or cause["kind"])]
    if tests:
        more = len(tests) - _MOST_TESTS
        named = f"{', '.join(tests[:_MOST_TESTS])}{f' and {more:,} more' if more > 0 else ''}"
        lines.append(f"Fails: {named}")
    message = "\n".join(shortened(line, _MESSAGE) for line in lines)
    return CodeIssue(
        cause["id"], cause["kind"], at["file"], at["line"], heading(cause), message, fingerprint, is_check
    )


def _other(evidence: Mapping[str, Any], first: CodeIssue, fingerprint: str) -> CodeIssue:
    text = said(exception_of(evidence), evidence["snippet"] or evidence["kind"])
    title = shortened(evidence["test"] or evidence["label"] or evidence["kind"], 300).replace("\n", " ")
    message = shortened(text, _MESSAGE)
    if not first.is_check:
        message += f"\nRoot cause: {first.title}"
    return CodeIssue(
        first.cause,
        first.kind,
        evidence["file"],
        evidence["line"],
        title,
        message,
        fingerprint,
        first.is_check,
    )


def gitlab(document: Mapping[str, Any]) -> str:
    """A code quality report ("Code Quality report format" in GitLab's documentation): an array, one finding a line."""
    rows = [
        {
            "check_name": f"loop-close/{each.kind}",
            "description": shortened(f"{each.title}\n{each.message}", _MESSAGE),
            "fingerprint": each.fingerprint,
            "severity": _SEVERITIES.get(each.kind, "major"),
            "location": {"path": each.file or _NO_FILE, "lines": {"begin": max(each.line, 1)}},
        }
        for each in findings(document)
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n" if rows else "[]\n"


def sarif(document: Mapping[str, Any]) -> str:
    """A SARIF 2.1.0 log of one run, within the limits of GitHub's code scanning.

    A root cause of failing tests is one result, and the places where it shows are its related locations. What a
    checker found is a result for each place. Results beyond the limits are left out, the last ones first.
    """
    found = findings(document)
    related: dict[str, list[CodeIssue]] = {}
    results: list[CodeIssue] = []
    known: set[str] = set()
    for each in found:
        if each.cause in known and not each.is_check:
            related.setdefault(each.cause, []).append(each)
        else:
            results.append(each)
        known.add(each.cause)
    rules = [_rule(kind) for kind in dict.fromkeys(each.kind for each in results)]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    lines: list[str] = []
    room = _MOST_BYTES - len(json.dumps(rules).encode())
    for each in results[:_MOST_RESULTS]:
        line = json.dumps(_result(each, index[each.kind], related.get(each.cause, ())), ensure_ascii=False)
        room -= len(line.encode("utf-8", "replace")) + 2
        if room < 0:
            break
        lines.append(line)
    driver = json.dumps({"name": "loop-close", "rules": rules}, ensure_ascii=False)
    return (
        '{\n"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [\n'
        f'{{"tool": {{"driver": {driver}}},\n"columnKind": "unicodeCodePoints", "results": [\n'
        + ",\n".join(lines)
        + f"\n]{_left_out(len(results) - len(lines))}}}\n]}}\n"
    )


def _left_out(number: int) -> str:
    """What SARIF has for the limits of a tool; empty if no result is left out."""
    said = {"level": "warning", "message": {"text": f"{number:,} results are left out"}}
    run = {"executionSuccessful": True, "toolExecutionNotifications": [said]}
    return f', "invocations": {json.dumps([run])}' if number else ""


def _rule(kind: str) -> dict[str, Any]:
    """A kind of finding, in the words of its detector."""
    detector = next((each for each in DEFAULT_DETECTORS if each.kind == kind), None)
    label, about, hint = (
        (detector.label, detector.description, detector.hint) if detector else (kind, kind, kind)
    )
    return {
        "id": kind,
        "shortDescription": {"text": label or kind},
        "fullDescription": {"text": about or kind},
        "help": {"text": hint or about or kind},
        "defaultConfiguration": {"level": _level(kind)},
    }


def _level(kind: str) -> str:
    return _LEVELS.get(_SEVERITIES.get(kind, "major"), "error")


def _result(finding: CodeIssue, rule: int, related: Iterable[CodeIssue]) -> dict[str, Any]:
    result = {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": _level(finding.kind),
        "message": {"text": f"{finding.title}\n{finding.message}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.fingerprint}:1"},
    }
    others = [
        {**_location(each), "id": number, "message": {"text": shortened(each.title, 200)}}
        for number, each in enumerate(related, 1)
        if number <= _MOST_LOCATIONS - 1
    ]
    return {**result, "relatedLocations": others} if others else result


def _location(finding: CodeIssue) -> dict[str, Any]:
    """A place, as a relative reference of a URI (RFC 3986)."""
    uri = quote(finding.file or _NO_FILE, safe="/", errors="replace")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(finding.line, 1)},
        }
    }


# --- CTRF and JUnit XML: both list the failing tests alone, as the report only counts the others

_SHORT_MESSAGE = 300
#: Phases in which a failure is one of the test or the code under test; in others it is an error.
_FAILURES = ("call", "check", "")


class FailingCase(NamedTuple):
    """One failing test, or one finding that is of no test, with all its failures.

    :ivar name: the node id, or the place.
    """

    name: str
    evidence: Sequence[Mapping[str, Any]]


class SourceSuite(NamedTuple):
    """The result of one source."""

    name: str
    counts: Mapping[str, int]
    cases: Sequence[FailingCase]


def suites(document: Mapping[str, Any]) -> list[SourceSuite]:
    """Each source with the tests that failed in it; a run without a complete result is a failing case as well."""
    by_cause = evidence_by_cause(document)
    sources = document["sources"] or [
        {
            **{key: document[key] for key in ("source", "verdict", "incomplete", "stall_reason", "counts")},
            "root_causes": [cause["id"] for cause in document["root_causes"]],
            "failed": [],
        }
    ]
    return [_suite(source, by_cause) for source in sources]


def _suite(source: Mapping[str, Any], by_cause: Mapping[str, list[dict[str, Any]]]) -> SourceSuite:
    failed = set(source["failed"])
    cases: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cause in source["root_causes"]:
        for evidence in by_cause.get(cause, ()):
            if not failed or not evidence["test"] or evidence["test"] in failed:
                name = evidence["test"] or f"{evidence['kind']} {where(evidence)}".strip()
                cases.setdefault((name, evidence["subtest"]), []).append(evidence)
    found = [FailingCase(f"{name} {subtest}".strip(), each) for (name, subtest), each in cases.items()]
    if why := why_no_result(source):
        found.append(FailingCase("the run", [_no_result(why)]))
    return SourceSuite(source["source"], source["counts"], found)


def _no_result(why: str) -> dict[str, Any]:
    return {
        **dict.fromkeys(("file", "label", "test", "subtest", "cause"), ""),
        "kind": "incomplete-run",
        "line": 0,
        "snippet": why,
        "phase": "session",
        "chain": [],
    }


def _classes(nodeid: str) -> list[str]:
    """The file and the classes of a node id; its parameters may contain ``::``."""
    return nodeid.partition("[")[0].split("::")[:-1]


def _said(evidence: Mapping[str, Any]) -> str:
    return said(exception_of(evidence), evidence["snippet"] or evidence["kind"])


def junit(document: Mapping[str, Any]) -> str:
    """JUnit XML in the form of pytest's ``xunit2``: a suite for each source.

    Sanitized text has no character that XML 1.0 (section 2.2) forbids.
    """
    root = ElementTree.Element("testsuites", name="loop-close")
    for suite in suites(document):
        _add_suite(root, suite)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root, "")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_suite(root: ElementTree.Element, suite: SourceSuite) -> None:
    element = ElementTree.SubElement(root, "testsuite", name=suite.name)
    for case in suite.cases:
        _add_case(element, case)
    others = sum(suite.counts[each] for each in ("passed", "skipped", "xfailed", "xpassed"))
    element.set("tests", str(others + len(suite.cases)))
    element.set("failures", str(len(element.findall("testcase[failure]"))))
    element.set("errors", str(len(element.findall("testcase[error]"))))
    element.set("skipped", str(suite.counts["skipped"] + suite.counts["xfailed"]))


def _add_case(suite: ElementTree.Element, case: FailingCase) -> None:
    classes = _classes(case.evidence[0]["test"])
    if classes:
        classes[0] = classes[0].removesuffix(".py").replace("/", ".")
        name = case.name[len("::".join(_classes(case.evidence[0]["test"]))) + 2 :]
    else:
        name = case.name
    element = ElementTree.SubElement(suite, "testcase", name=name, classname=".".join(classes))
    for each in case.evidence:
        kind = "failure" if each["phase"] in _FAILURES else "error"
        text = _said(each)
        message = shortened(text.partition("\n")[0], _SHORT_MESSAGE)
        child = ElementTree.SubElement(
            element, kind, type=exception_of(each) or each["kind"], message=message
        )
        child.text = f"{where(each)}: {text}" if each["file"] else text


#: The bytes that a step summary may have, those included that others wrote; GitHub drops more than 1,048,576.
LIMIT = 900_000
# --- GitHub: the summary of a step, and annotations

_MOST_ANNOTATIONS = 10
# The characters of a message that are shown, and how many tests of a root cause: openly, and in all.
_SUMMARY_MESSAGE = 4_000
_OPEN_TESTS, _MOST_FAILING = 10, 1_000
# Bytes: to say how many root causes are left out, and of a root cause in a line.
_RESERVE, _LINE = 200, 150


def summary(document: Mapping[str, Any], held: int = 0, history: Sequence[str] = ()) -> str:
    """The step summary; a green report is one line.

    :param held: bytes that its file holds already.
    :param history: lines on earlier runs, which come last if there is room for all of them.
    :returns: as much as there is room for: a root cause without room has one line, then those left out are counted.
        Empty if there is no room.
    """
    room = LIMIT - held
    start = "\n\n" if held else ""
    if document["verdict"] == "green":
        return _if_fits(f"{start}{_green(document)}\n", room)
    first = f"{start}# loop-close: {title(document)}\n"
    more = "".join(f"{line}\n" for line in _facts(document))
    parts = [f"{first}{more}" if _size(first) + _size(more) + _RESERVE <= room else first]
    room -= _size(parts[0]) + _RESERVE
    causes, half = document["root_causes"], room // 2
    for number, cause in enumerate(causes, 1):
        block = "".join(f"{line}\n" for line in _block(number, cause))
        brief = f"\n## {_heading(number, cause)}\n"
        # The first root causes leave room for a line of each after them.
        rest = min(half, (len(causes) - number) * _LINE)
        shown = block if _size(block) <= room - rest else brief
        if _size(shown) > room:
            left = len(causes) - number + 1
            parts.append(f"\n… and {left:,} more root cause{'s' * (left != 1)}\n")
            break
        parts.append(shown)
        room -= _size(shown)
    text, more = "".join(parts), "".join(f"{line}\n" for line in history)
    return _if_fits(text + more, LIMIT - held) or _if_fits(text, LIMIT - held)


def _if_fits(text: str, room: int) -> str:
    return text if _size(text) <= room else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _green(document: Mapping[str, Any]) -> str:
    counts = document["counts"]
    numbers = {name: counts[name] for name in ("passed", "skipped", "xfailed", "xpassed")}
    said = counts_in_words(**numbers) if any(numbers.values()) else "No failure"
    return f"loop-close: {said[0].lower()}{said[1:]}"


def _facts(document: Mapping[str, Any]) -> Iterator[str]:
    """Why the run says nothing or not all, and the results of several sources as a table."""
    if why := why_no_result(document):
        yield from ("", line_of(why, 500))
    if len(document["sources"]) > 1:
        yield from ("", "| source | verdict | failed | errors | passed | |", "|---|---|---|---|---|---|")
    for each in document["sources"][:_MOST_FAILING] if len(document["sources"]) > 1 else ():
        counts = each["counts"]
        failed = counts["failed"] + counts["failed_subtests"]
        why = f"incomplete: {each['incomplete']}" if each["incomplete"] else ""
        yield (
            f"| {_cell(each['source'])} | {_cell(each['verdict'])} | {failed:,} | {counts['errors']:,} |"
            f" {counts['passed']:,} | {_cell(why) if why else ''} |"
        )


def _cell(text: str) -> str:
    """A code span in a table, where a bar ends a cell even inside of code (GFM 0.29, section 4.10)."""
    return line_of(text, 200).replace("|", "\\|")


def _heading(number: int, cause: Mapping[str, Any]) -> str:
    return f"{number}. {cause_heading(cause)}"


def cause_heading(cause: Mapping[str, Any]) -> str:
    """The likeliest suspect of a root cause, or what failed and where, as Markdown."""
    at, score = place_to_look(cause)
    if score is None:
        name = span(cause["exception"] or cause["kind"])
        return f"{name} at {span(where(at))}" if at["file"] else name
    name = f"{span(called(at))} in " if called(at) else ""
    return f"{how_sure(score).capitalize()} {name}{span(where(at))} ({percent(score)})"


def _block(number: int, cause: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"## {_heading(number, cause)}", "")
    yield from cause_lines(cause)


def cause_lines(cause: Mapping[str, Any]) -> Iterator[str]:
    """What a root cause says below its heading, as Markdown: message, reasons, other suspects, tests."""
    tests = [test for test in cause["tests"] if test]
    said = f"{span(cause['exception'] or cause['kind'])} at {span(where(cause['location']))}"
    count = f"{len(tests):,} test{'s' * (len(tests) != 1)}" if tests else ""
    if line := ", ".join(filter(None, (said if place_to_look(cause)[1] is not None else "", count))):
        yield from (f"{line}:", "")
    yield from fence(shortened(cause["message"], _SUMMARY_MESSAGE) or cause["kind"])
    first, *others = cause["suspects"] or [None]
    if first is not None and first["reasons"]:
        yield from ("", f"Why: {line_of('; '.join(first['reasons']), 600)}")
    if others:
        named = ", ".join(f"{span(called(s) or where(s))} ({percent(s['score'])})" for s in others[:4])
        yield from ("", f"Other suspects: {named}")
    if tests:
        is_open = len(tests) <= _OPEN_TESTS
        yield from ("",) if is_open else ("", f"<details><summary>{len(tests):,} tests</summary>", "")
        yield from (f"- {span(test, 300)}" for test in tests[:_MOST_FAILING])
        if len(tests) > _MOST_FAILING:
            yield f"- … and {len(tests) - _MOST_FAILING:,} more"
        yield from () if is_open else ("", "</details>")


def error_annotations(document: Mapping[str, Any]) -> list[str]:
    """Workflow commands that annotate files with errors, one a line: root causes first, then their other places.

    GitHub shows ten of a step; the tenth says how many are left out.
    """
    found = findings(document)
    left = len(found) - _MOST_ANNOTATIONS
    shown = found[:_MOST_ANNOTATIONS]
    return [
        _annotation(each, left if left > 0 and number == len(shown) else 0)
        for number, each in enumerate(shown, 1)
    ]


def _annotation(finding: CodeIssue, left: int) -> str:
    properties = {"title": f"loop-close: {shortened(finding.title, 200)}"}
    if finding.file:
        properties |= {"file": finding.file, "line": str(max(finding.line, 1))}
    more = f"\n… and {left:,} more" if left else ""
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {named}::{_data(f'{shortened(finding.message, 1_000)}{more}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
