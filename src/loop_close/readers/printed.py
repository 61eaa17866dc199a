"""Python's printed tracebacks in a text: frames, chains, exception groups."""

from __future__ import annotations

import builtins
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from msgspec.structs import replace

from loop_close.conventions import is_test_file
from loop_close.facts import bounded, innermost, is_a
from loop_close.model import Frame, Raised, Site, SourceLines
from loop_close.readers import line_end, project_path
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
    last = deque(_found(_Scanner(text, root, is_whole=True)), maxlen=1)
    return last[0][0] if last else None


def raised_in_line(said: str, root: str = "") -> Raised | None:
    """The exception of ``Type: message`` alone, the message of any number of lines; None for other text."""
    return assemble(said, (), root=root) if is_exception(said.partition("\n")[0]) else None


def printed_tracebacks(text: str, root: str = "") -> Iterator[tuple[Raised, int, int]]:
    """Every traceback in a text, a chain as one, with the offsets of its start and end.

    One needs at least a line that names a file, and the line with the exception. Of very many only the first
    and the last are given. A line without indentation below the exception counts as its message only where
    something shows that it is.
    """
    yield from _found(_Scanner(text, root))


def _found(scanner: _Scanner) -> Iterator[tuple[Raised, int, int]]:
    text = scanner.text
    heads = scanner.heads
    if len(heads) > _MAX_FIRST + _MAX_LAST:
        heads = heads[:_MAX_FIRST] + heads[-_MAX_LAST:]
    for head in heads:
        start = text.rfind("\n", max(0, head - _MAX_PREFIX - 1), head) + 1
        if start < scanner.at or head - start > _MAX_PREFIX:
            continue
        if not scanner.is_whole and is_transcript(text, start):
            continue
        scanner.at = start
        found = _traceback(scanner, text[start:head])
        if found is not None:
            yield found, start, scanner.end


def is_transcript(text: str, start: int) -> bool:
    """Whether the line above was typed at a prompt: documentation shows what a statement raises, doctests expect it."""
    for _ in range(_MAX_TYPED):
        end, start = start - 1, text.rfind("\n", max(0, start - _MAX_PREFIX), max(start - 1, 0)) + 1
        line = text[start : max(end, start)].lstrip()
        if not line.startswith("... ") and line != "...":
            return line.startswith(">>> ")
    return False


def _traceback(scanner: _Scanner, prefix: str) -> Raised | None:
    """The traceback whose header is on the current line."""
    is_other = prefix.strip() in _QUOTES or (scanner.line() or "")[len(prefix) + len(HEADER) :].strip()
    if prefix.endswith(_TOP):
        first = None if is_other else scanner.group(prefix.removesuffix(_TOP))
        return scanner.chain(prefix.removesuffix(_TOP), first) if first is not None else None
    scanner.move()
    indentation = prefix[: len(prefix) - len(prefix.lstrip())]
    margin = next((m for m in (prefix, indentation) if FRAME.match(scanner.body(m) or "")), None)
    first = scanner.headless(margin) if margin is not None and not is_other else None
    return scanner.chain(margin, first) if margin is not None and first is not None else None


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

_QUOTED = r"(?P<{}>'[^'\n]{{1,300}}'|\"[^\"\n]{{1,300}}\")"
_NO_MODULE = re.compile(r"No module named '?(?P<name>[\w.]{1,200})")
_CANNOT_IMPORT = re.compile(
    r"cannot import name '(?P<name>[^'\n]{1,200})' from (?:partially initialized module )?'(?P<owner>[^'\n]{1,200})'"
)
_NO_ATTRIBUTE = re.compile(
    r"(?:partially initialized )?(?:type object )?(?P<module>module )?'(?P<owner>[^'\n]{1,200})'"
    r"(?: object)? has no attribute '(?P<name>[^'\n]{1,200})'"
)
_NO_NAME = re.compile(
    r"(?:name '(?P<name>[^'\n]{1,200})' is not defined|cannot access free variable '(?P<free>[^'\n]{1,200})')"
)
_OS_ERROR = re.compile(
    r"\[(?:Errno|WinError) -?\d{1,6}\] [^'\"\n]{1,200}?: " + _QUOTED.format("path") + r"(?: -> .*)?\Z",
    re.DOTALL,
)
_OS_FILE = re.compile(r"(?:^<frozen os>|[/\\]os\.py)\Z")


