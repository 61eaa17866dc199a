"""A tool that is going nowhere, and the words for the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loop_close.text import cut
from loop_close.text.redact import clean
from loop_close.text.sanitize import code

TripKind = Literal["repeated", "cycle", "non-advancing", "infrastructure"]
KINDS: tuple[TripKind, ...] = ("repeated", "cycle", "non-advancing", "infrastructure")
#: The text stays below it.
MAX_TEXT = 1_000
_MAX_NAME = 80
_MAX_SHOWN = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Trip:
    """What a tool is found to be stuck in.

    :ivar count: results in a row that show it.
    :ivar length: how many of them come back in turn; 1 where they are the same, 0 where each was another.
    :ivar text: what the model gets in place of the tool's result: facts, made safe, below 1,000 characters.
    """

    tool: str
    kind: TripKind
    count: int
    length: int
    text: str


def trip(tool: str, kind: TripKind, count: int, length: int, *, is_error: bool, content: str) -> Trip:
    """Find words for it.

    :param is_error: the last result was an error; ``content``: its text.
    """
    said = [
        f"{code(tool, _MAX_NAME)} made no progress {count} times in a row: "
        f"{_what(kind, count, length, is_error=is_error)}.",
        "It counts as disabled for the rest of this run. Other tools are not affected.",
        "What it was called for is still missing: report it as unresolved, with what was tried.",
    ]
    last = clean(cut(content, 4 * _MAX_SHOWN))
    shown = f"Its last result: {code(last, _MAX_SHOWN)}"
    text = "\n".join(said)
    # Runs of backticks make a code span longer than what it shows.
    if last.strip() and len(text) + 1 + len(shown) < MAX_TEXT:
        text = f"{text}\n{shown}"
    return Trip(tool=tool, kind=kind, count=count, length=length, text=text)


def _what(kind: TripKind, count: int, length: int, *, is_error: bool) -> str:
    if kind == "cycle":
        return f"the same {length} results repeated in a cycle, {count // length} times"
    if kind == "infrastructure":
        return "each call failed for its infrastructure (time limit, network, rate limit)"
    if kind == "repeated":
        return "the same error, whatever the input" if is_error else "the same result for the same input"
    if length == 1:
        return "each result was marked as no progress, for inputs that differ only in spelling"
    return "each result was marked as no progress, whatever the input"
