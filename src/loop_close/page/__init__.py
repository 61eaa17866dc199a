"""The history as one self-contained HTML page: template, style and script beside this module, data in JSON."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from loop_close import files
from loop_close.emit.charts import TEXT_RUNS, history_lines
from loop_close.emit.report import ReportError, checked, parsed
from loop_close.emit.timeline import (
    FAILING,
    MAX_RUNS,
    OUTCOMES,
    VERDICTS,
    RunEntry,
    Timeline,
    TimelineCause,
    run_lengths,
    timeline_of,
)
from loop_close.prompt.place import percent
from loop_close.store import reader
from loop_close.store.reader import HistoryReader
from loop_close.text import one_line

#: How a page of ours begins: no other file is replaced.
BEGINNING = "<!doctype html>\n<!-- loop-close report -->"
#: How many runs a page shows by default.
RUNS = 500
_FOLDER = Path(__file__).parent
_MAX_REPORT = 50_000_000
_UNESCAPED = ("style", "script", "data")
_MARK = re.compile(r"\{\{([a-z-]+)\}\}")


def read_timeline(
    path: Path,
    root: Path,
    source: str | None = None,
    limit: int = RUNS,
    read: Callable[..., Any] = reader.read,
) -> Timeline:
    """The last runs of a history.

    :param root: the project's root, whose report of the last run says more of its root causes.
    :param source: only runs of this source; None for all.
    :param limit: how many runs at most.
    :param read: what opens the history, as :func:`loop_close.store.reader.read` does.
    """
    limit = min(limit, MAX_RUNS)
    entries, omitted = read(path, lambda history: _entries(history, source, limit), source)
    return timeline_of(entries, root.name, _latest(root, entries), omitted)


def lines_of_runs(
    path: Path,
    root: Path,
    source: str,
    run: tuple[int, Collection[str]] | None = None,
    read: Callable[..., Any] = reader.read,
) -> list[str]:
    """The trend and the heat map of a source's last runs, as Markdown; empty if there is nothing to compare.

    :param run: number and failing tests of the run that has to be the last; None: any.
    """
    timeline = read_timeline(path, root, source, TEXT_RUNS, read)
    if run is not None:
        failed = {test.name for test in timeline.tests if test.cells[-1] in FAILING}
        if timeline.runs[-1].number != run[0] or failed.isdisjoint(one_line(name, 300) for name in run[1]):
            return []
    return history_lines(timeline, next(iter(timeline.sources), source))  # its name as it is shown


def _entries(history: HistoryReader, source: str | None, limit: int) -> tuple[list[RunEntry], int]:
    """The last runs, and how many there are before them."""
    rows = history.rows(source, limit)
    known = {
        (run.source, run.number): run
        for name in dict.fromkeys(row.source for row in rows)
        for run in history.recorded(name, limit)
    }
    entries = [
        RunEntry(
            source=row.source,
            number=row.number,
            state=row.state,
            started=row.started,
            ended=row.ended,
            passed=row.passed,
            skipped=row.skipped,
            failures=row.failures,
            summary=row.summary,
            run=known.get((row.source, row.number)) if row.state == "done" else None,
        )
        for row in rows
    ]
    return entries, history.count(source) - len(entries)


def _latest(root: Path, entries: Sequence[RunEntry]) -> dict[str, Any]:
    """The root causes by id of the report that the last run left; none of another run, or if it cannot be read."""
    path = root / files.REPORT
    try:
        if not path.is_file() or path.stat().st_size > _MAX_REPORT:  # a pipe would wait for a writer
            return {}
        plain = parsed(path.read_text(encoding="utf-8", errors="replace"))
        document = checked(plain)
    except (OSError, ReportError):
        return {}
    run = plain["progress"].get("run") if isinstance(plain.get("progress"), Mapping) else None
    last = next((e for e in reversed(entries) if e.source == document["source"] and e.run is not None), None)
    if last is None or last.number != run:
        return {}
    return {cause["id"]: cause for cause in document["root_causes"]}


def page_of(timeline: Timeline) -> str:
    """The page: the same timeline gives the same bytes. It loads nothing, and nothing in it but its script runs."""
    style, script = _asset("page.css"), _asset("page.js")
    parts = {
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "title": timeline.project or "Tests",
        "style": style,
        "data": _island(_document(timeline)),
        "script": script,
    }
    # In one pass: what is put in is never read as a part of the template.
    return _MARK.sub(lambda found: _filled(found[1], parts[found[1]]), _asset("page.html"))


def _filled(name: str, text: str) -> str:
    """A part for the template: escaped, unless it is named as code of ours or as escaped data."""
    return text if name in _UNESCAPED else html.escape(text)


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _island(document: Mapping[str, Any]) -> str:
    """JSON for an element of HTML: ASCII without the characters that could end the element or begin another."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _document(timeline: Timeline) -> dict[str, Any]:
    """The timeline in few bytes: texts that come again are numbers, cells are run lengths."""
    texts: dict[str, int] = {}
    runs = [
        [
            run.source,
            run.number,
            run.started,
            run.seconds,
            run.verdict,
            run.failing,
            run.passed,
            run.skipped,
            run.edit,
            [texts.setdefault(each, len(texts)) for each in run.edits],
            [texts.setdefault(": ".join(each), len(texts)) for each in run.signals],
        ]
        for run in timeline.runs
    ]
    return {
        "project": timeline.project,
        "sources": timeline.sources,
        "outcomes": {letter: list(words) for letter, words in OUTCOMES.items()},
        "verdicts": dict(VERDICTS),
        "runs": runs,
        "texts": list(texts),
        "tests": [[test.name, run_lengths(test.cells), _lengths(test.causes)] for test in timeline.tests],
        "causes": [_cause(each) for each in timeline.causes],
        "leftOut": timeline.left_out,
    }


def _lengths(numbers: Sequence[int]) -> list[int]:
    """Each number and how often it is repeated, one after the other."""
    found: list[int] = []
    for number in numbers:
        if found and found[-2] == number:
            found[-1] += 1
        else:
            found += [number, 1]
    return found


def _cause(cause: TimelineCause) -> dict[str, Any]:
    facts = cause.facts
    at = facts["location"]
    return {
        "title": cause.title,
        "exception": facts["exception"] or facts["kind"],
        "message": facts["message"][:1_000],
        "where": f"{at['file']}:{at['line']}" if at["line"] else at["file"],
        "function": at["function"],
        "suspects": [
            {
                "where": f"{each['file']}:{each['line']}" if each["line"] else each["file"],
                "function": each["function"],
                "percent": percent(each["score"]),
                "score": round(each["score"], 3),
                "reasons": each["reasons"][:6],
            }
            for each in facts["suspects"][:5]
        ],
        "runs": [number for pair in sorted(cause.runs.items()) for number in pair],
        "tests": cause.tests,
        "count": len(facts["tests"]),
        "isCurrent": cause.is_current,
        "isCheck": cause.is_check,
        "prompt": cause.prompt,
    }