@dataclass(slots=True)
class Printed:
    """One frame as printed.

    :ivar function: None if a syntax error points into a file, which no frame runs in.
    :ivar lines: the source lines below it that follow each other, without their margin.
    :ivar markers: the marks below the first of them.
    :ivar source: what is shown of its function, where that is more.
    """

    file: str
    line: int
    function: str | None
    lines: list[str] = field(default_factory=list)
    markers: str = ""
    source: SourceLines | None = None


@lru_cache(maxsize=64)
def _link_texts(margin: str, kind: str) -> tuple[str, ...]:
    """The lines between two exceptions of a chain; blank lines may have lost their spaces."""
    blanks = dict.fromkeys((margin, margin.rstrip()))
    return tuple(f"{blank}\n{margin}{LINKS[kind]}\n{blank}\n" for blank in blanks)


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
    module, name = _split_name(found["name"] if found else "")
    message = cut((found["message"] or "") if found else said)
    own = [(p, file) for p in printed if p.function is not None and (file := project_path(p.file, root))]
    kept = bounded(own)
    raised = Raised(
        type=name,
        module=module,
        message=message,
        bases=bases_of(name, module),
        frames=tuple(_frame(one, file) for one, file in kept),
    )
    return _explained(raised, printed, root)


def _split_name(dotted: str) -> tuple[str, str]:
    """``pkg.mod.Outer.Error`` as module and qualified name: a module begins with a small letter."""
    parts = dotted.split(".")
    classes = (i for i, part in enumerate(parts) if part.lstrip("_")[:1].isupper())
    first = next(classes, len(parts) - 1)
    if "<locals>" in parts:
        first = min(first, max(parts.index("<locals>") - 1, 0))
    return ".".join(parts[:first]), ".".join(p for p in parts[first:] if p != "<locals>")


def _frame(printed: Printed, file: str) -> Frame:
    source = printed.source
    if source is None and printed.lines:
        source = SourceLines(start=printed.line, lines=tuple(printed.lines))
    function = printed.function or ""
    return Frame(file=file, line=printed.line, function=function, is_test=is_test_file(file), source=source)


def _explained(raised: Raised, printed: Sequence[Printed], root: str) -> Raised:
    """With the details that the message spells out, and the statement at fault."""
    last = printed[-1] if printed else None
    if last is not None and last.function is None:
        return replace(raised, details=_syntax_details(last, root), site=_syntax_site(last, root))
    frame = innermost(raised)
    lines = frame.source.lines if frame is not None and frame.source is not None else ()
    site = Site(frame=frame, statement=" ".join(" ".join(lines).split())) if frame is not None else None
    details = {key: value for key, value in _details(raised, last, root).items() if value}
    return replace(raised, details=details, site=site)


def _syntax_details(place: Printed, root: str) -> dict[str, str]:
    path = project_path(place.file, root) or place.file.replace("\\", "/")
    details = {"path": path, "line": str(place.line)}
    if place.lines:
        details["text"] = place.lines[0]
    if "^" in place.markers:
        details["column"] = str(place.markers.index("^") + 1)
    return details


def _syntax_site(place: Printed, root: str) -> Site | None:
    file = project_path(place.file, root)
    return Site(frame=_frame(place, file)) if file else None


def _details(raised: Raised, last: Printed | None, root: str) -> dict[str, str]:
    message = raised.message
    if is_a(raised, "ImportError"):
        found = _CANNOT_IMPORT.match(message) or _NO_MODULE.match(message)
        return found.groupdict() if found else {}
    if is_a(raised, "AttributeError") and (found := _NO_ATTRIBUTE.match(message)):
        return {"name": found["name"], "owner": (found["module"] or "") + found["owner"]}
    if raised.type == "NameError" and (found := _NO_NAME.match(message)):
        return {"name": found["name"] or found["free"]}
    if is_a(raised, "OSError") and (found := _OS_ERROR.match(message)):
        path = found["path"][1:-1].replace("\\\\", "\\")
        return {"path": project_path(path, root) or path}
    if raised.type == "KeyError" and last is not None and last.function == "__getitem__":
        return {"environment": message.strip("'\"")} if _OS_FILE.search(last.file) else {}
    return {}


