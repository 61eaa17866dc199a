"""Tests and root causes over recorded runs as one self-contained HTML page.

Template, style and script lie beside this module, the data is JSON in the page. The texts of failures were sanitized
and redacted when they entered the store.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from loop_close import files
from loop_close.emit import ReportError, cause_lines, document_of, parsed
from loop_close.model import Place
from loop_close.prompt import safe
from loop_close.prompt.report_json import Cause
from loop_close.records import Edit, FailureRecord, Run, Signal, State
from loop_close.syntax.meaning import MODULE
from loop_close.text import code, one_line

#: How a page of ours begins: no other file is replaced.
BEGINNING = "<!doctype html>\n<!-- loop-close report -->"
#: How many runs a page shows.
MAX_RUNS = 500
#: Outcomes of a test in a run, by letter: word and glyph. ``Q``: not among the failures of a complete run.
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "F": ("failed", "×"),
    "E": ("error", "!"),
    "P": ("passed", "✓"),
    "Q": ("did not fail", "·"),
    "S": ("skipped", "s"),
    "X": ("expected failure", "x"),
    "N": ("not run", "–"),
    ".": ("not recorded", " "),
}
#: The result of a run: glyph for a lane of one character.
VERDICTS: Mapping[str, str] = {"done": "★", "green": "✓", "red": "×", "void": "∅", "unfinished": "†"}
_MAX_TESTS, _MAX_CAUSES = 5_000, 300
_MAX_NAME, _MAX_EDITS, _MAX_LINE = 300, 12, 300
_FAILED_PHASES = ("call", "check", "process", "")
_LETTERS = {"passed": "P", "xpassed": "P", "skipped": "S", "xfailed": "X", "failed": "F"}
_FOLDER = Path(__file__).parent
_MAX_REPORT = 50_000_000
_OF_SUSPECTS = ("file", "line", "function", "score", "reasons")
_UNESCAPED = ("style", "script", "data")
#: A test: what ran it, and its name.
_Test = tuple[str, str]
_Key = TypeVar("_Key", str, _Test)


@dataclass
class _Seen:
    """A test or a root cause: how many failures by the run, all its tests, and its last failure."""

    last: FailureRecord
    runs: Counter[int] = field(default_factory=Counter)
    tests: set[_Test] = field(default_factory=set)


def timeline(
    runs: Sequence[Run],
    project: str = "",
    *,
    state: State | None = None,
    signals: Sequence[Signal] = (),
    latest: Iterable[Cause] = (),
) -> dict[str, Any]:
    """The data of the page: tests over runs, the oldest run first, the tests that fail now first.

    Each run is a column, each test that failed at least once a row with a letter of :data:`OUTCOMES` for each run, each
    root cause a band. Runs, tests and causes name each other by their indexes.

    :param runs: the oldest first; the last :data:`MAX_RUNS` are shown.
    :param state: what the gate says; ``signals`` those of the loop.
    :param latest: the root causes of the report of the last run, which knows more of them than its row.
    :returns: ``leftOut`` is how many runs, tests and causes the bounds leave out.
    """
    omitted = max(0, len(runs) - MAX_RUNS)
    runs = runs[omitted:]
    sources = [*dict.fromkeys(map(_source_of, runs))]
    current = {_source_of(run): number for number, run in enumerate(runs) if run.is_finished}.values()
    tests: dict[_Test, _Seen] = {}
    causes: dict[str, _Seen] = {}
    made: defaultdict[str, set[str]] = defaultdict(set)
    for number, run in enumerate(runs):
        made[_source_of(run)] |= {*run.outcomes, *(each.source for each in run.failures)}
        for each in run.failures:
            test = each.source, each.test
            for seen in (
                tests.setdefault(test, _Seen(each)),
                causes.setdefault(_cause_of(each), _Seen(each)),
            ):
                seen.last = each
                seen.runs[number] += 1
                seen.tests.add(test)
    rows = {key: at for at, key in enumerate(_ordered(tests, current)[:_MAX_TESTS])}
    bands = {key: at for at, key in enumerate(_ordered(causes, current)[:_MAX_CAUSES])}
    named = Counter(test for _, test in rows)
    known = [*latest]
    failed = [{(each.source, each.test): each for each in run.failures} for run in runs]
    whole = [made[_source_of(run)] if _is_whole(run) else frozenset() for run in runs]
    return {
        "project": _line(project, 80),
        "state": _line(f"{state.verdict}: {state.reason}").removesuffix(":") if state is not None else "",
        "sources": [_line(source, 80) for source in sources],
        "runs": [_run(run, sources.index(_source_of(run)), signals) for run in runs],
        "tests": [_row(key, runs, failed, whole, bands, is_alone=named[key[1]] == 1) for key in rows],
        "causes": [_band(causes[key], rows, current, known) for key in bands],
        "leftOut": [omitted, len(tests) - len(rows), len(causes) - len(bands)],
    }


def _ordered(seen: Mapping[_Key, _Seen], current: Collection[int]) -> list[_Key]:
    """What fails now first, then what failed last, then what failed most."""
    return sorted(
        seen,
        key=lambda key: (
            seen[key].runs.keys().isdisjoint(current),
            -max(seen[key].runs),
            -max(len(seen[key].runs), len(seen[key].tests)),
            key,
        ),
    )


def _source_of(run: Run) -> str:
    """The check of a run, or what made it."""
    made = sorted({*run.outcomes, *(each.source for each in run.failures)})
    return run.check or (made[0] if made else "pytest" if run.started else " ".join(run.command[:1]))


def _run(run: Run, source: int, signals: Iterable[Signal]) -> dict[str, Any]:
    """A run, with what was edited before it in words, and with the signals that end in it.

    :param source: the index of its source.
    """
    more = max(0, len(run.edits.edits) - _MAX_EDITS) + run.edits.omitted
    return {
        "source": source,
        "number": run.number,
        "started": int(run.began),
        "seconds": round(run.seconds, 1),
        "verdict": run.result,
        "failing": len({(each.source, each.test) for each in run.failures}) + run.omitted,
        "passed": run.counts.passed,
        "skipped": run.counts.skipped,
        "edit": run.edits.kind,
        "edits": [*map(edit_words, run.edits.edits[:_MAX_EDITS]), *([f"and {more} more"] if more else [])],
        "signals": [
            _line(f"{each.kind}: {each.explanation}")
            for each in signals
            if max(each.runs, default=0) == run.number
        ],
    }


def edit_words(edit: Edit) -> str:
    """``edited total() in src/cart.py``, as plain text of one line."""
    what = f"{edit.function}() in " if edit.function not in ("", MODULE) else ""
    change = edit.change if edit.is_effective else "comments or formatting of"
    return _line(f"{change} {what}{edit.file}", 160)


def _line(text: str, limit: int = _MAX_LINE) -> str:
    """A text that no record cleaned, such as the name of a file, on one line."""
    return one_line(safe(text, 4 * limit), limit)


def _is_whole(run: Run) -> bool:
    return run.is_finished and not (run.incomplete or run.omitted or run.scope)


def _row(
    key: _Test,
    runs: Sequence[Run],
    failed: Sequence[Mapping[_Test, FailureRecord]],
    whole: Sequence[Collection[str]],
    bands: Mapping[str, int],
    *,
    is_alone: bool,
) -> dict[str, Any]:
    """A test, with the index of the root cause of each failing cell in order, -1 for one that is left out.

    :param failed: the failures of each run; ``whole`` the sources of which it lists all failures.
    :param bands: the indexes of root causes by their keys.
    :param is_alone: no other source has a test of this name.
    """
    source, test = key
    cells, causes = "", []
    for run, failures, sources in zip(runs, failed, whole, strict=True):
        if failure := failures.get(key):
            cells += "F" if failure.phase in _FAILED_PHASES else "E"
            causes.append(bands.get(_cause_of(failure), -1))
        elif source in run.outcomes:
            cells += _LETTERS.get(run.outcomes[source].get(test, ""), "N")
        else:
            cells += "Q" if source in sources else "."
    name = one_line(test if is_alone else f"{test} ({source})", _MAX_NAME)
    return {"name": name, "cells": cells, "causes": causes}


def _cause_of(failure: FailureRecord) -> str:
    return failure.cause or failure.shape or failure.exact


def _band(
    seen: _Seen, rows: Mapping[_Test, int], current: Collection[int], latest: Sequence[Cause]
) -> dict[str, Any]:
    """A root cause: what the report of the last run says of it if it is of now, else what its last row says.

    :returns: ``runs`` is how many tests it broke, by the index of the run; ``count`` also counts tests that are left
        out; ``isCheck``: a checker found it, its tests are findings; ``prompt`` is about this cause alone.
    """
    file, _, function = seen.last.where.partition(":")
    tests = {test for _, test in seen.tests}
    at, name = Place(file=file, line=seen.last.line, function=function), seen.last.exception or "failure"
    is_current = not seen.runs.keys().isdisjoint(current)
    title = f"{name} at {at.where}" if file else name
    own = Cause(id="", kind=name, title=one_line(title), message=seen.last.message, location=at)
    known = (each for each in latest if is_current and not tests.isdisjoint(each.tests))
    cause = replace(next(known, own), exception=seen.last.exception, tests=tuple(sorted(tests)))
    prompt = (f"# {code(cause.title)}", "", *cause_lines(cause), "", "Rerun: `loop-close check`", "")
    return {
        "title": cause.title,
        "exception": cause.exception or cause.kind,
        "message": cause.message[:1_000],
        "where": cause.location.where,
        "function": cause.location.function,
        "suspects": [{name: getattr(each, name) for name in _OF_SUSPECTS} for each in cause.suspects[:5]],
        "runs": seen.runs,
        "tests": sorted(rows[key] for key in seen.tests if key in rows),
        "count": len(tests),
        "isCurrent": is_current,
        "isCheck": seen.last.phase == "check",
        "prompt": "\n".join(prompt),
    }


def latest_causes(root: Path, runs: Sequence[Run]) -> tuple[Cause, ...]:
    """The root causes of the report in the state folder; empty if it is of another run, or cannot be read."""
    path = root / files.REPORT
    try:
        if not path.is_file() or path.stat().st_size > _MAX_REPORT:  # a pipe would wait for a writer
            return ()
        plain = parsed(path.read_text(encoding="utf-8", errors="replace"))
        is_of_last = bool(runs) and plain.get("number") == runs[-1].number
        return document_of(plain).root_causes if is_of_last else ()
    except (OSError, ReportError):
        return ()


def page_of(shown: Mapping[str, Any]) -> str:
    """The page of a :func:`timeline`: the same one gives the same bytes.

    It loads nothing, and nothing in it but its script runs.
    """
    style, script = _asset("page.css"), _asset("page.js")
    parts = {
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "title": shown["project"] or "Tests",
        "style": style,
        "data": _island(shown),
        "script": script,
    }
    escaped = {name: text if name in _UNESCAPED else html.escape(text) for name, text in parts.items()}
    # In one pass: what is put in is never read as a part of the template.
    return re.sub(r"\{\{([a-z-]+)\}\}", lambda found: escaped[found[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _island(shown: Mapping[str, Any]) -> str:
    """JSON for an element of HTML: ASCII without the characters that could end the element or begin another."""
    # "3Q" for "QQQ": half of the bytes of a large page
    tests = [{**test, "cells": re.sub(r"(.)\1+", _packed, test["cells"])} for test in shown["tests"]]
    data = {**shown, "tests": tests, "outcomes": OUTCOMES, "verdicts": VERDICTS}
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _packed(found: re.Match[str]) -> str:
    return f"{len(found[0])}{found[1]}"
