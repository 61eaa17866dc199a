"""pytest's own tracebacks, doctest failures and E lines as exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from loop_close.model import Frame, Raised, Site, SourceLines
from loop_close.readers import project_path
from loop_close.readers.printed import FRAME, HEADER, MARKERS, Printed, assemble, raised_in, raised_in_line
from loop_close.text import cut
from loop_close.text.normalize import relativize

MAX_LINKS = 8
_CHAIN = re.compile(
    r"\nThe above exception was the direct (?P<cause>cause) of the following exception:(?=\n)"
    r"|\nDuring handling of the above exception, another exception occurred:(?=\n)"
)
LOCATION = re.compile(
    r"(?P<file>(?:[A-Za-z]:[\\/])?[^\s:>][^\n:=]{0,1000}|<[^>\n]{1,300}>):(?P<line>\d{1,9}):"
    r"(?: (?:in (?P<function>[\w.<>]{1,300})|(?P<type>[\w.]{1,200})?))?\s*\Z"
)
_NATIVE = re.compile(r"\n(?:  \+ Exception Group )?Traceback \(most recent call last\):\n")
_DEF = re.compile(r"(?:async +)?def +(\w+)")
_COMPREHENSIONS = ("", "<listcomp>", "<dictcomp>", "<setcomp>")
_MAX_SOURCE = 60


def read_traceback(body: str, root: str = "") -> Raised | None:
    """The exception that a failure's text shows, with what it was raised from; None if it shows none.

    :param body: begins with a line break.
    """
    starts = list(_CHAIN.finditer(body))[-MAX_LINKS:] if " exception" in body else []
    found: Raised | None = None
    at = 0 if len(starts) < MAX_LINKS else starts.pop(0).end()
    kind: str | None = None
    for match in [*starts, None]:
        link = _link(body[at : match.start() if match else None], root)
        if link is not None:
            if found is not None:
                link = replace(link, cause=found) if kind == "cause" else replace(link, context=found)
            found = link
        if match is not None:
            at, kind = match.end(), match["cause"]
    return found


def _link(text: str, root: str) -> Raised | None:
    """One exception of a chain."""
    if HEADER in text and _NATIVE.search(text):
        raised = raised_in(text, root)
        return _without_root(raised, root) if raised is not None else None
    entries = Entries()
    for line in text.split("\n"):
        entries.take(line)
    entries.end()
    raised = _raised_from(entries.said, entries.printed, entries.type_name, root)
    if raised is None and not entries.printed:
        return raised_in_line(text.strip("\n"), root)
    return raised


@dataclass(slots=True)
class Entries:
    """The entries of one traceback, line by line.

    An entry of the long form is source, ``E`` lines, locals, and then its place; of the short form the place and
    then a line of source.

    :ivar said: the ``E`` lines without their ``E``.
    :ivar type_name: the exception's class, where an entry names it.
    """

    printed: list[Printed] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    type_name: str = ""
    _source: list[str] = field(default_factory=list)
    _marked: int = -1
    _is_over: bool = False
    _is_short: bool = False

    def take(self, line: str) -> None:
        """Read the next line."""
        first = line[:1]
        if first == "E" and (len(line) == 1 or line[1] == " "):
            self.said.append(line[1:])
            self._is_over = True
        elif first == ">" and line[1:4] in ("   ", ""):
            if not self._is_short and self._marked < 0:
                self._marked = len(self._source)
                self._source.append(line[4:])
        elif first == " ":
            self._indented(line)
        elif not first:
            if self._marked >= 0 or self._is_short:
                self._is_over = True
            elif self._source:
                self._source.append("")
        else:
            self._outer(line)

    def _indented(self, line: str) -> None:
        if self._is_over:
            if self.said and not self.printed and not self._source:
                self.said.append(line[1:])  # without a place only the first line is marked
            return
        if not (MARKERS.fullmatch(line) and "^" in line and (self._marked >= 0 or self._source)):
            self._source.append(line[4:] if line.startswith("    ") else line)

    def _outer(self, line: str) -> None:
        found = LOCATION.match(line) if ":" in line else None
        if found is None:
            if line.startswith("_ _ "):
                self.end()
            elif self._marked < 0 and not self._is_short:
                self._source.clear()  # arguments are above the source
            return
        if found["function"]:
            self.end()
            function = self._enclosing(found["file"], found["function"])
            self.printed.append(Printed(found["file"], int(found["line"]), function))
            self._is_short = True
        else:
            if self._is_short:
                self.end()
            self._long(found["file"], int(found["line"]), found["type"] or "")

    def _long(self, file: str, line: int, type_name: str) -> None:
        statement = self._source[self._marked :] if self._marked >= 0 else []
        start = line - max(self._marked, 0)
        is_shown = statement and statement[0].strip() != "???"
        function = self._enclosing(file, self._function(start))
        self.printed.append(Printed(file, line, function, statement if is_shown else []))
        self.printed[-1].source = _bounded(start, self._source, line) if is_shown else None
        self.type_name = type_name or self.type_name
        self._reset()

    def _enclosing(self, file: str, function: str) -> str:
        """The function that a comprehension is in, which names no function or itself."""
        if function not in _COMPREHENSIONS or not self.printed or self.printed[-1].file != file:
            return function
        return self.printed[-1].function or function

    def _function(self, start: int) -> str:
        """The function whose source is shown from its first line on."""
        for line in self._source:
            found = _DEF.match(line)
            if found:
                return found[1]
            if line and not line[0].isspace() and line[0] not in "@)]}#":
                break
        return "<module>" if start == 1 else ""

    def end(self) -> None:
        """The end of an entry of the short form."""
        if self._is_short:
            lines = [line.strip() for line in self._source if line.strip() not in ("", "???")][:_MAX_SOURCE]
            self.printed[-1].lines = lines
        self._reset()

    def _reset(self) -> None:
        self._source = []
        self._marked, self._is_over, self._is_short = -1, False, False


def _bounded(start: int, lines: Sequence[str], line: int) -> SourceLines:
    """The end of what is shown up to the running statement."""
    skipped = max(0, len(lines) - _MAX_SOURCE)
    skipped = min(skipped, max(line - start, 0))
    return SourceLines(start=start + skipped, lines=tuple(lines[skipped : skipped + _MAX_SOURCE]))


# --- pytest's ``E`` lines

_MAX_LINES = 2_000


def _raised_from(
    said: Sequence[str], printed: Sequence[Printed], type_name: str = "", root: str = ""
) -> Raised | None:
    """The exception of a traceback, without its causes; None without a message.

    :param said: the ``E`` lines without their ``E``, with their indentation.
    :param printed: the frames, outermost first.
    :param type_name: the exception's name, if the last entry has it.
    """
    lines = _dedented(said[:_MAX_LINES])
    if not lines:
        return None
    place, lines = _syntax_place(lines)
    text = _with_type("\n".join(lines), type_name)
    raised = _without_root(
        assemble(text, [*printed, *([place] if place is not None else [])], root=root), root
    )
    if place is None:
        return raised
    name = place.file.replace("\\", "/").rpartition("/")[2]
    return replace(raised, message=f"{raised.message} ({name}, line {place.line})")


def raised_from_words(words: str, root: str = "") -> Raised | None:
    """The exception of the summary's or a crash line's words; None if these are pytest's own."""
    raised = raised_in_line(_with_type(words, ""), root)
    return _without_root(raised, root) if raised is not None else None