def linked(chain: list[tuple[str, Raised]]) -> Raised:
    """The last of a chain, each with the one before it as its cause or context."""
    _, last = chain[0]
    for kind, one in chain[1:]:
        last = replace(one, cause=last) if kind == "cause" else replace(one, context=last)
    return last


# --- the scanner, which goes over the lines of a printed traceback

_HEADERS = (HEADER, f"Exception Group {HEADER}")
_MAX_LINKS = 8
_MAX_MEMBERS = 12
_MAX_SOURCE = 12
_MAX_MESSAGE_LINES = 300
_MAX_AHEAD = 20
_MAX_COLUMN = 20
_MORE = re.compile(r"and (?P<number>\d{1,9}) more exceptions?\Z")


@dataclass(slots=True)
class _Scanner:
    """A place in a text that only moves on, so that reading takes time linear in the text.

    :ivar is_whole: the text is nothing but tracebacks, so that every line belongs to one.
    :ivar heads: where each header begins.
    :ivar at: where the current line begins.
    :ivar end: where the line before it ends.
    """

    text: str
    root: str
    is_whole: bool = False
    heads: list[int] = field(default_factory=list)
    at: int = 0
    end: int = 0

    def __post_init__(self) -> None:
        self.heads = [found.start() for found in re.finditer(re.escape(HEADER), self.text)]

    def line(self) -> str | None:
        """The current line; None after the last."""
        if self.at >= len(self.text):
            return None
        return self.text[self.at : line_end(self.text, self.at)]

    def move(self) -> None:
        """Go to the next line."""
        self.end = line_end(self.text, self.at)
        self.at = self.end + 1

    def body(self, margin: str) -> str | None:
        """The current line without its margin; None if it has another."""
        line = self.line()
        if line is None or line.startswith(margin):
            return line[len(margin) :] if line is not None else None
        return "" if line == margin.rstrip() else None

    def chain(self, margin: str, first: Raised) -> Raised:
        """The last of the exceptions that follow from each other, linked to those before it.

        :param first: the one that was just read.
        """
        found = [("", first)]
        while kind := self._link(margin):
            following = self._one(margin)
            if following is None:
                break
            found.append((kind, following))
        return linked(found[-_MAX_LINKS:])

    def _link(self, margin: str) -> str:
        for kind in LINKS:
            for text in _link_texts(margin, kind):
                if self.text.startswith(text, self.at):
                    self.at += len(text)
                    return kind
        return ""

    def _one(self, margin: str) -> Raised | None:
        """One exception with its header."""
        body = self.body(margin)
        if body == f"{_TOP}{HEADER}":
            return self.group(margin)
        if body not in _HEADERS:
            return None
        self.move()
        return self.headless(margin)

    def headless(self, margin: str) -> Raised | None:
        """One exception from the first line after its header on.

        :param margin: what every line begins with.
        """
        frames = self._frames(margin)
        if not is_exception(self.body(margin) or ""):
            return None
        return assemble("\n".join(self._message(margin)), frames, self.root)

    def group(self, margin: str) -> Raised | None:
        """An exception group with all that is in it.

        Every line has its margin, but for those of messages in Python 3.12 and before, which others follow.
        """
        line = rf"{re.escape(margin)} *[|+]"
        other = rf"(?<!{'-' * 36}\n)(?:(?!{line})[^\n]*\n){{1,{_MAX_AHEAD}}}?(?={line})"
        shown = re.compile(rf"(?:{line}[^\n]*(?:\n|\Z)|{other})*+").match(self.text, self.at)
        if shown is None:
            return None
        self.at, self.end = shown.end(), shown.end() - shown[0].endswith("\n")
        lines = shown[0].rstrip("\n").split("\n")
        return _in_group([line.removeprefix(margin) for line in lines], 2, self.root)

    def _frames(self, margin: str) -> list[Printed]:
        printed: list[Printed] = []
        while body := self.body(margin):
            if found := FRAME.match(body):
                printed.append(Printed(found["file"], int(found["line"]), found["function"]))
                self.move()
                self._source(printed[-1], margin)
            elif printed and REPEATED.match(body):
                self.move()
            else:
                break
        return printed

    def _source(self, printed: Printed, margin: str) -> None:
        is_whole = True
        while (body := self.body(margin)) and body.startswith("    ") and not FRAME.match(body):
            if printed.lines and MARKERS.match(body):
                printed.markers = printed.markers or body[4:]
            else:
                is_whole = is_whole and not _ELIDED.match(body) and len(printed.lines) < _MAX_SOURCE
                printed.lines += [body[4:]] if is_whole else []
            self.move()

    def _message(self, margin: str) -> list[str]:
        """The line with the exception, and those that belong to its message."""
        said = [self.body(margin) or ""]
        self.move()
        stop = self._next_link(margin)
        while len(said) < _MAX_MESSAGE_LINES:
            body = self._continued(margin, is_linked=self.at < stop)
            if body is None or self.at == stop:
                break
            said.append(body)
            self.move()
        while not said[-1].strip() and len(said) > 1:
            said.pop()
        return said

    def _next_link(self, margin: str) -> int:
        """Where the chain goes on, when nothing else does before; -1 when it does not."""
        at = bisect_left(self.heads, self.at)
        if at >= len(self.heads):
            return -1
        start = self.text.rfind("\n", self.at, self.heads[at]) + 1
        if self.text[start : self.heads[at]] not in (margin, f"{margin}Exception Group ", f"{margin}{_TOP}"):
            return -1
        for text in (text for kind in LINKS for text in _link_texts(margin, kind)):
            if self.text.startswith(text, max(start - len(text), self.at)):
                return start - len(text)
        return -1

    def _continued(self, margin: str, is_linked: bool) -> str | None:
        """The current line as part of a message; None if the message has ended."""
        body = self.body(margin)
        if is_linked:
            return body if body is not None and not OTHER.match(body) else None
        if body is None or OTHER.match(body):
            return None
        if self.is_whole or not body.strip():
            return body if self.is_whole else None
        is_more = _CONTINUED.match(body) or self.text[self.end - 1 : self.end] in _OPEN_ENDS
        return body if is_more else None


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
    found = [(_MORE.search(part[0] if part else ""), _in_group(part, column + 2, root)) for part in parts[1:]]
    members = [member for more, member in found if member is not None]
    omitted = sum(int(more["number"]) if more else member is None for more, member in found)
    omitted += len(members[_MAX_MEMBERS:])
    return replace(raised, members=tuple(members[:_MAX_MEMBERS]), omitted_members=omitted)


