"""The text, cost and tool results in what an agent's command wrote to standard output."""

from __future__ import annotations

import re

from loop_close.agent.output_claude import Claude, Cursor
from loop_close.agent.output_formats import Cline, Codex, CodexOld, Gemini, OpenCode, OpenHands
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

#: The readers of JSON formats; the first that recognizes the output wins. Cursor comes before Claude Code, as it has
#: the same events but for a few.
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

# OpenHands prints a summary for people below its events; its width is that of the last message.
_AFTERWORD = re.compile(r"^[^\w\n]{2,200}+CONVERSATION SUMMARY[^\w\n]{2,200}+$", re.MULTILINE)

# Text in a code block is quoted. The fences inside an event are within its line.
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)


def read_output(output: str) -> AgentOutput:
    """Read the output of an agent's command, in linear time and memory.

    An output has a JSON format if most of its lines are JSON, and most of the JSON is of the format: an answer that
    shows some JSON is still plain text. Lines that the format itself writes for people do not count. Without a code
    block, two more cases count. The output ends in a complete closing event of the agent, whatever a shell wrote
    before it. Or all JSON is of the format, and the summary follows that only this format has.

    :param output: any text; its beginning may be cut off.
    :returns: the output itself, without terminal controls, if no format is recognized.
    """
    found = _read_events(output)
    if found:
        return found
    text = sanitize(output)
    return read_object(text) or read_aider(text) or AgentOutput(text=text)


def _read_events(output: str) -> AgentOutput | None:
    tallies = [_Tally(reader()) for reader in READERS]
    afterword = _AFTERWORD.search(output)
    events = output[: afterword.start()] if afterword else output
    lines, lines_of_json, ends_in_json = _counted(events, tallies)
    is_quoted = bool(_FENCE.search(output))
    for tally in tallies:
        is_closed = ends_in_json and tally.is_closed
        is_whole = is_closed or (bool(afterword) and tally.is_summed_up(lines_of_json))
        lines_counted = lines if is_quoted else lines - tally.lines_of_status(events)
        is_most = lines_of_json * 2 > lines_counted
        if tally.is_of(lines_of_json) and (is_most or (is_whole and not is_quoted)):
            return tally.reader.result()
    return None


def _counted(events: str, tallies: list[_Tally]) -> tuple[int, int, bool]:
    """Number of lines, number of JSON lines, and whether the last line is JSON; every reader gets the events."""
    lines = lines_of_json = 0
    ends_in_json = False
    for chunk in chunks_of(events):
        lines += chunk.lines
        ends_in_json = bool(chunk.objects)
        if ends_in_json:
            lines_of_json += chunk.lines
            for tally in tallies:
                tally.take(chunk)
    return lines, lines_of_json, ends_in_json


class _Tally:
    """A reader, and how many lines were of its format."""

    def __init__(self, reader: OutputReader) -> None:
        self.reader = reader
        self.is_closed = False
        self._lines = 0

    def take(self, chunk: Chunk) -> None:
        taken = sum(self.reader.take(each) for each in chunk.objects)
        self._lines += chunk.lines if taken * 2 > len(chunk.objects) else 0
        self.is_closed = bool(taken) and self.reader.is_closed

    def is_of(self, lines_of_json: int) -> bool:
        return self.reader.is_sure and self._lines * 2 > lines_of_json

    def is_summed_up(self, lines_of_json: int) -> bool:
        return self.reader.sums_up and self._lines == lines_of_json

    def lines_of_status(self, events: str) -> int:
        status = self.reader.status
        return sum(1 for _ in status.finditer(events)) if status else 0


# Names of the answer in a JSON object of an unknown program.
_NAMES = ("result", "response", "output", "message", "text", "content")


def read_object(text: str) -> AgentOutput | None:
    """Read one JSON object of an unknown program: the first text under a usual name for answers.

    :param text: the output, without terminal controls.
    :returns: None for anything else.
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
# Without a terminal, lines are wrapped at 80 columns, so that any space may be a line break. The line has no cost if
# the model has no price.
_REPORTED = re.compile(
    r"^(?:(?P<begun>Aider v\d[\w.+-]*$)"
    r"|(?P<failed>litellm\.(?:\w{1,80}Error|Timeout):)"
    rf"|Tokens:\s\d(?:[^$]{{1,120}}+(?<=\sCost:\s){_AMOUNT}\smessage,\s(?P<cost>{_AMOUNT})\ssession\.)?+)",
    re.MULTILINE,
)


def read_aider(text: str) -> AgentOutput | None:
    """Read the output of Aider: plain text, with the cost of the session, which is one process.

    The turn failed if the model's interface reported an error and no answer followed.

    :param text: the output, safe to show.
    :returns: None without Aider's first line.
    """
    costs: list[float] = []
    is_error = False
    if "Aider v" not in text:
        return None
    for match in _REPORTED.finditer(text):
        is_error = bool(match["failed"])  # an error before an answer does not count
        if match["begun"]:
            costs.append(0.0)
        elif match["cost"] and costs:
            costs[-1] = money_of(float(match["cost"].removeprefix("$")))
    return AgentOutput(text=text, cost=sum(costs), is_error=is_error, format="aider") if costs else None
