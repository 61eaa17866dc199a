"""Lines of a failed command whose output was cut off above or below them (``pytest | tail -4``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from loop_close.model import Counts, Failure
from loop_close.readers import CUT, MARK, Read, Reading, is_at_end, is_quoted_until, sum_of
from loop_close.readers.printed import HEADER, LINKS, is_transcript
from loop_close.readers.pytest_output import NOT_STARTED, failure_of_entry
from loop_close.readers.pytest_output.rulers import BLOCKS, PASSED, SUMMARY, WARNINGS, Ruler, rulers
from loop_close.readers.pytest_output.runs import counts_of_numbers, entries, why_stopped

_MAX_FAILURES = 20_000
# pytest's line of counts, as every release and those who pass it on write it.
_COUNTS = re.compile(
    r"^(?:[= ]{0,300}|\S{1,100}[:|] {1,4})(?P<counts>\d{1,9} [a-z][a-z -]{0,40}(?:, \d{1,9} [a-z][a-z -]{0,40}){0,20})"
    r" in \d{1,9}\.\d{1,3} ?s(?:econds)?\b[^\n]{0,300}$",
    re.MULTILINE,
)
_COUNTED = re.compile(r"(\d{1,9}) ([a-z][a-z -]*)")
_NUMBER = re.compile(
    r"(?P<what>failures|errors|skipped|expected failures|unexpected successes)=(?P<number>\d{1,9})"
)
_UNITTEST = re.compile(
    r"(?:^Ran (?P<ran>\d{1,9}) tests? in [\d.]{1,12}s\n\n)?"
    r"^FAILED \((?P<numbers>(?:[a-z ]{6,22}=\d{1,9}(?:, (?=[a-z]))?){1,5})\)$",
    re.MULTILINE,
)
_RUFF = re.compile(
    r"^Found (?P<all>\d{1,9}) errors?(?: \(\d{1,9} fixed, (?P<left>\d{1,9}) remaining\))?\.$"
    r"|^\[\*\] (?P<fixable>\d{1,9}) fixable with (?:the )?`--fix`[^\n]{0,100}$"
    r"|^(?P<unformatted>\d{1,9}) files? would be reformatted(?:, \d{1,9} files? already formatted)?$",
    re.MULTILINE,
)
# The end of each finding of ``ruff --output-format json``, which is not JSON any more if a piece is missing.
_RUFF_JSON = re.compile(
    r'"noqa_row": ?\d{1,9},\s{0,20}"url": ?"https://docs\.astral\.sh/ruff/rules/[\w-]{1,100}"'
)
_PYREFLY = re.compile(r"^[\]}]?\s{0,4}INFO (?P<all>\d{1,9}) errors?(?: \([^\n]{1,200}\))?$", re.MULTILINE)
_TY = re.compile(r"^Found (?P<all>\d{1,9}) diagnostics?$", re.MULTILINE)
# What tox says of an environment, when it ended and in the summary, and below the summary.
_TOX = re.compile(
    r"^ {2}evaluation failed :\((?: \([\d.]{1,12} seconds\))?$"
    r"|^(?: {2})?(?P<name>[\w.][\w.,-]{0,100}): FAIL(?: code -?\d{1,10})?"
    r"(?: ✖ in [\d.]{1,12} seconds| \([^\n]{1,200}\))$"
    r"|^(?P<ended>[\w.][\w.,-]{0,100}): exit -?[1-9]\d{0,9} \([\d.]{1,12} seconds\) [^\n]{1,2000}$",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"^(?P<outcome>FAIL|ERROR): \w{1,300} \(\w{1,200}\.[\w.]{1,800}\)[^\n]{0,500}$", re.MULTILINE
)
_VERBOSE = re.compile(
    r"^ {0,2}(?:test|setUp|tearDown)\w{0,200} \([\w.]{1,500}\)[^\n]{0,500} \.\.\. (?P<outcome>FAIL|ERROR)$",
    re.MULTILINE,
)
#: The progress of pytest or unittest, with a failure in it and nothing else on the line.
_PROGRESS = re.compile(
    r"^(?:\S{1,300}\.py )?(?P<outcomes>[.sxXuFE]{2,400})(?P<percent> +\[ *\d{1,3}%\])?$", re.MULTILINE
)
_RED = ("failed", "error", "errors")
# The last lines that pytest prints of a failure: its message, and the place where it was raised.
_RAISED = re.compile(
    r"^E {3,}[^\n]{0,2000}\n(?:E {3}[^\n]{0,2000}\n|E\n){0,60}\n"
    r"\S{1,500}\.py:\d{1,9}: (?:[A-Z]\w{0,200}|in \S{1,200})$",
    re.MULTILINE,
)
_INTERNAL = re.compile(
    r"^(?:INTERNALERROR> |(?:[^\s:]{1,200} ){0,3}(?:pytest|py\.test|__main__\.py): error: )(?P<said>\S[^\n]{0,2000})$",
    re.MULTILINE,
)
_TIMEOUT = re.compile(r"^\+{10,200} Timeout \+{10,200}$", re.MULTILINE)
# That of unittest, where the output ends with it or with the line below it.
_FIRST = re.compile(r"\A[FE]{1,400}(?=\n*={0,70}\n*\Z)")


def read_cut_off(text: str, root: str) -> Reading:
    """A failure for each line of a summary that names one; a number of failures if nothing names them.

    A number among the last lines counts even with exit code 0. A name alone counts only beside a number.
    """
    found = _Remains(text)
    for match in _COUNTS.finditer(text):
        if numbers := _numbers(match):
            found.take(match.span(), counts=counts_of_numbers(numbers))
    for match in _UNITTEST.finditer(text):
        found.take(match.span(), counts=_of_unittest(match))
    for match in _RUFF.finditer(text):
        if match["fixable"] and found.spans:
            continue
        number = int(match["left"] or match["all"] or match["unformatted"] or match["fixable"])
        what = "file to reformat" if match["unformatted"] else "error"
        if number:
            found.take(match.span(), _checked("ruff", number, what))
    if found_json := list(_RUFF_JSON.finditer(text)):
        span = found_json[0].start(), found_json[-1].end()
        found.take(span, _checked("ruff", len(found_json), "error"))
        found.is_certain = found.is_certain or not is_quoted_until(text[span[1] :])
    for tool, pattern, what in (("ty", _TY, "diagnostic"), ("pyrefly", _PYREFLY, "error")):
        for match in pattern.finditer(text):
            if int(match["all"]):
                found.take(match.span(), _checked(tool, int(match["all"]), what))
    for name, match in {m["name"] or m["ended"] or "": m for m in _TOX.finditer(text)}.items():
        message = f"{name}: the environment failed" if name else "an environment failed"
        found.take(match.span(), Failure(nodeid="", phase="process", tool="tox", code=name, message=message))
    internal = list(_INTERNAL.finditer(text))[-1:]
    for match in internal:
        found.take(match.span(), Failure(nodeid="", phase="session", message=match["said"]))
    for match in list(_TIMEOUT.finditer(text))[-1:]:
        found.take(match.span(), counts=Counts(failed=1))
    found.take_names(root)
    if (
        not found.is_certain and not found.counts and MARK not in text
    ):  # a whole output counts what its progress shows
        for match in _RAISED.finditer(text):
            found.take(match.span(), counts=Counts(failed=1))
            found.is_certain = found.is_certain or not is_quoted_until(text[match.end() :])
        for match in (*_VERBOSE.finditer(text), *_HEADING.finditer(text)):
            is_failed = match["outcome"] == "FAIL"
            found.take(match.span(), counts=Counts(failed=is_failed, errors=not is_failed))
        progress = (match for match in _PROGRESS.finditer(text) if _is_red(match))
        for match in (*progress, *_FIRST.finditer(text)):
            found.take(match.span(), counts=_of_progress(match.group()))
    found.take_end()
    return found.reading()


@dataclass(slots=True)
class _Remains:
    """What was read so far."""

    text: str
    failures: list[Failure] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    is_certain: bool = False
    incomplete: str = ""

    def take(
        self, span: tuple[int, int], failure: Failure | None = None, *, counts: Counts | None = None
    ) -> None:
        self.spans.append(span)
        self.failures += [failure] if failure is not None else []
        self.counts += [counts] if counts is not None else []
        self.is_certain = self.is_certain or is_at_end(self.text, span[1])

    def take_end(self) -> None:
        """Why the run ended early, if the last lines show it."""
        found = why_unfinished(self.text)
        if found is not None:
            self.incomplete, self.is_certain = found[0], True
            self.spans.append(found[1:])

    def take_names(self, root: str) -> None:
        """The lines of pytest's short summary, as far as they name a test or a file."""
        text = f"\n{self.text.rstrip()}\n"
        at = 0
        for entry in entries(text, 0, len(text), has_end=False):
            failure = failure_of_entry(entry, root)
            file = failure.nodeid.partition("::")[0]
            is_file = file.endswith((".py", ".txt", ".rst", ".md")) and " " not in file
            if is_file and len(self.failures) < _MAX_FAILURES:
                at = max(0, self.text.find(f" {entry.rest}", at))
                line = self.text.rfind("\n", 0, at) + 1
                self.failures.append(failure)
                self.spans.append((line, at + 1 + len(entry.rest)))

    def reading(self) -> Reading:
        if not self.spans:
            return Reading()
        return Reading(
            failures=tuple(self.failures),
            counts=sum_of(self.counts) if self.counts else None,
            spans=tuple(_apart(self.spans)),
            is_certain=self.is_certain,
            incomplete=self.incomplete,
        )


