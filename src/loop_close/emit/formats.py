"""A report in the formats of CI systems: GitHub, GitLab, SARIF, JUnit XML."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.emit.report import Cause, Document, Evidence, Source, shortened, title, why_no_result
from loop_close.prompt import counts_in_words
from loop_close.prompt.place import percent
from loop_close.text import code, digest, fence, listed

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
#: What GitHub takes of one run: results, locations of a result.
_MOST_RESULTS, _MOST_LOCATIONS = 5_000, 100


class Finding(NamedTuple):
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


def findings(document: Document) -> list[Finding]:
    """The root causes at the place to look first, in the report's order; then all other places where they show.

    A run that is not green without a root cause, or is incomplete, is the first finding: more may fail.
    """
    evidence: defaultdict[str, list[Evidence]] = defaultdict(list)
    for each in document.evidence:
        evidence[each.cause].append(each)
    numbers: Counter[tuple[str, ...]] = Counter()

    def fingerprint(*key: str) -> str:
        # Not of the line, which edits above it move; those alike are numbered.
        numbers[key] += 1
        return digest(*key, str(numbers[key]), size=16)

    found, others = [], []
    if why := why_no_result(document):
        key = fingerprint(_INCOMPLETE, "", "")
        found.append(Finding(_INCOMPLETE, _INCOMPLETE, "", 0, "No complete result", why, key))
    for cause in document.root_causes:
        at, shown = cause.place, evidence[cause.id]
        is_check = all(each.phase == "check" for each in shown)
        key = fingerprint(cause.id, at.file, at.function)
        head = Finding(
            cause.id, cause.kind, at.file, at.line, cause.heading(), _message(cause), key, is_check
        )
        found.append(head)
        places = {("", 0), (at.file, at.line)}
        for each in shown:
            if each.file and (each.file, each.line) not in places:
                places.add((each.file, each.line))
                others.append(_other(head, each, fingerprint(cause.id, each.file, each.label)))
    return found + others


def _message(cause: Cause) -> str:
    tests = [test for test in cause.tests if test]
    lines = [cause.said, *([f"Fails: {listed(tests, _MOST_TESTS)}"] if tests else [])]
    return "\n".join(shortened(line, _MESSAGE) for line in lines)


def _other(first: Finding, evidence: Evidence, fingerprint: str) -> Finding:
    message = shortened(evidence.said, _MESSAGE)
    return first._replace(
        file=evidence.file,
        line=evidence.line,
        title=shortened(evidence.test or evidence.label or evidence.kind, 300).replace("\n", " "),
        message=message if first.is_check else f"{message}\nRoot cause: {first.title}",
        fingerprint=fingerprint,
    )


def gitlab(document: Document) -> str:
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


# --- SARIF


def sarif(document: Document) -> str:
    """A SARIF 2.1.0 log of one run, within the limits of GitHub's code scanning.

    A root cause of failing tests is one result, and the places where it shows are its related locations. What a
    checker found is a result for each place. Results beyond the limits are left out, the last ones first.
    """
    related: defaultdict[str, list[Finding]] = defaultdict(list)
    results: dict[str, Finding] = {}
    for each in findings(document):
        if each.is_check:
            results[each.fingerprint] = each
        elif results.setdefault(each.cause, each) is not each:
            related[each.cause].append(each)
    rules = [_rule(kind) for kind in dict.fromkeys(each.kind for each in results.values())]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    lines = [
        json.dumps(_result(each, index[each.kind], related[each.cause]), ensure_ascii=False)
        for each in [*results.values()][:_MOST_RESULTS]
    ]
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
    words = {each.kind: (each.label, each.description, each.hint) for each in DEFAULT_DETECTORS}
    label, about, hint = words.get(kind, (kind, kind, kind))
    return {
        "id": kind,
        "shortDescription": {"text": label or kind},
        "fullDescription": {"text": about or kind},
        "help": {"text": hint or about or kind},
        "defaultConfiguration": {"level": _level(kind)},
    }


def _level(kind: str) -> str:
    return _LEVELS.get(_SEVERITIES.get(kind, "major"), "error")


def _result(finding: Finding, rule: int, related: list[Finding]) -> dict[str, Any]:
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


# --- JUnit XML, which lists the failing tests alone, as the report only counts the others

_SHORT_MESSAGE = 300
#: Phases in which a failure is one of the test or the code under test; in others it is an error.
_FAILURES = ("call", "check", "")


def junit(document: Document) -> str:
    """JUnit XML in the form of pytest's ``xunit2``: a suite for each source, with the tests that failed in it.

    A run without a complete result is a failing case as well. Sanitized text has no character that XML 1.0
    (section 2.2) forbids.
    """
    root = ElementTree.Element("testsuites", name="loop-close")
    whole = Source(
        source=document.source,
        verdict=document.verdict,
        incomplete=document.incomplete,
        counts=document.counts,
        root_causes=tuple(cause.id for cause in document.root_causes),
        stall_reason=document.stall_reason,
    )
    for source in document.sources or (whole,):
        _add_suite(root, source, document.evidence)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root, "")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_suite(root: ElementTree.Element, source: Source, evidence: Iterable[Evidence]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=source.source)
    cases: dict[tuple[str, str], ElementTree.Element] = {}
    for each in evidence:
        is_of_source = not source.failed or not each.test or each.test in source.failed
        if each.cause in source.root_causes and is_of_source:
            key = each.test or f"{each.kind} {each.where}".strip(), each.subtest
            if key not in cases:
                cases[key] = _add_case(suite, *key, is_test=each.test != "")
            _add_failure(cases[key], each)
    if why := why_no_result(source):
        missing = Evidence(kind=_INCOMPLETE, label="", snippet=why, file="", line=0, phase="session")
        _add_failure(_add_case(suite, "the run", "", is_test=False), missing)
    counts = source.counts
    passed = counts.passed + counts.skipped + counts.xfailed + counts.xpassed
    suite.set("tests", str(passed + len(suite)))
    suite.set("failures", str(len(suite.findall("testcase[failure]"))))
    suite.set("errors", str(len(suite.findall("testcase[error]"))))
    suite.set("skipped", str(counts.skipped + counts.xfailed))


def _add_case(suite: ElementTree.Element, name: str, subtest: str, *, is_test: bool) -> ElementTree.Element:
    # The parameters of a node id may contain "::".
    base, bracket, parameters = name.partition("[")
    classes, _, short = base.rpartition("::") if is_test else ("", "", base)
    file, *inner = classes.split("::")
    classname = ".".join([file.removesuffix(".py").replace("/", "."), *inner])
    shown = f"{short}{bracket}{parameters} {subtest}".strip()
    return ElementTree.SubElement(suite, "testcase", name=shown, classname=classname)


def _add_failure(case: ElementTree.Element, evidence: Evidence) -> None:
    kind = "failure" if evidence.phase in _FAILURES else "error"
    message = shortened(evidence.said.partition("\n")[0], _SHORT_MESSAGE)
    child = ElementTree.SubElement(case, kind, type=evidence.exception or evidence.kind, message=message)
    child.text = f"{evidence.where}: {evidence.said}" if evidence.file else evidence.said


# --- GitHub: the summary of a step, and annotations

#: The bytes that a step summary may have, those included that others wrote; GitHub drops more than 1,048,576.
LIMIT = 900_000
_MOST_ANNOTATIONS = 10
# The characters of a message that are shown, how many tests of a root cause, and rows of the table of sources.
_SUMMARY_MESSAGE, _SUMMARY_TESTS, _MOST_ROWS = 4_000, 20, 100
#: Bytes kept free to say how many root causes are left out.
_RESERVE = 100


def summary(document: Document, held: int = 0) -> str:
    """The step summary; a green report is one line.

    :param held: bytes that its file holds already.
    :returns: as many root causes as there is room for, and how many are left out; empty if there is no room.
    """
    start = "\n\n" if held else ""
    if document.verdict == "green":
        text = f"{start}{_green(document)}\n"
        return text if held + _size(text) <= LIMIT else ""
    text = "\n".join((f"{start}# loop-close: {title(document)}", *_facts(document), ""))
    room = LIMIT - held - _size(text) - _RESERVE
    if room < 0:
        return ""
    for number, cause in enumerate(document.root_causes, 1):
        lines = ("", f"## {number}. {cause.heading(code)}", "", *cause_lines(cause), "")
        block = "\n".join(lines)
        room -= _size(block)
        if room < 0:
            left = len(document.root_causes) - number + 1
            return f"{text}\n… and {left:,} more root cause{'s' * (left != 1)}\n"
        text += block
    return text


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _green(document: Document) -> str:
    counts = document.counts
    numbers = {name: getattr(counts, name) for name in ("passed", "skipped", "xfailed", "xpassed")}
    said = counts_in_words(**numbers) if any(numbers.values()) else "No failure"
    return f"loop-close: {said[0].lower()}{said[1:]}"


def _facts(document: Document) -> Iterator[str]:
    """Why the run says nothing or not all, and the results of several sources as a table."""
    if why := why_no_result(document):
        yield from ("", code(why, 500))
    if len(document.sources) > 1:
        yield from ("", "| source | verdict | failed | errors | passed | |", "|---|---|---|---|---|---|")
        yield from map(_row, document.sources[:_MOST_ROWS])


def _row(source: Source) -> str:
    counts = source.counts
    why = _cell(f"incomplete: {source.incomplete}") if source.incomplete else ""
    failed = counts.failed + counts.failed_subtests
    cells = (
        _cell(source.source),
        _cell(source.verdict),
        f"{failed:,}",
        f"{counts.errors:,}",
        f"{counts.passed:,}",
    )
    return f"| {' | '.join(cells)} | {why} |"


def _cell(text: str) -> str:
    """A code span in a table, where a bar ends a cell even inside of code (GFM 0.29, section 4.10)."""
    return code(text).replace("|", "\\|")


def cause_lines(cause: Cause) -> Iterator[str]:
    """What a root cause says below its heading, as Markdown: message, reasons, other suspects, tests."""
    tests = [test for test in cause.tests if test]
    raised = f"{code(cause.exception or cause.kind)} at {code(cause.location.where)}" if cause.suspect else ""
    count = f"{len(tests):,} test{'s' * (len(tests) != 1)}" if tests else ""
    if line := ", ".join(filter(None, (raised, count))):
        yield from (f"{line}:", "")
    yield from fence(shortened(cause.message, _SUMMARY_MESSAGE) or cause.kind)
    reasons = [reason for each in cause.suspects[:1] for reason in each.reasons]
    if reasons:
        yield from ("", f"Why: {code('; '.join(reasons), 600)}")
    if others := cause.suspects[1:5]:
        named = ", ".join(f"{code(each.called or each.where)} ({percent(each.score)})" for each in others)
        yield from ("", f"Other suspects: {named}")
    if tests:
        yield from ("", *(f"- {code(test, 300)}" for test in tests[:_SUMMARY_TESTS]))
    if (more := len(tests) - _SUMMARY_TESTS) > 0:
        yield f"- … and {more:,} more"


def error_annotations(document: Document) -> list[str]:
    """Workflow commands that annotate files with errors, one a line: root causes first, then their other places.

    GitHub shows ten of a step; the tenth says how many are left out.
    """
    found = findings(document)
    shown = [_annotation(each) for each in found[:_MOST_ANNOTATIONS]]
    if (left := len(found) - len(shown)) > 0:
        shown[-1] += _data(f"\n… and {left:,} more")
    return shown


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
