"""pytest's own tracebacks, doctest failures and E lines as exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from loop_close.model import Frame, Raised, Site, SourceLines
from loop_close.readers import project_path
from loop_close.readers.printed import MARKERS, Printed, assemble, linked, raised_in, raised_in_line
from loop_close.readers.processes import SYNTAX, syntax_place
from loop_close.text import cut
from loop_close.text.normalize import relativize

_CHAIN = re.compile(
    r"\n(?:The above exception was the direct (cause) of the following exception"
    r"|During handling of the above exception, another exception occurred):(?=\n)"
)
# Where the code of an entry is, or the line between two entries.
_PLACE = re.compile(
    r"\n(?:(?!E[ \n])(?P<file>(?:[A-Za-z]:[\\/])?[^\s:>][^\n:=]{0,1000}|<[^>\n]{1,300}>):(?P<line>\d{1,9}):"
    r"(?: (?:in (?P<function>[\w.<>]{1,300})|[\w.]{0,200}))?[ \t]*|_ _ [_ ]*)(?=\n|\Z)"
)
_NATIVE = re.compile(r"\n(?:  \+ Exception Group )?Traceback \(most recent call last\):\n")
_INDENTED = re.compile(r"(?>(?:\n [^\n]*+)*)")
# The function whose source is shown from its first line on.
_DEF = re.compile(r"(?>(?:(?:[\s@)\]}#][^\n]*+)?\n)*)(?:async +)?def +(\w+)")
_COMPREHENSIONS = ("", "<listcomp>", "<dictcomp>", "<setcomp>")
_MAX_SOURCE = 60


def read_traceback(body: str, root: str = "") -> Raised | None:
    """The exception that a failure's text shows, with what it was raised from; None if it shows none.

    :param body: begins with a line break.
    """
    texts = _CHAIN.split(body)
    found = [(kind, _link(text, root)) for kind, text in zip([None, *texts[1::2]], texts[::2], strict=True)]
    chain = [(kind or "context", link) for kind, link in found if link is not None]
    return linked(chain)


def _link(text: str, root: str) -> Raised | None:
    """One exception of a chain."""
    if _NATIVE.search(text):
        return raised_in(relativize(text, [(root, "")]), root)
    printed = _entries(text)
    start = text.find("\nE ")
    if start < 0:
        return None if printed else raised_in_line(text.strip("\n"), root)
    # without a place only the first line is marked
    margins = ("E", "E ") if printed else ("E", "E ", "  ")
    said = [line[1:] for line in text[start + 1 :].split("\n") if line[:2] in margins]
    return _raised_from(said[:_MAX_LINES], printed, root)


def _entries(text: str) -> list[Printed]:
    """The entries of a traceback.

    An entry of the long form is source, ``E`` lines, locals, and then its place; of the short form the place and
    then a line of source.
    """
    printed: list[Printed] = []
    at = 0
    for place in _PLACE.finditer(text):
        above, at = text[at : place.start()], place.end()
        if place["file"] is None:
            continue
        entry = Printed(place["file"], int(place["line"]), place["function"])
        if place["function"]:
            below = _INDENTED.match(text, at)
            shown = [line.strip() for line in below[0].split("\n")] if below else []
            entry.lines = [line for line in shown if line.strip("~^ ") not in ("", "???")][:_MAX_SOURCE]
        else:
            _add_source(entry, above)
        if entry.function in _COMPREHENSIONS and printed and printed[-1].file == entry.file:
            entry.function = printed[-1].function  # that the comprehension is in
        printed.append(entry)
    return printed


def _add_source(entry: Printed, above: str) -> None:
    """Add the source that is shown above the place of an entry, and the function that it is of."""
    source: list[str] = []
    marked = -1
    for line in above.split("\n"):
        first = line[:1]
        if (first == "E" and line[1:2] in ("", " ")) or (not first and marked >= 0):
            break
        if first == ">" and marked < 0:
            marked = len(source)
        if first in (" ", ">"):
            if not ("^" in line and MARKERS.fullmatch(line)):
                source.append(line[4:])
        elif first and marked < 0:
            source.clear()  # arguments are above the source
        elif source:
            source.append(line)
    start = entry.line - max(marked, 0)
    defined = _DEF.match("\n".join(source))
    entry.function = defined[1] if defined else "<module>" if start == 1 else ""
    if marked >= 0 and source[marked].strip() != "???":
        skipped = min(max(0, len(source) - _MAX_SOURCE), marked)  # up to the running statement
        entry.source = SourceLines(
            start=start + skipped, lines=tuple(source[skipped : skipped + _MAX_SOURCE])
        )


# --- pytest's ``E`` lines

_MAX_LINES = 2_000


def _raised_from(said: Sequence[str], printed: Sequence[Printed], root: str) -> Raised:
    """The exception of a traceback, without its causes.

    :param said: the ``E`` lines without their ``E``, with their indentation.
    :param printed: the frames, outermost first.
    """
    margin = min((len(line) - len(line.lstrip(" ")) for line in said if line.strip()), default=0)
    text = "\n".join(line[margin:] for line in said)
    found = SYNTAX.match(text)
    if found is None:
        return assemble(_with_type(text, root), printed, root=root)
    place = syntax_place(found)
    raised = assemble(_with_type(text[found.start("said") :], root), [*printed, place], root=root)
    name = place.file.replace("\\", "/").rpartition("/")[2]
    return replace(raised, message=f"{raised.message} ({name}, line {place.line})")


def raised_from_words(words: str, root: str = "") -> Raised | None:
    """The exception of the summary's or a crash line's words; None if these are pytest's own."""
    return raised_in_line(_with_type(words, root), root)


