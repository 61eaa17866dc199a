"""What an agent said, out of what its command wrote to standard output."""

from __future__ import annotations

import re

from loop_close.agent.said_aider import said_by_aider
from loop_close.agent.said_claude import Claude
from loop_close.agent.said_cline import Cline
from loop_close.agent.said_codex import Codex
from loop_close.agent.said_codex_old import CodexOld
from loop_close.agent.said_cursor import Cursor
from loop_close.agent.said_gemini import Gemini
from loop_close.agent.said_object import said_in_object
from loop_close.agent.said_opencode import OpenCode
from loop_close.agent.said_openhands import OpenHands
from loop_close.agent.said_pieces import Piece, pieces
from loop_close.agent.said_reader import Reader
from loop_close.agent.said_record import Said
from loop_close.text.sanitize import sanitize

__all__ = ("READERS", "Said", "said_in")

#: The readers of formats of JSON; the first whose format it is has it. Cursor's is Claude Code's but for a few
#: events, so it is asked before.
READERS: tuple[type[Reader], ...] = (Codex, CodexOld, Gemini, OpenCode, OpenHands, Cline, Cursor, Claude)

# OpenHands sums up for people below its events: drawn as long as the last message is.
_AFTERWORD = re.compile(r"^[^\w\n]{2,200}+CONVERSATION SUMMARY[^\w\n]{2,200}+$", re.MULTILINE)

# What is shown in a code block is quoted. An event's own are within its line.
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)


def said_in(output: str) -> Said:
    """What an agent said.

    An output is of a format of JSON when most of its lines are JSON, and most of that is of the format; so an answer
    that shows some JSON stays what it is; lines that the format itself has for people do not count. Two more count,
    if there is no code block in them: an output that ends in an agent's closing event, complete, whatever a shell
    wrote before it; and one in which all JSON is of the format, with the summary below that only the format has.

    :param output: what the agent's command wrote to standard output: any text, its beginning may be cut off.
    :returns: what is in it; the output itself, without terminal controls, where nothing is recognized. It takes time
        and memory in proportion to the output.
    """
    said = _said_in_events(output)
    if said:
        return said
    text = sanitize(output)
    return said_in_object(text) or said_by_aider(text) or Said(text=text)


def _said_in_events(output: str) -> Said | None:
    tallies = [_Tally(reader()) for reader in READERS]
    afterword = _AFTERWORD.search(output)
    events = output[: afterword.start()] if afterword else output
    lines, lines_of_json, ends_in_json = _counted(events, tallies)
    is_quoted = bool(_FENCE.search(output))
    for tally in tallies:
        is_closed = ends_in_json and tally.is_closed
        is_whole = is_closed or (bool(afterword) and tally.is_summed_up(lines_of_json))
        lines_told = lines if is_quoted else lines - tally.lines_of_status(events)
        is_most = lines_of_json * 2 > lines_told
        if tally.is_of(lines_of_json) and (is_most or (is_whole and not is_quoted)):
            return tally.reader.said()
    return None


def _counted(events: str, tallies: list[_Tally]) -> tuple[int, int, bool]:
    """How many lines there are, how many of them are JSON, and whether the last is; the tallies take them."""
    lines = lines_of_json = 0
    ends_in_json = False
    for piece in pieces(events):
        lines += piece.lines
        ends_in_json = bool(piece.objects)
        if ends_in_json:
            lines_of_json += piece.lines
            for tally in tallies:
                tally.take(piece)
    return lines, lines_of_json, ends_in_json


class _Tally:
    """A reader, and how many lines were of its format."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.is_closed = False
        self._lines = 0

    def take(self, piece: Piece) -> None:
        taken = sum(self.reader.take(each) for each in piece.objects)
        self._lines += piece.lines if taken * 2 > len(piece.objects) else 0
        self.is_closed = bool(taken) and self.reader.is_closed

    def is_of(self, lines_of_json: int) -> bool:
        return self.reader.is_sure and self._lines * 2 > lines_of_json

    def is_summed_up(self, lines_of_json: int) -> bool:
        return self.reader.sums_up and self._lines == lines_of_json

    def lines_of_status(self, events: str) -> int:
        status = self.reader.status
        return sum(1 for _ in status.finditer(events)) if status else 0
