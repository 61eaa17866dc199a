"""The last lines of a run that did not come to its end: it was interrupted, it crashed, or its output was cut."""

from __future__ import annotations

import re

from loop_close.readers.contract import CUT, is_at_end, is_quoted_until
from loop_close.readers.good_news import MARK
from loop_close.readers.printed_parts import HEADER, LINKS
from loop_close.readers.pytest_output.counts import why_stopped
from loop_close.readers.pytest_output.early import NOT_STARTED
from loop_close.readers.pytest_output.pairs import BLOCKS, PASSED, SUMMARY, WARNINGS
from loop_close.readers.pytest_output.rulers import Ruler, rulers

_WINDOW = 8_000
_FIELD_LINES = 16
_SECTIONS = {*BLOCKS, *PASSED, *WARNINGS, SUMMARY, "test session starts"}
# ``!!! why !!!``, of which a part may be missing at the start or the end of the text.
_STOP = re.compile(
    r"^!{0,200} ?(?P<why>(?:(?:[\w.]{1,100}\.)?(?:KeyboardInterrupt|Exit: |Interrupted: )|stopping after \d"
    r"|session-timeout: )[^\n!]{0,500}?)(?: ?!{2,200}|(?<=!)[^\n]{0,500})$|^!{10,200}\Z",
    re.MULTILINE,
)
# What ended a run: any of it among the last lines counts, also above a line of counts.
_CRASHES = (
    (
        re.compile(
            r"^(?:(?:\S{1,500}:\d{1,9}: )?KeyboardInterrupt"
            r"|[^\n]{0,60}KeyboardInterrupt use --full-trace\))$",
            re.MULTILINE,
        ),
        "interrupted by Ctrl-C",
    ),
    (
        re.compile(
            r"(?:^|(?<=[.sxXuFE ]))(?:Fatal Python error|Windows fatal exception): [^\n]{1,300}$"
            r"|^Extension modules: [^\n]{1,8000} \(total: \d{1,5}\)$"
            r"|[.sxXFE](?:Terminated|Killed|Aborted|Segmentation fault|Bus error)(?: \(core dumped\))?$",
            re.MULTILINE,
        ),
        "Python crashed",
    ),
    (
        re.compile(
            r"^(?:[.sxXFE]{0,400}\[gw\d{1,4}\] node down: [^\n]{1,500}|replacing crashed worker gw\d{1,4}"
            r"|worker 'gw\d{1,4}' crashed while running [^\n]{1,1000})$",
            re.MULTILINE,
        ),
        "a worker of pytest-xdist ended before its tests",
    ),
    (
        re.compile(
            r"^(?:[^\n:]{1,500}:(?:\d{1,9}:)? )?(?:error: INTERNAL ERROR -- [^\n]{1,200}"
            r"|note: please use --show-traceback to print a traceback when reporting a bug"
            r"|note: use --pdb to drop into pdb)$",
            re.MULTILINE,
        ),
        "mypy crashed",
    ),
    (
        re.compile(
            r"^(?:ERROR: usage: [^\n]{1,500}|  inifile: [^\n]{1,1000}\n  rootdir: [^\n]{1,1000})$",
            re.MULTILINE,
        ),
        NOT_STARTED,
    ),
    (
        re.compile(
            r"^(?:ROOT: (?:\[\d{1,9}\] KeyboardInterrupt - teardown started|interrupt tox environment: [^\n]{1,500}"
            r"|requested interrupt of \d{1,9} from \d{1,9}[^\n]{0,200}|send signal SIG[^\n]{1,200}"
            r"|interrupt finished with success))$",
            re.MULTILINE,
        ),
        "tox was interrupted",
    ),
    (re.compile(r"^No data to report\.$", re.MULTILINE), "coverage has no data"),
)
_FILE = r"[^\s:]{1,300}\.(?:py|txt|rst|md)"
_WORD = r"(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)"
# What is printed before the last line of a run: without that line the run goes on, or was killed.
_BEGUN = re.compile(
    r"^(?:platform \S{1,40} -- Python [^\n]{1,60}, pytest-\d[^\n]{0,300}|rootdir: \S[^\n]{0,1000}"
    r"|plugins: [\w.-]{1,80}-\d[^\n]{0,2000}|collecting \.\.\.[^\n]{0,200}|collected \d{1,9} items?\b[^\n]{0,200}"
    r"|created: \d{1,4}/\d{1,4} workers?|\d{1,4} workers? \[\d{1,9} items?\]|bringing up nodes\.\.\."
    r"|Found \d{1,9} test\(s\)\."
    rf"|{_FILE} (?:[.sxXFERrpu,]{{1,400}}(?: +\[ *\d{{1,3}}%\])?"
    r"|[sxXFE]{0,400}\.[.sxXFE]{0,400}[^\s.][^\n]{0,2000})"
    rf"|{_FILE}::\S[^\n]{{0,1000}}? (?:{_WORD}\b[^\n]{{0,1000}}| *\[ *\d{{1,3}}%\])?"
    rf"|\[gw\d{{1,4}}\] (?:\[ *\d{{1,3}}%\] )?{_WORD} \S[^\n]{{0,1000}}"
    r"|[\w.][\w.,-]{0,100}: commands(?:_\w{1,10})?\[\d{1,4}\]> [^\n]{1,2000}"
    r"|\w{1,300} \(\w{1,200}\.[\w.]{1,800}\)[^\n]{0,400}(?:\n[^\n]{1,400})? \.\.\. ?[^\n]{0,1000})$",
    re.MULTILINE,
)
# What a checker says of a finding, or of all; the start of the line may be missing. Sanitizing parts ``::`` and ``##``.
_FINDING = re.compile(
    r"^(?:ERROR [^\n]{1,2000} \[[a-z-]{3,60}\]|(?:[^\n]{1,500}: )?(?:error|fatal)\[[a-z-]{3,60}\]:? [^\n]{1,2000}"
    r"|[^\n]{0,500}\berror: [^\n]{1,2000}  \[[a-z-]{2,60}\]|[^\s:]{1,400}\.pyi?:(?:\d{1,9}:){0,2} error\b[^\n]{0,2000}"
    r"|[^\s:]{0,400}:\d{1,9}:\d{1,9}: [A-Z]{1,5}\d{3,4} [^\n]{1,2000}|[A-Z]{1,5}\d{3,4} \[\*\] [^\n]{1,1000}"
    r"|\d{1,9} {1,8}[A-Z]{1,5}\d{3,4} [^\n]{1,1000}"
    r"|unformatted: File would be reformatted|invalid-syntax: [^\n]{1,1000}|(?:error: )?Failed to parse \S[^\n]{1,1000}"
    r"|[^\n]{0,24}in \d{1,9} files? \(checked \d{1,9} source files?\)|[^\n]{0,40}errors prevented further checking\)"
    r"|: ?:error (?!title=loop-close%3A )[^\n]{1,2000}|# ?#vso\[task\.logissue type=error;[^\n]{1,2000})$",
    re.MULTILINE,
)
# The same in JSON and XML, where a finding goes on over more lines.
_FIELD = re.compile(
    r'"(?:severity|level)": ?"(?:error|ERROR|major|critical|blocker)"|"errorCount": ?[1-9]|"noqa_row": ?\d'
    r'|"code": ?"(?:[A-Z]{1,5}\d{3,4}|invalid-syntax)"|<(?:failure|error) message="|\b(?:failures|errors)="[1-9]'
)
_PERCENT = re.compile(r"^[.sxXFERrpu,]{1,400} +\[ *\d{1,2}%\]$", re.MULTILINE)
_WHOLE = re.compile(r"^[^\n]{0,400}\[100%\]$", re.MULTILINE)
_DOTS = re.compile(r"\A\s*[sxXuFE]{0,4000}\.[.sxXuFE]{0,4000}\s*\Z")
# The last lines of unittest, tox and pytest-sugar.
_ENDED = re.compile(
    r"^(?:Ran \d{1,9} tests? in [\d.]{1,12}s\n\n(?:OK|FAILED|NO TESTS RAN)\b|Results \([\d.]{1,12}s\):$"
    r"| {2}(?:evaluation failed :\(|congratulations :\)))",
    re.MULTILINE,
)
_RAN = re.compile(r"^Ran \d{1,9} tests? in [\d.]{1,12}s\s*\Z", re.MULTILINE)
_DUMP = re.compile(
    r"(?:^|\n)(?:Timeout \([\d:.]{1,20}\)!"
    r"|(?:Current t|T)hread 0x[0-9a-fA-F]{1,16}[^\n]{0,120} \(most recent call first\):"
    r'|  File "[^"\n]{1,1000}", line (?:\d{1,9}|\?\?\?) in [^\n,]{1,300}(?:\n  \.\.\.)?|  <no Python frame>)\s*\Z'
)


