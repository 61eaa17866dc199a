"""The text, cost and tool results in what an agent's command wrote to standard output."""

from __future__ import annotations

import re

from loop_close.agent.output_claude import Claude, Cursor
from loop_close.agent.output_formats import (
    Cline,
    Codex,
    CodexOld,
    Gemini,
    OpenCode,
    OpenHands,
)
from loop_close.agent.output_reader import (
    AgentOutput,
    Chunk,
    OutputReader,
    chunks_of,
    fields_of,
    money_of,
    parsed,
    text_of,
)
from loop_close.text.sanitize import sanitize

#: The readers of formats of JSON; the first whose format it is has it. Cursor's is Claude Code's but for a few
#: events, so it is asked before.
READERS: tuple[type[OutputReader], ...] = (
    Codex,
    CodexOld,
    Gemini,
    OpenCode,
    OpenHands,
    Cline,
    Cursor,
    Claude,
)

# OpenHands sums up for people below its events: drawn as long as the last message is.
_AFTERWORD = re.compile(r"^[^\w\n]{2,200}+CONVERSATION SUMMARY[^\w\n]{2,200}+$", re.MULTILINE)

# What is shown in a code block is quoted. An event's own are within its line.
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)


def read_output(output: str) -> AgentOutput:
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
    return read_object(text) or read_aider(text) or AgentOutput(text=text)


def _said_in_events(output: str) -> AgentOutput | None:
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
    for piece in chunks_of(events):
        lines += piece.lines
        ends_in_json = bool(piece.objects)
        if ends_in_json:
            lines_of_json += piece.lines
            for tally in tallies:
                tally.take(piece)
    return lines, lines_of_json, ends_in_json


class _Tally:
    """A reader, and how many lines were of its format."""

    def __init__(self, reader: OutputReader) -> None:
        self.reader = reader
        self.is_closed = False
        self._lines = 0

    def take(self, piece: Chunk) -> None:
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


# An output that is one JSON object of a program not known here.

_NAMES = ("result", "response", "output", "message", "text", "content")


def read_object(text: str) -> AgentOutput | None:
    """The first text under a name that is common for answers.

    :param text: the output, without its terminal's controls.
    :returns: None where it is anything else than one object with such a text.
    """
    text = text.strip()
    fields = fields_of(parsed(text)) if text.startswith("{") and text.endswith("}") else {}
    said = next((fields[name] for name in _NAMES if text_of(fields.get(name)).strip()), None)
    if said is None:
        return None
    return AgentOutput(text=sanitize(said), is_error=fields.get("is_error") is True, format="json")


# Aider: plain text, with what it cost.
# After calculate_and_show_tokens_and_cost and get_announcements in aider/coders/base_coder.py of
# Aider-AI/aider (May 2026), and recorded outputs of 0.86.2. It has no output format for programs; it exits
# with 0 where the model's interface answered with an error.

_AMOUNT = r"\$\d{1,9}(?:\.\d{1,12})?+"
# Off a terminal its lines are wrapped at 80 columns, so that any space may be a line break. What a model that has no
# price took is told without the cost.
_TOLD = re.compile(
    r"^(?:(?P<begun>Aider v\d[\w.+-]*$)"
    r"|(?P<failed>litellm\.(?:\w{1,80}Error|Timeout):)"
    rf"|Tokens:\s\d(?:[^$]{{1,120}}+(?<=\sCost:\s){_AMOUNT}\smessage,\s(?P<cost>{_AMOUNT})\ssession\.)?+)",
    re.MULTILINE,
)


def read_aider(text: str) -> AgentOutput | None:
    """What Aider said: its output as it is; the cost is that of the session, which is one process.

    It failed where its model's interface did and nothing was answered after.

    :param text: the output, safe to show.
    :returns: None where Aider does not introduce itself.
    """
    costs: list[float] = []
    is_error = False
    if "Aider v" not in text:
        return None
    for match in _TOLD.finditer(text):
        is_error = bool(match["failed"])  # an error before an answer was got over
        if match["begun"]:
            costs.append(0.0)
        elif match["cost"] and costs:
            costs[-1] = money_of(float(match["cost"].removeprefix("$")))
    return AgentOutput(text=text, cost=sum(costs), is_error=is_error, format="aider") if costs else None
