"""Python's printed tracebacks in a text: frames, chains, exception groups."""

from __future__ import annotations

import builtins
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from msgspec.structs import replace

from loop_close.conventions import is_test_file
from loop_close.facts import bounded, innermost, is_a
from loop_close.model import Frame, Raised, Site, SourceLines
from loop_close.readers import project_path
from loop_close.text import cut

_MAX_PREFIX = 200
_MAX_FIRST = 100
_MAX_LAST = 300
_MAX_TYPED = 20
# Prefixes of lines of quoted text: comments, Markdown, diffs.
_QUOTES = {"#", "//", ">", "*", "--", ";", "%", "+", "-", "<", "..."}


def raised_in(text: str, root: str = "") -> Raised | None:
    """The exception of the last printed traceback; None without one.

    :param text: tracebacks with little else, such as what a report holds of one test.
    :param root: the project's root, empty if it is unknown.
    """
    found = [raised for raised, _, _ in _Scanner(text, root, is_whole=True).tracebacks()]
    return found[-1] if found else None


def raised_in_line(said: str, root: str = "") -> Raised | None:
    """The exception of ``Type: message`` alone, the message of any number of lines; None for other text."""
    return assemble(said, (), root=root) if is_exception(said.partition("\n")[0]) else None


def printed_tracebacks(text: str, root: str = "") -> Iterator[tuple[Raised, int, int]]:
    """Every traceback in a text, a chain as one, with the offsets of its start and end.

    One needs at least a line that names a file, and the line with the exception. Of very many only the first
    and the last are given. A line without indentation below the exception counts as its message only where
    something shows that it is.
    """
    if HEADER in text:
        yield from _Scanner(text, root, is_whole=False).tracebacks()


def is_transcript(text: str, start: int) -> bool:
    """Whether the line above was typed at a prompt: documentation shows what a statement raises, doctests expect it."""
    for _ in range(_MAX_TYPED):
        end, start = start - 1, text.rfind("\n", max(0, start - _MAX_PREFIX), max(start - 1, 0)) + 1
        line = text[start : max(end, start)].lstrip()
        if not line.startswith("... ") and line != "...":
            return line.startswith(">>> ")
    return False


# --- the parts of a printed traceback as records

HEADER = "Traceback (most recent call last):"
_TOP = "  + Exception Group "
LINKS = {
    "cause": "The above exception was the direct cause of the following exception:",
    "context": "During handling of the above exception, another exception occurred:",
}

FRAME = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>[^\n]{1,300}))?[ \t]*\Z'
)
#: What Python puts below a source line.
MARKERS = re.compile(r"[ ~^]++\Z")
_ELIDED = re.compile(r"    \.\.\.<\d{1,9} lines?>\.\.\.\Z")
REPEATED = re.compile(r"  \[Previous line repeated \d{1,9} more times?\]\Z")
#: Beginnings of lines that are not part of an exception's message: other tools, log lines, rulers, prompts.
OTHER = re.compile(
    r"""(?: Traceback\ \(most[ ] | During\ handling\ of\ the[ ] | The\ above\ exception\ was[ ]
      | ={4} | -{4} | _{4} | \*{4} | Std(?:out|err):\Z
      | \[?\d{4}-\d\d-\d\d | \[?\d\d:\d\d:\d\d
      | \[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b
      | Exception\ (?:ignored\ |in\ thread\ ) | Error\ in[ ] | Original\ exception\ was | Fatal\ Python\ error
      | (?:Task|Future)\ (?:exception|was)[ ] | Process\ [\w:-]{1,60}:\Z | Ran\ \d+\ tests?\ in[ ]
      | g?make(?:\[\d+\])?:[ ] | \$[ ] | >>>[ ] | npm[ ] | \#\#?\[ | (?:ba|z|da)?sh:[ ]
      | [\w.-]{1,40}:\ (?:exit\ \d|FAIL\b|OK\b|commands) | \S{1,300}:\d+:\ \w*Warning:
    )""",
    re.VERBOSE,
)
#: How a line begins that goes on with a message, and how one ends that is gone on with.
_CONTINUED = re.compile(r"\s|[\[(){}\]]|[-+*?] |For further information ")
_OPEN_ENDS = (":", ",", "(", "[", "{", "\\")
_EXCEPTION = re.compile(
    r"(?P<name>[^\W\d]\w{0,120}(?:\.(?:<locals>|[^\W\d]\w{0,120})){0,20})(?::(?: (?P<message>.*))?)?\Z",
    re.DOTALL,
)
# A name alone is an exception only if it looks like a class: ``KeyError``, ``socket.timeout``.
_CLASS = re.compile(r"(?:.*\.)?_*[A-Z]\w*\Z|(?:\w+\.)+(?:\w*error|timeout|herror)\Z")