# --- base classes of Python's own exceptions, which a printed traceback does not contain

# Of the standard library, by the builtin class that they derive from.
_OF_LIBRARY = {
    "BaseException": "asyncio.exceptions.CancelledError",
    "Exception": "asyncio.exceptions.InvalidStateError asyncio.queues.QueueEmpty asyncio.queues.QueueFull "
    "concurrent.futures._base.Error configparser.Error csv.Error _csv.Error pickle.PickleError _pickle.PickleError "
    "queue.Full _queue.Empty sqlite3.Error sqlite3.DatabaseError sqlite3.DataError sqlite3.IntegrityError "
    "sqlite3.OperationalError sqlite3.ProgrammingError struct.error subprocess.SubprocessError "
    "subprocess.CalledProcessError subprocess.TimeoutExpired zipfile.BadZipFile",
    "ArithmeticError": "decimal.DecimalException",
    "OSError": "shutil.Error socket.gaierror socket.herror ssl.SSLError urllib.error.URLError",
    "RuntimeError": "dataclasses.FrozenInstanceError threading.BrokenBarrierError",
    "ValueError": "json.decoder.JSONDecodeError xml.etree.ElementTree.ParseError binascii.Error",
}
_PARENT = {child: parent for parent, children in _OF_LIBRARY.items() for child in children.split()}


def bases_of(name: str, module: str = "") -> tuple[str, ...]:
    """Names of the classes that a class derives from, nearest first; empty for one that is not Python's own."""
    if parent := _PARENT.get(f"{module}.{name}"):
        return parent, *bases_of(parent)
    found = getattr(builtins, name, None) if not module else None
    if isinstance(found, type) and issubclass(found, BaseException):
        return tuple(each.__name__ for each in found.__mro__[1:-1])
    return ()