def _is_red(progress: re.Match[str]) -> bool:
    """Whether it contains a failure. A word of only F and E is not progress."""
    outcomes = progress["outcomes"]
    is_progress = progress["percent"] or outcomes.strip("FE")
    return bool(is_progress) and ("F" in outcomes or "E" in outcomes)


def _apart(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = 0
    for start, end in sorted(spans):
        if start >= last:
            yield start, end
            last = end


def _numbers(match: re.Match[str]) -> dict[str, int]:
    """The numbers of a line of counts with a failure; empty for another line."""
    found = {word.strip(): int(number) for number, word in _COUNTED.findall(match["counts"])}
    is_red = any(number and word.split()[-1] in _RED for word, number in found.items())
    return found if is_red else {}


def _of_unittest(match: re.Match[str]) -> Counts:
    numbers = {found["what"]: int(found["number"]) for found in _NUMBER.finditer(match["numbers"])}
    failed = numbers.get("failures", 0) + numbers.get("unexpected successes", 0)
    errors, skipped = numbers.get("errors", 0), numbers.get("skipped", 0)
    xfailed = numbers.get("expected failures", 0)
    passed = max(0, int(match["ran"] or 0) - failed - errors - skipped - xfailed)
    return Counts(passed=passed, failed=failed, errors=errors, skipped=skipped, xfailed=xfailed)


def _of_progress(line: str) -> Counts:
    outcomes = line.rpartition(".py ")[2].partition("[")[0]
    return Counts(passed=outcomes.count("."), failed=outcomes.count("F"), errors=outcomes.count("E"))


def _checked(tool: str, number: int, what: str) -> Failure:
    noun, space, more = what.partition(" ")
    message = f"{number} {noun}{'s' * (number != 1)}{space}{more} counted in the output, none of them shown"
    return Failure(nodeid="", phase="check", tool=tool, message=message, number=number)


# --- the last lines of a run that was interrupted, that crashed, or whose output was cut

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
    """Why the run ended before its end, with the offsets of the line that shows it; None if nothing does.

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
    line = text.rfind("\n", 0, max(start, 0)) + 1
    margin = text[line:start] if text[line:start].isspace() else ""
    is_open = first == HEADER and all(s.startswith(f"{margin}  ") or not s.strip() for s in lines.split("\n"))
    is_open = is_open and ('  File "' in lines or not is_transcript(text, line))
    if (is_open or below.endswith(tuple(LINKS.values()))) and not is_quoted_until(below):
        return "its output ends within a traceback", max(start, 0), len(text)
    return None


READERS: dict[str, Read] = {"cut_off": read_cut_off}
