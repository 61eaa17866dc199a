"""What loop-close says: the suspects of its JSON report, and the text of its next prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.localize.reading import Named, Said, Scene, functions, mentions, once
from benchmarks.localize.run import Ran
from benchmarks.localize.spans import MODULE

NAME = "loop-close"
_PROMPT, _JSON = "nextprompt.md", "report.json"


def arguments(out: Path) -> list[str]:
    """Ask for the prompt and the report."""
    files = [f"--loop-close-file={out / _PROMPT}", f"--loop-close-json={out / _JSON}"]
    return ["-p", "loop_close", "--loop-close", "--loop-close-history=off", *files]


def read(scene: Scene, ran: Ran, out: Path) -> Said:
    """From what the run wrote. The terminal's output is not part of what the reader gets."""
    if not (out / _JSON).exists():
        return Said(text="", named=(), groups=0)
    document = json.loads((out / _JSON).read_text(encoding="utf-8"))
    return said(scene, document, (out / _PROMPT).read_text(encoding="utf-8"))


def said(scene: Scene, document: Mapping[str, Any], text: str) -> Said:
    """From the report as JSON has it."""
    causes = document["root_causes"]
    named = [name for cause in causes for name in _of_cause(scene, cause)]
    chances = ((s["score"], one) for cause in causes for s in cause["suspects"] for one in _named(scene, s))
    return Said(
        text=text,
        named=once(named),
        groups=len(causes),
        read=mentions(scene, text),
        chances=tuple(chances),
    )


def _of_cause(scene: Scene, cause: Mapping[str, Any]) -> Iterator[Named]:
    """The suspects in their order; where there is none, the cause's own place."""
    for place in cause["suspects"] or [cause["location"]]:
        yield from _named(scene, place)


def _named(scene: Scene, place: Mapping[str, Any]) -> Iterator[Named]:
    for named in functions(scene, [(place["file"], place["line"])]):
        yield Named(named.file, named.line, MODULE) if place["function"] == MODULE else named