# What the messages of Python's own exceptions name, by the class.
_DETAILS = (
    (
        "ImportError",
        r"cannot import name '(?P<name>[^'\n]{1,200})' from (?:partially initialized module )?"
        r"'(?P<owner>[^'\n]{1,200})'",
    ),
    ("ImportError", r"No module named '?(?P<name>[\w.]{1,200})"),
    (
        "AttributeError",
        r"(?:partially initialized )?(?:type object )?(?P<owner>(?:module )?'[^'\n]{1,200}')(?: object)?"
        r" has no attribute '(?P<name>[^'\n]{1,200})'",
    ),
    (
        "NameError",
        r"(?:name|cannot access free variable) '(?P<name>[^'\n]{1,200})'(?: is not defined| where )",
    ),
    (
        "OSError",
        r"\[(?:Errno|WinError) -?\d{1,6}\] [^'\"\n]{1,200}?: ['\"](?P<path>[^\n]{1,300}?)['\"](?: -> |\Z)",
    ),
)


@dataclass(slots=True)
class Printed:
    """One frame as printed.

    :ivar function: None if a syntax error points into a file, which no frame runs in.
    :ivar lines: the source lines below it that follow each other, without their margin.
    :ivar source: what is shown of its function, where that is more.
    """

    file: str
    line: int
    function: str | None
    lines: list[str] = field(default_factory=list)
    source: SourceLines = field(default_factory=SourceLines)


def is_exception(line: str) -> bool:
    """Whether a line looks like the last of a traceback, ``pkg.Type: message`` or ``Type``."""
    found = _EXCEPTION.match(line)
    return found is not None and (":" in line or _CLASS.match(found["name"]) is not None)


def assemble(said: str, printed: Sequence[Printed], root: str = "") -> Raised:
    """The exception of a traceback's lines, without its causes.

    :param said: ``Type: message``, the message of any number of lines.
    :param printed: every frame, outermost first; at the end the place of a syntax error.
    """
    found = _EXCEPTION.match(said)
    dotted, message = found.groups("") if found else ("", said)
    module, name = _split_name(dotted)
    own = [(p, file) for p in printed if p.function is not None and (file := project_path(p.file, root))]
    kept = bounded(own)
    raised = Raised(
        type=name,
        module=module,
        message=cut(message),
        bases=bases_of(name, module),
        frames=tuple(_frame(one, file) for one, file in kept),
    )
    return _explained(raised, printed, root)


def _split_name(dotted: str) -> tuple[str, str]:
    """``pkg.mod.Outer.Error`` as module and qualified name: a module begins with a small letter."""
    parts = dotted.replace(".<locals>", "").split(".")
    first = next((i for i, part in enumerate(parts) if part.lstrip("_")[:1].isupper()), len(parts) - 1)
    return ".".join(parts[:first]), ".".join(parts[first:])


def _frame(printed: Printed, file: str) -> Frame:
    source = printed.source
    if printed.lines and not source.lines:
        source = SourceLines(start=printed.line, lines=tuple(printed.lines))
    function = printed.function or ""
    return Frame(file=file, line=printed.line, function=function, is_test=is_test_file(file), source=source)


def _explained(raised: Raised, printed: Sequence[Printed], root: str) -> Raised:
    """With the details that the message spells out, and the statement at fault."""
    last = printed[-1] if printed else None
    if last is not None and last.function is None:
        file = project_path(last.file, root)
        details = {"path": file or last.file.replace("\\", "/"), "line": str(last.line)}
        return replace(raised, details=details, site=Site(frame=_frame(last, file)) if file else None)
    raised, frame = replace(raised, details=_details(raised, root)), innermost(raised)
    if frame is None:
        return raised
    shown = frame.source
    lines = shown.lines[frame.line - shown.start :]
    return replace(raised, site=Site(frame=frame, statement=" ".join(" ".join(lines).split())))


