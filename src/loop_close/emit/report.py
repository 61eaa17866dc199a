"""Read a JSON report: checked, bounded and sanitized again, as the file may be from anywhere."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from loop_close.facts import base_name
from loop_close.prompt import failing, number_of, safe
from loop_close.prompt.place import POSSIBLE, how_sure, percent
from loop_close.prompt.report_json import SCHEMA
from loop_close.syntax.meaning import MODULE
from loop_close.text import one_line

#: The largest number that every format holds.
_LARGEST = 2**31 - 1
_FILE = "file"
_PLACE = {"file": _FILE, "line": int, "function": str}
_COUNTS = dict.fromkeys(
    ("passed", "failed", "failed_subtests", "errors", "skipped", "xfailed", "xpassed"), int
)
#: What the formats read. ``str``, ``int`` and ``float`` are types; a list has items of one shape.
_SHAPE: Mapping[str, Any] = {
    **dict.fromkeys(("source", "verdict", "stall_reason", "incomplete"), str),
    "run": dict.fromkeys(("interpreter", "platform", "commit"), str),
    "counts": _COUNTS,
    "root_causes": [
        {
            **dict.fromkeys(("id", "kind", "exception", "message"), str),
            "location": _PLACE,
            "tests": [str],
            "count": int,
            "suspects": [{**_PLACE, "end_line": int, "score": float, "reasons": [str]}],
        }
    ],
    "sources": [
        {
            **dict.fromkeys(("source", "verdict", "incomplete"), str),
            "counts": _COUNTS,
            "root_causes": [str],
            "failed": [str],
        }
    ],
    "evidence": [
        {
            **dict.fromkeys(("kind", "label", "snippet", "test", "phase", "subtest", "cause"), str),
            "file": _FILE,
            "line": int,
            "chain": [{"exception": str}],
        }
    ],
}
#: Keys that not every report has.
_OPTIONAL = frozenset(("failed", "failed_subtests", "test", "phase", "subtest", "cause", "chain"))
_NAMES = {str: "a text", int: "a whole number", float: "a number", _FILE: "a text"}


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


def checked(document: Mapping[str, Any], folder: str = "") -> dict[str, Any]:
    """What the formats read of a report: each value of its type, each text sanitized and redacted.

    :param folder: the root's path in the repository, which is put before the path of each file.
    :returns: paths are relative, with forward slashes and without dot segments.
    :raises ReportError: for a value that is missing or has another type.
    """
    return dict(_fitting(document, _SHAPE, "", folder))


def _fitting(value: Any, shape: Any, where: str, folder: str) -> Any:
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            raise ReportError(f"its {where} is not an object")
        return {key: _member(value, key, inner, f"{where}.{key}", folder) for key, inner in shape.items()}
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise ReportError(f"its {where} is not a list")
        return [_fitting(item, shape[0], f"{where}[{number}]", folder) for number, item in enumerate(value)]
    if shape in (str, _FILE) and isinstance(value, str):
        return safe(value) if shape is str else _path(safe(value), folder)
    if shape is int and type(value) is int and value >= 0:
        return min(value, _LARGEST)
    if shape is float and type(value) in (int, float) and math.isfinite(value):
        return min(max(value, 0.0), 1.0)  # all of them are probabilities
    raise ReportError(f"its {where} is not {_NAMES[shape]}")


def _member(value: Mapping[str, Any], key: str, shape: Any, where: str, folder: str) -> Any:
    if key in value:
        return _fitting(value[key], shape, where.removeprefix("."), folder)
    if key not in _OPTIONAL:
        raise ReportError(f"it has no {where.removeprefix('.')}")
    return [] if isinstance(shape, list) else shape()


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


def evidence_by_cause(document: Mapping[str, Any]) -> Mapping[str, list[dict[str, Any]]]:
    """The failures by the id of their root cause; of a report that does not have it, the cause in their place."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for evidence in document["evidence"]:
        found[evidence["cause"]].append(evidence)
    found.pop("", None)
    for cause in document["root_causes"]:
        if cause["id"] not in found:
            found[cause["id"]] = [_as_evidence(cause, test) for test in cause["tests"] or [""]]
    return found


