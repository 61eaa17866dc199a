"""What is remembered of one tool's results, and what that comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loop_close.agent.cycles import cycle_length
from loop_close.agent.saved import Saved, StateError
from loop_close.agent.tool_results import Fingerprint
from loop_close.agent.trip import KINDS, MAX_TEXT, Trip, TripKind
from loop_close.text.sanitize import sanitize

if TYPE_CHECKING:
    from loop_close.agent.supervisor import SupervisorLimits

# A success that was seen longer ago counts as new again.
_MAX_SEEN = 50


class Watched:
    """One tool.

    :ivar trip: what it is stuck in, None while it is not.
    """

    def __init__(self) -> None:
        self.trip: Trip | None = None
        self._row: list[tuple[str, str]] = []  # mark and content of the last results
        self._seen: list[str] = []  # marks of successes
        self._machine = 0  # infrastructure failures in a row
        self._missed = 0  # marked as not advancing, since the last success that was new
        self._stuck_on: frozenset[str] = frozenset()

    def add(self, about: Fingerprint, most: int) -> bool:
        """Take a result up; whether it is something new. What the machine failed is only counted.

        :param most: how many results are remembered.
        """
        self._machine = self._machine + 1 if about.kind == "machine" else 0
        if self._machine:
            return False
        self._row.append((about.mark, about.content))
        del self._row[:-most]
        if about.kind == "stalled":
            self._missed += 1
        if about.kind == "advanced":
            self._row.clear()
            self._missed = 0
        if about.kind not in ("success", "advanced") or about.mark in self._seen:
            return False
        self._seen = [*self._seen, about.mark][-_MAX_SEEN:]
        self._missed = 0
        return True

    def break_row(self) -> None:
        """The world may have changed since: what succeeded may well be asked for again."""
        last = max((at for at, (mark, _) in enumerate(self._row) if mark.startswith("s:")), default=-1)
        del self._row[: last + 1]

    def verdict(self, limits: SupervisorLimits) -> tuple[TripKind, int, int] | None:
        """Kind, count and length of a trip, as in :class:`~loop_close.agent.trip.Trip`; None for none."""
        if self._machine:
            is_much = self._machine >= limits.infrastructure
            return ("infrastructure", self._machine, 0) if is_much else None
        if not self._row:
            return None
        marks = [mark for mark, _ in self._row]
        length = cycle_length(marks, 1, limits.repeats) or cycle_length(
            marks, min(2, limits.longest_cycle), limits.alternations, shortest=2
        )
        length = length or cycle_length(marks, limits.longest_cycle, limits.repeats, shortest=3)
        is_marked = marks[-1].startswith("n:")
        if length == 1:
            return "non-advancing" if is_marked else "repeated", limits.repeats, 1
        if is_marked and self._missed >= limits.non_advancing:
            return "non-advancing", self._missed, 0
        rounds = limits.alternations if length == 2 else limits.repeats
        return ("cycle", length * rounds, length) if length else None

    def stop(self, trip: Trip) -> None:
        """Note that it is stuck, and on which contents."""
        self.trip = trip
        self._stuck_on = frozenset(content for _, content in self._row[-max(trip.count, 1) :])

    def recover(self, about: Fingerprint) -> bool:
        """Begin afresh if the result shows that the tool works; whether it does."""
        if about.kind not in ("success", "advanced") or about.content in self._stuck_on:
            return False
        self.trip, self._row, self._missed, self._stuck_on = None, [], 0, frozenset()
        self._machine = 0
        return True

    def state(self) -> dict[str, Any]:
        """What :meth:`from_saved` reads, as JSON can hold it."""
        found = self.trip
        about = ("kind", "count", "length", "text")
        return {
            "marks": [mark for mark, _ in self._row],
            "contents": [content for _, content in self._row],
            "seen": list(self._seen),
            "missed": self._missed,
            "machine": self._machine,
            "stuck_on": sorted(self._stuck_on),
            "trip": None if found is None else {name: getattr(found, name) for name in about},
        }

    @classmethod
    def from_saved(cls, name: str, saved: Saved) -> Watched:
        """The tool of that name as it was saved.

        :raises StateError: naming what is damaged.
        """
        tool = cls()
        marks, contents = saved.texts("marks"), saved.texts("contents")
        if len(marks) != len(contents):
            raise StateError(f"{saved.path}.contents has {len(contents)} strings, expected {len(marks)}")
        tool._row = list(zip(marks, contents, strict=True))
        tool._seen = saved.texts("seen")[-_MAX_SEEN:]
        tool._missed = saved.whole("missed")
        tool._machine = saved.whole("machine") if "machine" in saved.names() else 0
        tool._stuck_on = frozenset(saved.texts("stuck_on"))
        found = saved.optional("trip")
        tool.trip = _trip(name, found) if found is not None else None
        return tool


def _trip(tool: str, saved: Saved) -> Trip:
    kind = saved.text("kind", KINDS)
    return Trip(
        tool=tool,
        kind=next(known for known in KINDS if known == kind),
        count=saved.whole("count"),
        length=saved.whole("length"),
        text=sanitize(saved.text("text"))[: MAX_TEXT - 1],
    )