def _details(raised: Raised, root: str) -> dict[str, str]:
    named = (re.match(pattern, raised.message) for kind, pattern in _DETAILS if is_a(raised, kind))
    found = next(filter(None, named), None)
    details = {key: value.replace("'", "") for key, value in found.groupdict().items()} if found else {}
    if path := details.get("path", "").replace("\\\\", "\\"):
        details["path"] = project_path(path, root) or path
    return details


# --- the scanner, which goes over the lines of a printed traceback

_HEADERS = (HEADER, f"Exception Group {HEADER}")
_MAX_LINKS = 8
_MAX_MEMBERS = 12
_MAX_SOURCE = 12
_MAX_MESSAGE_LINES = 300
_MAX_AHEAD = 20
_MAX_COLUMN = 20
_GROUPED = re.compile(r" *[|+]")
_COUNTED = re.compile(r"\((?P<number>\d{1,9}) sub-exceptions?\)")


def linked(chain: Sequence[tuple[str, Raised]]) -> Raised | None:
    """The last of a chain, each with the one before it as its ``cause`` or ``context``; None for an empty one."""
    last = None
    for kind, one in chain[-_MAX_LINKS:]:
        last = replace(one, **{kind: last}) if last is not None else one
    return last


class _Scanner:
    """A place in the lines of a text that only moves on, so that reading takes time linear in the text.

    :ivar heads: the lines with a header.
    :ivar at: the current line.
    :ivar margin: what every line of the current traceback begins with.
    """

    def __init__(self, text: str, root: str, *, is_whole: bool) -> None:
        """``is_whole``: the text is nothing but tracebacks, so that every line belongs to one."""
        self.text, self.root, self.is_whole = text, root, is_whole
        self.lines = text.split("\n")
        self.heads = [at for at, line in enumerate(self.lines) if HEADER in line]
        self.at = 0
        self.margin = ""

    def tracebacks(self) -> Iterator[tuple[Raised, int, int]]:
        """Every traceback, with the offsets of its start and end."""
        starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        for head in self.heads[:_MAX_FIRST] + self.heads[_MAX_FIRST:][-_MAX_LAST:]:
            prefix, _, rest = self.lines[head].partition(HEADER)
            is_other = prefix.strip() in _QUOTES or rest.strip() or len(prefix) > _MAX_PREFIX
            if head < self.at or is_other or (not self.is_whole and is_transcript(self.text, starts[head])):
                continue
            self.at = head
            found = self._chain(prefix)
            if found is not None:
                yield found, starts[head], starts[self.at] - 1

    def _body(self, at: int) -> str | None:
        """A line without the margin; None if it has another, and after the last."""
        line = self.lines[at] if at < len(self.lines) else "\0"
        if line.startswith(self.margin) and line != "\0":
            return line.removeprefix(self.margin)
        return "" if line == self.margin.rstrip() else None

    def _chain(self, prefix: str) -> Raised | None:
        """The last of the exceptions that follow from each other, linked to those before it.

        :param prefix: what is before the first header.
        """
        if prefix.endswith(_TOP):
            self.margin = prefix.removesuffix(_TOP)
            raised = self._group()
        else:
            self.at += 1
            indentation = prefix[: len(prefix) - len(prefix.lstrip())]
            self.margin = prefix
            self.margin = prefix if FRAME.match(self._body(self.at) or "") else indentation
            raised = self._headless()
        found, kind = [], ""
        while raised is not None:
            found.append((kind, raised))
            kind = self._kind(self.at + 3)
            self.at += 3 if kind else 0
            raised = self._one() if kind else None
        return linked(found)

    def _kind(self, head: int) -> str:
        """``cause`` or ``context`` if the header on a line follows from an exception above it; else empty."""
        if self._body(head) not in (*_HEADERS, _TOP + HEADER):
            return ""
        above = [self._body(at) for at in range(head - 3, head)]
        return next((kind for kind, text in LINKS.items() if above == ["", text, ""]), "")

    def _one(self) -> Raised | None:
        """The exception whose header is on the current line."""
        if self._body(self.at) == _TOP + HEADER:
            return self._group()
        self.at += 1
        return self._headless()

    def _headless(self) -> Raised | None:
        """One exception from the first line after its header on."""
        printed: list[Printed] = []
        is_shown = True
        while body := self._body(self.at):
            if found := FRAME.match(body):
                printed.append(Printed(found["file"], int(found["line"]), found["function"]))
                is_shown = True
            elif not printed:
                break
            elif printed[-1].lines and MARKERS.match(body):
                pass  # below a line of source
            elif body.startswith("    "):
                is_shown = is_shown and not _ELIDED.match(body) and len(printed[-1].lines) < _MAX_SOURCE
                printed[-1].lines += [body[4:]] if is_shown else []
            elif not REPEATED.match(body):
                break
            self.at += 1
        if not (printed and is_exception(self._body(self.at) or "")):
            return None
        return assemble(self._message(), printed, self.root)

    def _message(self) -> str:
        """The line with the exception, and those that belong to its message."""
        said = [self._body(self.at) or ""]
        self.at += 1
        # where the chain goes on, when nothing else does before: up to there all belongs to the message
        head = self.heads[min(bisect_left(self.heads, self.at), len(self.heads) - 1)]
        link = head - 3 if head - 3 >= self.at and self._kind(head) else -1
        while len(said) < _MAX_MESSAGE_LINES and self.at != link:
            body = self._body(self.at)
            if body is None or OTHER.match(body):
                break
            is_more = body.strip() and (_CONTINUED.match(body) or said[-1].endswith(_OPEN_ENDS))
            if not (is_more or self.is_whole or self.at < link):
                break
            said.append(body)
            self.at += 1
        while len(said) > 1 and not said[-1].strip():
            said.pop()
        return "\n".join(said)

    def _group(self) -> Raised | None:
        """An exception group with all that is in it.

        Every line has its margin, but for those of messages in Python 3.12 and before, which others follow.
        """
        shown: list[str] = []
        for at in range(self.at, len(self.lines)):
            body = self._body(at)
            if body is not None and _GROUPED.match(body):
                shown += [*self.lines[self.at : at], body]
                self.at = at + 1
            elif at - self.at >= _MAX_AHEAD or (at == self.at and shown[-1].endswith("-" * 36)):
                break
        return _in_group(shown, 2, self.root)


