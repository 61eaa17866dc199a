"""What an agent's output comes to."""

from __future__ import annotations

from dataclasses import dataclass

from loop_close.agent.tool_results import ToolResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What an agent said in a turn.

    :ivar text: its final answer in plain words, safe to show; the whole output where no format is recognized.
    :ivar cost: what the turn cost in the currency that the agent reports; 0.0 where it reports none.
    :ivar is_error: the agent itself reports that the turn failed.
    :ivar results: what its tools gave back, in order: the last ones, where the format tells them.
    :ivar format: the name of what was recognized; empty for plain text.
    """

    text: str
    cost: float = 0.0
    is_error: bool = False
    results: tuple[ToolResult, ...] = ()
    format: str = ""
