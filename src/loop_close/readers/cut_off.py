"""What is left of pytest's output when a part was cut off (``pytest | tail -4``), and how a run ended without its end.

Every row is a line that pytest prints: a red one is a failure, one of a run that goes on makes the run incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from loop_close.readers import CUT, MARK, Read, Reading, merged
from loop_close.readers.printed import HEADER, LINKS, is_transcript

_MAX_FAILURES = 20_000
_FILE = r"[^\s:]{1,300}\.(?:py|txt|rst|md)"
_ENTRY = re.compile(
    rf"^(?P<word>FAILED|ERROR) (?P<id>{_FILE}(?:::(?:(?! - )[^\n]){{1,1000}})?)"
    r"(?: - (?P<words>[^\n]{1,2000}))?$",
    re.MULTILINE,
)


def read_cut_off(text: str, root: str) -> Reading:
    """A failure for each line of a summary that names one, and why the run ended before its end."""
    named = []
    if found := list(islice(_ENTRY.finditer(text), _MAX_FAILURES)):
        from loop_close.readers.pytest_output import (
            Entry,
            failure_of_entry,  # late: most texts have none
        )

        named = [
            (m.span(), failure_of_entry(Entry(m["word"], m["id"], m["words"] or ""), root)) for m in found
        ]
    end = why_unfinished(text)
    return Reading(
        failures=tuple(failure for _, failure in named),
        spans=merged([*(span for span, _ in named), *([end[1:]] if end else [])]),
        incomplete=end[0] if end else "",
    )


# --- the last lines of a run that was interrupted, that crashed, or whose output was cut

_WINDOW = 8_000
_LAST_LINES = 12
# ``!!! why !!!``, of which a part may be missing at the start or the end of the text.
_STOP = re.compile(
    r"^!{0,200} ?(?:[\w.]{1,100}\.)?(?P<why>(?:KeyboardInterrupt|Exit: |Interrupted: |stopping after \d"
    r"|session-timeout: )[^\n!]{0,500}?)(?: ?!{2,200}|(?<=!)[^\n]{0,500})$|^!{10,200}\Z",
    re.MULTILINE,
)
# What ended a run: any of it among the last lines counts, also above a line of counts.
_ENDINGS = (
    (
        r"^(?:(?:\S{1,500}:\d{1,9}: )?KeyboardInterrupt|[^\n]{0,60}KeyboardInterrupt use --full-trace\))$",
        "interrupted by Ctrl-C",
    ),
    (
        r"(?:^|(?<=[.sxXuFE ]))(?:Fatal Python error|Windows fatal exception): [^\n]{1,300}$"
        r"|^Extension modules: [^\n]{1,8000} \(total: \d{1,5}\)$"
        r"|[.sxXFE](?:Terminated|Killed|Aborted|Segmentation fault|Bus error)(?: \(core dumped\))?$",
        "Python crashed",
    ),
    (
        r"^(?:[.sxXFE]{0,400}\[gw\d{1,4}\] node down: [^\n]{1,500}|replacing crashed worker gw\d{1,4}"
        r"|worker 'gw\d{1,4}' crashed while running [^\n]{1,1000})$",
        "a worker of pytest-xdist ended before its tests",
    ),
    (
        r"^(?:ERROR: usage: [^\n]{1,500}|  inifile: [^\n]{1,1000}\n  rootdir: [^\n]{1,1000})$",
        "pytest did not start",
    ),
    (
        r"^ROOT: (?:\[\d{1,9}\] KeyboardInterrupt - teardown started|interrupt tox environment: [^\n]{1,500}"
        r"|requested interrupt of \d{1,9} from \d{1,9}[^\n]{0,200}|send signal SIG[^\n]{1,200}"
        r"|interrupt finished with success)$",
        "tox was interrupted",
    ),
    (r"^No data to report\.$", "coverage has no data"),
)
_STOPS = tuple((re.compile(pattern, re.MULTILINE), why) for pattern, why in _ENDINGS)
_WORD = r"(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)"
# What is printed before the last line of a run: without that line the run goes on, or was killed.
_BEGUN = re.compile(
    r"^(?:platform \S{1,40} -- Python [^\n]{1,60}, pytest-\d[^\n]{0,300}|rootdir: \S[^\n]{0,1000}"
    r"|plugins: [\w.-]{1,80}-\d[^\n]{0,2000}|collecting \.\.\.[^\n]{0,200}|collected \d{1,9} items?\b[^\n]{0,200}"
    r"|created: \d{1,4}/\d{1,4} workers?|\d{1,4} workers? \[\d{1,9} items?\]|bringing up nodes\.\.\."
    r"|Found \d{1,9} test\(s\)\.|[.sxXFERrpu,]{1,400} +\[ *\d{1,2}%\]"
    rf"|{_FILE} (?:[.sxXFERrpu,]{{1,400}}(?: +\[ *\d{{1,3}}%\])?"
    r"|[sxXFE]{0,400}\.[.sxXFE]{0,400}[^\s.][^\n]{0,2000})"
    rf"|{_FILE}:\d{{1,9}}: (?:[A-Z]\w{{0,200}}|in \S{{1,200}})|\+{{10,200}} Timeout \+{{10,200}}"
    rf"|{_FILE}::\S[^\n]{{0,1000}}? (?:{_WORD}\b[^\n]{{0,1000}}| *\[ *\d{{1,3}}%\])?"
    rf"|\[gw\d{{1,4}}\] (?:\[ *\d{{1,3}}%\] )?{_WORD} \S[^\n]{{0,1000}}"
    r"|[\w.][\w.,-]{0,100}: commands(?:_\w{1,10})?\[\d{1,4}\]> [^\n]{1,2000}"
    r"|\w{1,300} \(\w{1,200}\.[\w.]{1,800}\)[^\n]{0,400}(?:\n[^\n]{1,400})? \.\.\. ?[^\n]{0,1000}"
    r"|[^\n]{0,2000}(?:<(?:failure|error) message=\"|</failure>|\bfailures=\"[1-9])[^\n]{0,2000}"
    r"|\A\s*[sxXuFE]{0,4000}\.[.sxXuFE]{0,4000}\s*\Z)$",
    re.MULTILINE,
)
# The last lines of pytest, unittest, tox and pytest-sugar.
_ENDED = re.compile(
    rf"^[^\n]{{0,400}}\[100%\]$|{MARK}|^Ran \d{{1,9}} tests? in [\d.]{{1,12}}s\n\n(?:OK|FAILED|NO TESTS RAN)\b"
    r"|^Results \([\d.]{1,12}s\):$|^ {2}(?:evaluation failed :\(|congratulations :\))"
    r"|^[^\n]{0,400} in \d{1,9}\.\d{1,3} ?s(?:econds)?\b[^\n]{0,300}$",
    re.MULTILINE,
)
_DUMP = re.compile(
    r"(?:^|\n)(?:Timeout \([\d:.]{1,20}\)!"
    r"|(?:Current t|T)hread 0x[0-9a-fA-F]{1,16}[^\n]{0,120} \(most recent call first\):"
    r'|  File "[^"\n]{1,1000}", line (?:\d{1,9}|\?\?\?) in [^\n,]{1,300}(?:\n  \.\.\.)?|  <no Python frame>)\s*\Z'
)


def why_unfinished(text: str) -> tuple[str, int, int] | None:
    """Why the run ended before its end, with the offsets of the line that shows it; None if nothing does.

    Only the last lines count: what goes on below such a line quotes it, or is another run.
    """
    lines = text.rstrip().rsplit("\n", _LAST_LINES)
    first = len(lines[0]) + 1 if len(lines) > _LAST_LINES else 0
    return next(_reasons(text, max(first, len(text) - _WINDOW)), None)


def _reasons(text: str, first: int) -> Iterator[tuple[str, int, int]]:
    for found in _STOP.finditer(text, first):
        yield _why(found["why"] or ""), *found.span()
    for pattern, why in _STOPS:
        for found in pattern.finditer(text, first):
            yield why, *found.span()
    ended = max((found.end() for found in _ENDED.finditer(text, first)), default=first)
    for found in _BEGUN.finditer(text, ended):
        yield CUT, *found.span()
    if dump := _DUMP.search(text, first):
        yield "its output ends within a dump of Python's threads", dump.start(), len(text)
    start = text.rfind(HEADER, max(0, len(text) - _WINDOW))
    line = text.rfind("\n", 0, max(start, 0)) + 1
    margin = text[line:start] if text[line:start].isspace() else ""
    head, _, lines = text[max(start, 0) :].rstrip().partition("\n")
    is_open = head == HEADER and all(s.startswith(f"{margin}  ") or not s.strip() for s in lines.split("\n"))
    is_open = is_open and ('  File "' in lines or not is_transcript(text, line))
    if is_open or text.rstrip().endswith(tuple(LINKS.values())):
        yield "its output ends within a traceback", max(start, 0), len(text)


def _why(stop: str) -> str:
    """Why a run ended early, by the words of pytest between its exclamation marks."""
    if stop.startswith("KeyboardInterrupt"):
        return "interrupted by Ctrl-C"
    return stop.strip().removeprefix("Interrupted: ").replace("Exit: ", "pytest.exit: ") or CUT


READERS: dict[str, Read] = {"cut_off": read_cut_off}