def _as_evidence(cause: Mapping[str, Any], test: str) -> dict[str, Any]:
    return {
        **dict.fromkeys(("label", "subtest"), ""),
        "kind": cause["kind"],
        "file": cause["location"]["file"],
        "line": cause["location"]["line"],
        "snippet": cause["message"],
        "test": test,
        "phase": "call",
        "cause": cause["id"],
        "chain": [{"exception": cause["exception"]}],
    }


def why_no_result(result: Mapping[str, Any]) -> str:
    """Why a report, or one of its sources, is not green though no root cause says so; empty if one does.

    :returns: why the run is incomplete, also if there are root causes: more may fail.
    """
    if result["verdict"] == "green":
        return ""
    if result["incomplete"]:
        return f"The run is incomplete: {result['incomplete']}"
    known = result.get("stall_reason") or "no test failed, but the run is not green"
    return "" if result["root_causes"] else f"No result: {known}"


def place_to_look(cause: Mapping[str, Any]) -> tuple[Mapping[str, Any], float | None]:
    """Where to look first: the first suspect and its probability, or the location of the failure and None."""
    location = cause["location"]
    suspect = next(iter(cause["suspects"]), None)
    if suspect is None or (suspect["score"] < POSSIBLE and location["file"]):
        return location, None
    # without its file at hand, its last line is not known
    last = suspect["end_line"] or (_LARGEST if base_name(location["function"]) == suspect["function"] else 0)
    is_inside = location["file"] == suspect["file"] and suspect["line"] <= location["line"] <= last
    return {**suspect, "line": location["line"] if is_inside else suspect["line"]}, suspect["score"]


def where(at: Mapping[str, Any]) -> str:
    """``file:line``, or the file alone."""
    return f"{at['file']}:{at['line']}" if at["line"] else str(at["file"])


def called(at: Mapping[str, Any]) -> str:
    """``cost()``, or ``RATES``; empty for other code outside of functions."""
    if "constant" in at:
        return str(at["constant"])
    return f"{at['function']}()" if at["function"] not in ("", MODULE) else ""


def heading(cause: Mapping[str, Any]) -> str:
    """``Probably cost() in src/shop/shipping.py:15 (62 %)``, or what failed and where; plain text of one line."""
    at, score = place_to_look(cause)
    if score is None:
        text = f"{cause['exception'] or cause['kind']}{f' at {where(at)}' if at['file'] else ''}"
    else:
        name = f"{called(at)} in " if called(at) else ""
        text = f"{how_sure(score).capitalize()} {name}{where(at)} ({percent(score)})"
    return one_line(text, 300)


def title(document: Mapping[str, Any]) -> str:
    """``2 tests fail, 1 error, 34 pass``; plain text."""
    counts = document["counts"]
    parts = [
        failing(counts["failed"], counts["failed_subtests"]),
        number_of(counts["errors"], "error", "errors"),
    ]
    if not any(parts):
        parts = [number_of(len(document["root_causes"]), "root cause", "root causes") or "No result"]
    if counts["passed"]:
        parts.append(f"{counts['passed']:,} pass{'es' * (counts['passed'] == 1)}")
    return ", ".join(filter(None, parts))


def exception_of(evidence: Mapping[str, Any]) -> str:
    """The name of the exception; empty for none."""
    return next((str(link["exception"]) for link in evidence["chain"]), "")


def said(exception: str, message: str) -> str:
    """What was raised, on the lines of its message; an assertion needs no name."""
    return (
        f"{exception}: {message}" if exception and not message.startswith(("assert ", exception)) else message
    )


def shortened(text: str, limit: int) -> str:
    """The beginning of a text; a cut one ends in ``…``."""
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