def _without_root(raised: Raised, root: str) -> Raised:
    """The exception with paths below the root as the plugin shows them in its message."""
    message = relativize(raised.message, [(root, "")]) if root else raised.message
    return replace(raised, message=message) if message != raised.message else raised


def _with_type(text: str, type_name: str) -> str:
    """Pytest leaves the type out where the message is its own: ``assert 1 == 2``."""
    first = text.partition("\n")[0]
    if text.startswith("assert ") or (type_name and not _names(first, type_name)):
        return f"{type_name or 'AssertionError'}: {text}"
    return text


def _names(line: str, type_name: str) -> bool:
    """Whether a line begins with this exception, maybe with its module."""
    name = line.partition(": ")[0].removesuffix(":")
    return name == type_name or name.endswith(f".{type_name}") or "single exception in " in line


def _dedented(said: Sequence[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip(" ")) for line in said if line.strip()), default=0)
    return [line[margin:] for line in said]


def _syntax_place(lines: list[str]) -> tuple[Printed | None, list[str]]:
    """The place that a syntax error points to, and the lines of its message."""
    found = FRAME.match(lines[0])
    if found is None:
        return None, lines
    place = Printed(found["file"], int(found["line"]), None)
    for index, line in enumerate(lines[1:], 1):
        if not line.startswith(" "):
            return place, lines[index:]
        if MARKERS.fullmatch(line):
            place.markers = line[4:]
        else:
            place.lines.append(line[4:])
    return None, lines


