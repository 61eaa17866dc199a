"""Watches what tools give back, and says when one of them is going nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loop_close.agent.checks import check_whole
from loop_close.agent.saved import Saved
from loop_close.agent.tool_results import ToolResult, content_text, fingerprint
from loop_close.agent.trip import Trip, trip
from loop_close.agent.watched import Watched

_VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SupervisorLimits:
    """How much it takes to speak of a tool that is going nowhere.

    :ivar repeats: how often the same result has to come, or the same three or more results in turn.
    :ivar alternations: how often the same two results have to come in turn: ``A, B, A, B`` is twice.
    :ivar longest_cycle: how many results, at most, come back in turn.
    :ivar non_advancing: results marked as not advancing with nothing new between, whatever the input.
    :ivar infrastructure: infrastructure failures in a row (time limits, network, rate limits), whatever they say.
    """

    repeats: int = 3
    alternations: int = 2
    longest_cycle: int = 5
    non_advancing: int = 6
    infrastructure: int = 10

    def __post_init__(self) -> None:
        check_whole("repeats", self.repeats, 2)
        check_whole("alternations", self.alternations, 2)
        check_whole("infrastructure", self.infrastructure, 2)
        check_whole("longest_cycle", self.longest_cycle, 1)
        check_whole("non_advancing", self.non_advancing, 2)


_DEFAULT = SupervisorLimits()


class Supervisor:
    """Receives the results of one run's tools one by one.

    After nimblebrain's loop brake. Each tool is watched by itself, so that calls of others in between
    hide nothing: a circle through several tools is a circle of each of them. Only where another tool gave
    something new in between, which may have changed the world, successes are no longer in a row; errors are,
    and so are results marked as not advancing.

    :param limits: how much it takes.
    """

    def __init__(self, limits: SupervisorLimits = _DEFAULT) -> None:
        self.limits = limits
        self._tools: dict[str, Watched] = {}

    @property
    def disabled(self) -> frozenset[str]:
        """The tools that are stuck."""
        return frozenset(self.trips)

    @property
    def trips(self) -> Mapping[str, Trip]:
        """The tools that are stuck, and in what."""
        return {name: tool.trip for name, tool in self._tools.items() if tool.trip is not None}

    def observe(self, result: ToolResult) -> Trip | None:
        """Take a result up.

        :returns: None where the model should get the result as it is; else the trip, whose text it should get
            in its place. A tool that has tripped gives the same trip again until it has a success with content
            other than what it tripped on.
        """
        about = fingerprint(result)
        tool = self._tools.setdefault(result.tool, Watched())
        if tool.trip is not None and not tool.recover(about):
            return tool.trip
        limits = self.limits
        if tool.add(about, max(limits.repeats * limits.longest_cycle, 2 * limits.alternations)):
            self._tell_others(tool)
        verdict = tool.verdict(limits)
        if verdict is not None:
            text = content_text(result.content)
            tool.stop(trip(result.tool, *verdict, is_error=result.is_error, content=text))
        return tool.trip

    def forget(self, tool: str) -> None:
        """Forget the results of one tool, as when it is given something else to do."""
        self._tools.pop(tool, None)

    def reset(self) -> None:
        """Forget all results, as for another run."""
        self._tools.clear()

    def state(self) -> dict[str, Any]:
        """What to go on from after this process, as JSON can hold it: digests, and the texts of trips."""
        return {"version": _VERSION, "tools": {name: tool.state() for name, tool in self._tools.items()}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], limits: SupervisorLimits = _DEFAULT) -> Supervisor:
        """The supervisor that gave the state; the limits are those given now.

        :raises StateError: a ValueError that names the field which is damaged.
        """
        saved = Saved(state)
        saved.check_version(_VERSION)
        supervisor = cls(limits)
        supervisor._tools = {
            name: Watched.from_saved(name, each) for name, each in saved.named("tools").items()
        }
        return supervisor

    def _tell_others(self, tool: Watched) -> None:
        for other in self._tools.values():
            if other is not tool:
                other.break_row()
