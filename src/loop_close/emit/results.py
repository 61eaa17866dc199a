"""Failing tests by source: CTRF, and JUnit XML.

The report names the tests that failed and counts the others, so both formats list the failing ones alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from loop_close.emit.report import evidence_by_cause, exception_of, said, shortened, where, why_no_result

_MESSAGE = 300
#: Phases in which a failure is one of the test or the code under test; in others it is an error.
_FAILURES = ("call", "check", "")


class Case(NamedTuple):
    """One failing test, or one finding that is of no test, with all its failures.

    :ivar name: the node id, or the place.
    """

    name: str
    evidence: Sequence[Mapping[str, Any]]


class Suite(NamedTuple):
    """The result of one source."""

    name: str
    counts: Mapping[str, int]
    cases: Sequence[Case]


def suites(document: Mapping[str, Any]) -> list[Suite]:
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


def _suite(source: Mapping[str, Any], by_cause: Mapping[str, list[dict[str, Any]]]) -> Suite:
    failed = set(source["failed"])
    cases: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cause in source["root_causes"]:
        for evidence in by_cause.get(cause, ()):
            if not failed or not evidence["test"] or evidence["test"] in failed:
                name = evidence["test"] or f"{evidence['kind']} {where(evidence)}".strip()
                cases.setdefault((name, evidence["subtest"]), []).append(evidence)
    found = [Case(f"{name} {subtest}".strip(), each) for (name, subtest), each in cases.items()]
    if why := why_no_result(source):
        found.append(Case("the run", [_no_result(why)]))
    return Suite(source["source"], source["counts"], found)


def _no_result(why: str) -> dict[str, Any]:
    return {
        **dict.fromkeys(("file", "label", "test", "subtest", "cause"), ""),
        "kind": "incomplete-run",
        "line": 0,
        "snippet": why,
        "phase": "session",
        "chain": [],
    }


def _passed(suite: Suite) -> dict[str, int]:
    """How many tests of a suite did not fail, by the names of CTRF."""
    counts = suite.counts
    return {
        "passed": counts["passed"],
        "skipped": counts["skipped"],
        "pending": 0,
        "other": counts["xfailed"] + counts["xpassed"],
    }


def ctrf(document: Mapping[str, Any]) -> str:
    """A report in the Common Test Report Format, 0.0.0; data without a key of its own is under ``extra``.

    The report has no times: start, stop and durations are 0.
    """
    found = suites(document)
    numbers = [_passed(suite) for suite in found]
    totals = {key: sum(each[key] for each in numbers) for key in numbers[0]} if numbers else {}
    failed = sum(len(suite.cases) for suite in found)
    summary = {"tests": sum(totals.values()) + failed, "failed": failed, **totals, "start": 0, "stop": 0}
    made = document["run"]
    results = {
        "tool": {"name": "pytest", "extra": {"sources": [suite.name for suite in found]}},
        "summary": {**summary, "suites": len(found)},
        "environment": {
            **({"commit": made["commit"]} if made["commit"] else {}),
            **({"osPlatform": made["platform"]} if made["platform"] else {}),
            "extra": {"interpreter": made["interpreter"]},
        },
        "extra": {"verdict": document["verdict"], "listed": "failing tests"},
    }
    tests = ",\n".join(
        json.dumps(_test(suite.name, case), ensure_ascii=False) for suite in found for case in suite.cases
    )
    head = json.dumps(results, ensure_ascii=False)[:-1]
    return (
        '{\n"reportFormat": "CTRF", "specVersion": "0.0.0", "generatedBy": "loop-close",\n'
        f'"results": {head}, "tests": [\n{tests}\n]}}\n}}\n'
    )


def _test(source: str, case: Case) -> dict[str, Any]:
    first = case.evidence[0]
    place = {"filePath": first["file"]} if first["file"] else {}
    return {
        "name": case.name,
        "status": "failed",
        "duration": 0,
        "suite": [source, *_classes(first["test"])],
        "message": "\n".join(_said(each) for each in case.evidence),
        "rawStatus": "failed" if first["phase"] in _FAILURES else "error",
        **place,
        **({"line": first["line"]} if first["line"] else {}),
        "extra": {
            "kind": first["kind"],
            "phases": [each["phase"] for each in case.evidence],
            "root_causes": list(dict.fromkeys(each["cause"] for each in case.evidence if each["cause"])),
        },
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


def _add_suite(root: ElementTree.Element, suite: Suite) -> None:
    element = ElementTree.SubElement(root, "testsuite", name=suite.name)
    for case in suite.cases:
        _add_case(element, case)
    numbers = _passed(suite)
    element.set("tests", str(sum(numbers.values()) + len(suite.cases)))
    element.set("failures", str(len(element.findall("testcase[failure]"))))
    element.set("errors", str(len(element.findall("testcase[error]"))))
    element.set("skipped", str(numbers["skipped"] + suite.counts["xfailed"]))


def _add_case(suite: ElementTree.Element, case: Case) -> None:
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
        message = shortened(text.partition("\n")[0], _MESSAGE)
        child = ElementTree.SubElement(
            element, kind, type=exception_of(each) or each["kind"], message=message
        )
        child.text = f"{where(each)}: {text}" if each["file"] else text
