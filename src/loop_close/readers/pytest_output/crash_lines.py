"""Read failures without headings, as ``--tb=line`` prints them: what was said, then where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from loop_close.conventions import is_test_file
from loop_close.model import Failure, Frame, Raised, Site
from loop_close.readers.paths import project_path
from loop_close.readers.pytest_output.said import raised_from_words
from loop_close.readers.pytest_output.summary import CUT, Entry
from loop_close.readers.pytest_output.tracebacks import read_traceback

_CRASH = re.compile(
    r"\n(?P<file>(?:/|[A-Za-z]:[\\/])[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<said>[^\n]*)(?=\n)"
)
_SAID = re.compile(
    r"(?:\nE   [^\n]*+(?:\n    [^\n]*+|\n(?=\n*+    ))*+|\n(?=\nThe above |\nDuring handling )"
    r"|\nThe above exception was the direct cause of the following exception:"
    r"|\nDuring handling of the above exception, another exception occurred:)*+"
)


def crash_lines(text: str, entries: list[Entry], root: str = "") -> Iterator[Failure]:
    """The failures of such a region; each takes its node id from the next line of the summary that says the same.

    :param text: begins with a line break.
    """
    at = 0
    for crash in _CRASH.finditer(text):
        said = _SAID.match(text, at, crash.start())
        said = said if said is not None and "\nE   " in said.group() else None
        if said is not None and _last_words(said.group()) != crash["said"]:
            continue
        entry = next((e for e in entries if not e.is_used and _says(e, crash["said"])), None)
        if entry is None and entries:
            continue
        at = crash.end()
        raised = read_traceback(f"{said.group()}\n", root) if said is not None else None
        yield _failure(crash, raised or raised_from_words(crash["said"], root), entry, root)


def _last_words(said: str) -> str:
    """The first line of the last exception of a chain."""
    return said[said.rindex("\nE   ") + 5 :].partition("\n")[0]


def _says(entry: Entry, said: str) -> bool:
    _, words = entry.split()
    return (
        entry.word == "FAILED"
        and words != ""
        and (said.startswith(words.removesuffix(CUT)) or words.startswith(said))
    )


def _failure(crash: re.Match[str], raised: Raised | None, entry: Entry | None, root: str) -> Failure:
    file = project_path(crash["file"], root)
    nodeid = ""
    if entry is not None:
        entry.is_used = True
        nodeid, _ = entry.split()
    if raised is not None and file is not None:
        frame = Frame(file=file, line=int(crash["line"]), function="", is_test=is_test_file(file))
        raised = replace(raised, frames=(frame,), site=Site(frame=frame))
    return Failure(
        nodeid=nodeid or file or crash["file"],
        phase="call",
        message=raised.message if raised is not None else crash["said"],
        file=nodeid.partition("::")[0] or file or "",
        subtest=entry.subtest if entry is not None else "",
        raised=raised,
    )