_FIXTURE = re.compile(
    r"\nE {7}(?P<message>fixture '(?P<name>[^'\n]{1,300})' not found|recursive dependency involving fixture "
    r"'(?P<again>[^'\n]{1,300})' detected)(?=\n)"
)
_FILE = re.compile(r"(?:^|\n)file (?P<file>[^\n]{1,1000}), line (?P<line>\d{1,9})(?=\n)")


def missing_fixture(body: str) -> tuple[Raised, str, int] | None:
    """A fixture that does not exist, with the file and line of the test that asks for it."""
    found = _FIXTURE.search(body) if "E       fixture '" in body or "E       recursive " in body else None
    place = _FILE.search(body) if found is not None else None
    if found is None or place is None:
        return None
    raised = Raised(
        type="FixtureLookupError",
        module="_pytest.fixtures",
        message=found["message"],
        bases=("LookupError", "Exception", "BaseException"),
        details={"fixture": found["name"] or found["again"]},
    )
    return raised, place["file"], int(place["line"])


# --- doctests, which pytest prints with the text around the example

_END = re.compile(
    r"\n(?P<file>[^\n]{1,1000}):(?P<line>\d{1,9}|None): (?P<kind>DocTestFailure|UnexpectedException)(?=\n|\Z)"
)
_EXAMPLE = re.compile(r"\n(?:\d{3,9}|\?\?\?) [ \t]*>>> ?(?P<source>[^\n]*)")
_NUMBERED = re.compile(r"\n\d{3,9} (?P<text>[^\n]*)")
_CHECKED = re.compile(
    r"\nExpected(?::\n(?P<wanted>.*?)| nothing)\nGot(?::\n(?P<given>.*)| nothing)", re.DOTALL
)
_MAX_MEMBERS = 12


def read_doctest(body: str, name: str, root: str = "") -> Raised | None:
    """The failing examples of one doctest; None for text of another form.

    :param name: the doctest's name, from the heading.
    """
    members = []
    at = 0
    for end in _END.finditer(body):
        members.append(_example(body[at : end.start()], end, name, root))
        at = end.end()
    if not members:
        return None
    shown = tuple(members[:_MAX_MEMBERS])
    if len(members) == 1:
        return shown[0]
    omitted = len(members) - len(shown)
    return replace(shown[0], type="MultipleDoctestFailures", members=shown, omitted_members=omitted)


def _example(text: str, end: re.Match[str], name: str, root: str) -> Raised:
    source = next(iter(_EXAMPLE.findall(text)[::-1]), "")
    frames = _frames(text, end, name, root)
    site = Site(frame=frames[0], statement=source.strip()) if frames else None
    if end["kind"] == "UnexpectedException":
        inner = raised_in(text, root)
        if inner is not None:
            return inner if inner.frames else replace(inner, frames=frames, site=site)
        return Raised(type="UnexpectedException", module="doctest", message=source, frames=frames, site=site)
    checked = _CHECKED.search(text)
    wanted, given = (
        (words or "").strip("\n") or "    (nothing)" for words in (checked.groups() if checked else ("", ""))
    )
    message = cut(f"{source}\nExpected:\n{wanted}\nGot:\n{given}")
    return Raised(type="DocTestFailure", module="doctest", message=message, frames=frames, site=site)


def _frames(text: str, end: re.Match[str], name: str, root: str) -> tuple[Frame, ...]:
    file = project_path(end["file"], root)
    if file is None or not end["line"].isdecimal():
        return ()
    line = int(end["line"])
    shown = [found["text"] for found in _NUMBERED.finditer(text)]
    source = SourceLines(start=line - len(shown) + 1, lines=tuple(shown)) if shown else None
    return (Frame(file=file, line=line, function=name, is_test=True, source=source),)
