"""From pytest's ``E`` lines to what an exception said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from loop_close.model import Raised
from loop_close.readers.printed import raised_in_line
from loop_close.readers.printed_parts import FRAME, MARKERS, Printed, assemble
from loop_close.text.normalize import relativize

_MAX_LINES = 2_000


def raised_from(
    said: Sequence[str], printed: Sequence[Printed], type_name: str = "", root: str = ""
) -> Raised | None:
    """The exception of a traceback, without its relatives; None where there are no words.

    :param said: the ``E`` lines without their ``E``, with their indentation.
    :param printed: the frames, outermost first.
    :param type_name: the exception's name, where the last entry tells it.
    """
    lines = _dedented(said[:_MAX_LINES])
    if not lines:
        return None
    place, lines = _syntax_place(lines)
    text = _with_type("\n".join(lines), type_name)
    raised = without_root(
        assemble(text, [*printed, *([place] if place is not None else [])], root=root), root
    )
    if place is None:
        return raised
    name = place.file.replace("\\", "/").rpartition("/")[2]
    return replace(raised, message=f"{raised.message} ({name}, line {place.line})")


def raised_from_words(words: str, root: str = "") -> Raised | None:
    """The exception of the summary's or a crash line's words; None where these are pytest's own."""
    raised = raised_in_line(_with_type(words, ""), root)
    return without_root(raised, root) if raised is not None else None


def without_root(raised: Raised, root: str) -> Raised:
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
    """The place that a syntax error points to, and the lines with what it said."""
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
