"""The history as one self-contained HTML page: template, style and script beside this module, data in JSON."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from loop_close import files
from loop_close.emit.report import Cause, ReportError, checked, parsed
from loop_close.page.data import OUTCOMES, VERDICTS, Timeline, source_of, timeline
from loop_close.records import Run, Signal, State

#: How a page of ours begins: no other file is replaced.
BEGINNING = "<!doctype html>\n<!-- loop-close report -->"
#: How many runs a page shows by default.
RUNS = 500
_FOLDER = Path(__file__).parent
_MAX_REPORT = 50_000_000
_UNESCAPED = ("style", "script", "data")


def read_timeline(
    runs: Sequence[Run],
    root: Path,
    *,
    source: str | None = None,
    limit: int = RUNS,
    state: State | None = None,
    signals: Sequence[Signal] = (),
) -> Timeline:
    """The last of these runs, as the page shows them.

    :param root: the project's root, whose report of the last run says more of its root causes.
    :param source: only runs of this check or source; None for all.
    :param state: what the gate says; ``signals`` those of the loop.
    """
    chosen = [run for run in runs if source in (None, source_of(run))]
    shown, omitted = chosen[-limit:], max(0, len(chosen) - limit)
    latest = latest_causes(root, shown)
    return timeline(shown, root.name, state=state, signals=signals, latest=latest, omitted=omitted)


def latest_causes(root: Path, runs: Sequence[Run]) -> tuple[Cause, ...]:
    """The root causes of the report in the state folder; empty if it is of another run, or cannot be read."""
    path = root / files.REPORT
    try:
        if not path.is_file() or path.stat().st_size > _MAX_REPORT:  # a pipe would wait for a writer
            return ()
        plain = parsed(path.read_text(encoding="utf-8", errors="replace"))
        is_of_last = bool(runs) and plain.get("number") == runs[-1].number
        return checked(plain).root_causes if is_of_last else ()
    except (OSError, ReportError):
        return ()


def page_of(shown: Timeline) -> str:
    """The page: the same timeline gives the same bytes. It loads nothing, and nothing in it but its script runs."""
    style, script = _asset("page.css"), _asset("page.js")
    parts = {
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "title": shown.project or "Tests",
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


def _island(shown: Timeline) -> str:
    """JSON for an element of HTML: ASCII without the characters that could end the element or begin another."""
    data = {**msgspec.to_builtins(shown), "outcomes": OUTCOMES, "verdicts": VERDICTS}
    for test in data["tests"]:  # "3Q" for "QQQ": half of the bytes of a large page
        test["cells"] = re.sub(r"(.)\1+", lambda found: f"{len(found[0])}{found[1]}", test["cells"])
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