def why_unfinished(text: str) -> tuple[str, int, int] | None:
    """Why the run ended before its end, with the offsets of the line that tells; None where nothing tells.

    Only the last lines count: what goes on below such a line quotes it, or is another run.
    """
    first = text.find("\n", len(text) - _WINDOW) + 1 if len(text) > _WINDOW else 0
    last = text[first:]
    drawn = rulers(f"\n{last}")
    found = _stopped(last) or _begun(last, drawn) or _within(last)
    return (found[0], found[1] + first, found[2] + first) if found else None


def _stopped(text: str) -> tuple[str, int, int] | None:
    for found in _STOP.finditer(text):
        if is_at_end(text, found.end()):
            return why_stopped(found["why"].strip()) if found["why"] else CUT, found.start(), found.end()
    for pattern, why in _CRASHES:
        for found in pattern.finditer(text):
            if is_at_end(text, found.end()):
                return why, found.start(), found.end()
    return None


def _begun(text: str, drawn: list[Ruler]) -> tuple[str, int, int] | None:
    """Progress with no line of counts below it, or a heading with nothing below it."""
    ends = [ruler.end for ruler in drawn if ruler.is_final or not ruler.char]
    end = max([text.rfind(MARK) + 1, *ends, *(found.end() for found in _ENDED.finditer(text))])
    whole = max([end, *(found.end() for found in _WHOLE.finditer(text))])
    marks = [*_BEGUN.finditer(text, end), *_PERCENT.finditer(text, whole), *_RAN.finditer(text, end)]
    marks += [] if ends else list(_DOTS.finditer(text))
    for found in marks:
        if is_at_end(text, found.end()):
            return CUT, found.start(), found.end()
    is_document = text.lstrip()[:1] in ("{", "}", "[", "]", "<", '"') or text.rstrip().endswith(
        "</testsuites>"
    )
    for found in (*_FINDING.finditer(text), *(_FIELD.finditer(text) if is_document else ())):
        if is_at_end(text, found.end(), *([_FIELD_LINES] if found.re is _FIELD else [])):
            return CUT, found.start(), found.end()
    ruler = drawn[-1] if drawn else None
    if ruler is not None and ruler.title in _SECTIONS and not text[ruler.end - 1 :].strip():
        return CUT, ruler.start - 1, ruler.end - 1
    return None


def _within(text: str) -> tuple[str, int, int] | None:
    """The end of a text within a traceback or a dump of Python's threads."""
    if dump := _DUMP.search(text):
        return "its output ends within a dump of Python's threads", dump.start(), len(text)
    start = text.rfind(HEADER)
    below = text[max(start, 0) :].rstrip()
    first, _, lines = below.partition("\n")
    is_open = first == HEADER and all(line.startswith("  ") or not line for line in lines.split("\n"))
    if (is_open or below.endswith(tuple(LINKS.values()))) and not is_quoted_until(below):
        return "its output ends within a traceback", max(start, 0), len(text)
    return None