def _with_type(text: str, root: str) -> str:
    """The text with paths below the root as the plugin shows them; with the type that pytest leaves out.

    It does so where the message is its own: ``assert 1 == 2``.
    """
    text = relativize(text, [(root, "")])
    return f"AssertionError: {text}" if text.startswith("assert ") else text


_FIXTURE = re.compile(
    r"(?:^|\n)file (?P<file>[^\n]{1,1000}), line (?P<line>\d{1,9})\n(?:[^\n]*\n){0,60}?"
    r"E {7}(?P<message>(?:recursive dependency involving )?fixture '(?P<name>[^'\n]{1,300})'"
    r" (?:not found|detected))(?=\n)"
)


def missing_fixture(body: str) -> tuple[Raised, str, int] | None:
    """A fixture that does not exist, with the file and line of the test that asks for it."""
    found = _FIXTURE.search(body)
    if found is None:
        return None
    raised = Raised(
        type="FixtureLookupError",
        module="_pytest.fixtures",
        message=found["message"],
        bases=("LookupError", "Exception", "BaseException"),
        details={"fixture": found["name"]},
    )
    return raised, found["file"], int(found["line"])


# --- doctests, which pytest prints with the text around the example

_END = re.compile(
    r"\n(?P<file>[^\n]{1,1000}):(?P<line>\d{1,9}|None): (?P<kind>DocTestFailure|UnexpectedException)(?=\n|\Z)"
)
_EXAMPLE = re.compile(r"\n(?:\d{3,9}|\?\?\?) [ \t]*>>> ?(?P<source>[^\n]*)")
_NUMBERED = re.compile(r"\n\d{3,9} (?P<text>[^\n]*)")


def read_doctest(body: str, name: str, root: str = "") -> Raised | None:
    """The first failing example of a doctest; None for text of another form.

    :param name: the doctest's name, from the heading.
    """
    end = _END.search(body) if " >>> " in body else None
    if end is None:
        return None
    text = body[: end.start()]
    source = next(iter(_EXAMPLE.findall(text)[::-1]), "")
    frames = _frames(text, end, name, root)
    site = Site(frame=frames[0], statement=source.strip()) if frames else None
    if end["kind"] == "UnexpectedException":
        inner = raised_in(text, root) or Raised(type=end["kind"], module="doctest", message=source)
        return inner if inner.frames else replace(inner, frames=frames, site=site)
    checked = text[text.find("\nExpected") + 1 :].rstrip("\n")
    message = cut(f"{source}\n{checked}")
    return Raised(type=end["kind"], module="doctest", message=message, frames=frames, site=site)


def _frames(text: str, end: re.Match[str], name: str, root: str) -> tuple[Frame, ...]:
    file = project_path(end["file"], root)
    if not file or not end["line"].isdecimal():
        return ()
    line = int(end["line"])
    shown = [found["text"] for found in _NUMBERED.finditer(text)]
    source = SourceLines(start=line - len(shown) + 1, lines=tuple(shown)) if shown else SourceLines()
    return (Frame(file=file, line=line, function=name, is_test=True, source=source),)