def _in_group(lines: Sequence[str], column: int, root: str) -> Raised | None:
    """The exception of a group or of one of its members, with what is in it; None without one.

    :param column: where its margin begins; that of its members begins two further.
    """
    margin = " " * column
    separators = (f"{margin}+-+{'-' * 16} ", f"{margin}  +{'-' * 16} ")
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.startswith(separators):
            parts.append([])
        elif not line.lstrip().startswith("+--"):
            parts[-1].append(line)
    own = "\n".join(re.sub(rf"\A{margin}[|+] ?", "", line) for line in parts[0])
    raised = raised_in(own, root) or raised_in_line(own.strip(), root)
    if raised is None or column > _MAX_COLUMN:
        return raised
    found = (_in_group(part, column + 2, root) for part in parts[1:])
    members = tuple(member for member in found if member is not None)[:_MAX_MEMBERS]
    counted = _COUNTED.search(raised.message)
    omitted = max(0, int(counted["number"]) - len(members)) if counted is not None else 0
    return replace(raised, members=members, omitted_members=omitted)


# --- base classes of Python's own exceptions, which a printed traceback does not contain

# Exceptions of the standard library that derive from more than ``Exception``.
_PARENT = {
    "decimal.DecimalException": "ArithmeticError",
    "urllib.error.URLError": "OSError",
    **dict.fromkeys(("shutil.Error", "socket.gaierror", "socket.herror", "ssl.SSLError"), "OSError"),
    **dict.fromkeys(("json.decoder.JSONDecodeError", "binascii.Error"), "ValueError"),
}


def bases_of(name: str, module: str = "") -> tuple[str, ...]:
    """Names of the classes that a class derives from, nearest first; empty for one that is not Python's own."""
    if parent := _PARENT.get(f"{module}.{name}"):
        return parent, *bases_of(parent)
    found = getattr(builtins, name, None) if not module else None
    if isinstance(found, type) and issubclass(found, BaseException):
        return tuple(each.__name__ for each in found.__mro__[1:-1])
    return ()
