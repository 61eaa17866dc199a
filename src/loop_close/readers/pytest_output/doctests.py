"""Read the failures of doctests, which pytest prints with the text around the example."""

from __future__ import annotations

import re
from dataclasses import replace

from loop_close.model import Frame, Raised, Site, Source
from loop_close.readers.paths import project_path
from loop_close.readers.printed import raised_in
from loop_close.text import cut

_END = re.compile(
    r"\n(?P<file>[^\n]{1,1000}):(?P<line>\d{1,9}|None): (?P<kind>DocTestFailure|UnexpectedException)(?=\n|\Z)"
)
_EXAMPLE = re.compile(r"\n(?:\d{3,9}|\?\?\?) [ \t]*>>> ?(?P<source>[^\n]*)")
_NUMBERED = re.compile(r"\n\d{3,9} (?P<text>[^\n]*)")
_EXPECTED = re.compile(r"\n(?:Expected:\n|Expected nothing(?=\n))")
_GOT = re.compile(r"\n(?:Got:\n|Got nothing(?=\n|\Z))")
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
    told = tuple(members[:_MAX_MEMBERS])
    if len(members) == 1:
        return told[0]
    left_out = len(members) - len(told)
    return replace(told[0], type="MultipleDoctestFailures", members=told, omitted_members=left_out)


def _example(text: str, end: re.Match[str], name: str, root: str) -> Raised:
    source = ""
    for found in _EXAMPLE.finditer(text):
        source = found["source"]
    frames = _frames(text, end, name, root)
    site = Site(frame=frames[0], statement=source.strip()) if frames else None
    if end["kind"] == "UnexpectedException":
        inner = raised_in(text, root)
        if inner is not None:
            return inner if inner.frames else replace(inner, frames=frames, site=site)
        return Raised(type="UnexpectedException", module="doctest", message=source, frames=frames, site=site)
    message = cut(f"{source}\nExpected:\n{_wanted(text)}\nGot:\n{_given(text)}")
    return Raised(type="DocTestFailure", module="doctest", message=message, frames=frames, site=site)


def _wanted(text: str) -> str:
    expected = _EXPECTED.search(text)
    got = _GOT.search(text, expected.end()) if expected else None
    if expected is None:
        return "    (nothing)"
    return text[expected.end() : got.start() if got else len(text)].strip("\n") or "    (nothing)"


def _given(text: str) -> str:
    expected = _EXPECTED.search(text)
    got = _GOT.search(text, expected.end() if expected else 0)
    return (text[got.end() :].strip("\n") if got else "") or "    (nothing)"


def _frames(text: str, end: re.Match[str], name: str, root: str) -> tuple[Frame, ...]:
    file = project_path(end["file"], root)
    if file is None or not end["line"].isdecimal():
        return ()
    line = int(end["line"])
    shown = [found["text"] for found in _NUMBERED.finditer(text)]
    source = Source(start=line - len(shown) + 1, lines=tuple(shown)) if shown else None
    return (Frame(file=file, line=line, function=name, is_test=True, source=source),)
