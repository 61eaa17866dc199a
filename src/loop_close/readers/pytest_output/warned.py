"""Read the warnings summary: warnings that tell of faults outside of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.model import Warned
from loop_close.readers.paths import project_path

MAX_WARNINGS = 200
_WARNING = re.compile(
    r"\n(?P<tests>(?:[^\s-][^\n]*\n)*+)  (?P<file>[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<category>[\w.]{1,200}): "
    r"(?P<message>[^\n]*(?:\n[ \t]+[^\n]*+|\n(?=\n*+  ))*+)"
)
_ADVICE = re.compile(r"\nEnable tracemalloc to get traceback where the object was allocated\.")


def warned_in(text: str, root: str = "") -> Iterator[Warned]:
    """The warnings of pytest itself, and of coroutines never awaited; the rest tell of no failure.

    :param text: a warnings summary, beginning with a line break.
    """
    if "never awaited" not in text and ": Pytest" not in text:
        return
    for found in _WARNING.finditer(text):
        category = found["category"].rpartition(".")[2]
        message = _message(found["message"])
        if category.startswith("Pytest") or "never awaited" in message:
            file = project_path(found["file"], root) or ""
            line = int(found["line"]) if file else 0
            tests = [t for t in found["tests"].split("\n") if t] or [""]
            for test in tests:
                yield Warned(category=category, message=message, nodeid=test, file=file, line=line)


def _message(text: str) -> str:
    """The message without margin, without the line of source and the advice that pytest puts below it."""
    lines = [line.removeprefix("  ") for line in text.split("\n")]
    advice = next((i for i, line in enumerate(lines) if line.startswith("Enable tracemalloc to get")), None)
    if advice is not None and advice > 1 and not lines[advice - 1].startswith("  "):
        return "\n".join(lines).strip("\n")  # the message's own: no source stands above it
    lines = lines[:advice]
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    if len(lines) > 1 and lines[-1].startswith("  "):
        lines.pop()
    return "\n".join(lines).strip("\n")
