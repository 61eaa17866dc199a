"""Watches the results of an agent's tools, and reports a tool that makes no progress."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from loop_close.agent import WHOLE, ByName, Or, StateError, check_whole, checked_state
from loop_close.agent.tool_errors import is_infrastructure_text
from loop_close.loop import is_stuck
from loop_close.records import Loop, Record
from loop_close.text import code, cut, digest, sanitize
from loop_close.text.normalize import stabilize
from loop_close.text.redact import clean

_VERSION = 1

TripKind = Literal["repeated", "cycle", "non-advancing", "infrastructure"]
KINDS: tuple[TripKind, ...] = ("repeated", "cycle", "non-advancing", "infrastructure")
#: The text stays below it.
MAX_TEXT = 1_000
_MAX_NAME = 80
_MAX_SHOWN = 300
_TOOL = {
    **{key: [str] for key in ("marks", "contents", "seen", "stuck_on")},
    **dict.fromkeys(("missed", "machine?"), WHOLE),
    "trip": Or(None, {"kind": KINDS, "count": WHOLE, "length": WHOLE, "text": str}),
}
_STATE = {"version": _VERSION, "tools": ByName(_TOOL)}


class Trip(Record, frozen=True, kw_only=True):
    """Why a tool is stuck.

    :ivar count: results in a row that show it.
    :ivar length: length of the cycle; 1 if the results are the same, 0 if each was different.
    :ivar text: replaces the tool's result for the model: facts, safe to show, below 1,000 characters.
    """

    tool: str
    kind: TripKind
    count: int
    length: int
    text: str


class SupervisorLimits(Record, frozen=True, kw_only=True):
    """When a tool counts as making no progress.

    :ivar repeats: repetitions of the same result, or of the same cycle of three or more results.
    :ivar alternations: repetitions of the same two results in turn: ``A, B, A, B`` is two.
    :ivar longest_cycle: the most results in a cycle.
    :ivar non_advancing: results marked as not advancing with nothing new between, whatever the input.
    :ivar infrastructure: infrastructure failures in a row (time limits, network, rate limits), whatever their text.
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
    hide nothing: a cycle through several tools is a cycle of each of them. A new result of another tool may have
    changed the world: it breaks a row of successes. It does not break a row of errors or of results marked as not
    advancing.

    :param limits: when a tool counts as stuck.
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
        """The tools that are stuck, and why."""
        return {name: tool.trip for name, tool in self._tools.items() if tool.trip is not None}

    def observe(self, result: ToolResult) -> Trip | None:
        """Record a result.

        :returns: None if the model should get the result as it is; else the trip, whose text replaces the result. The
            same trip is returned until the tool has a success with new content.
        """
        about = fingerprint(result)
        tool = self._tools.setdefault(result.tool, Watched())
        if tool.trip is not None and not tool.recover(about):
            return tool.trip
        limits = self.limits
        if tool.add(about, max(limits.repeats * limits.longest_cycle, 2 * limits.alternations)):
            for other in self._tools.values():
                if other is not tool:
                    other.break_row()
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
        tools = checked_state(state, _STATE)["tools"]
        supervisor = cls(limits)
        supervisor._tools = {name: Watched.from_saved(name, each) for name, each in tools.items()}
        return supervisor


# A success that was seen longer ago counts as new again.
_MAX_SEEN = 50


class Watched:
    """The results of one tool.

    :ivar trip: why the tool is stuck; None while it is not.
    """

    def __init__(self) -> None:
        self.trip: Trip | None = None
        self._row: list[tuple[str, str]] = []  # mark and content of the last results
        self._seen: list[str] = []  # marks of successes
        self._infrastructure = 0  # infrastructure failures in a row
        self._missed = 0  # marked as not advancing, since the last success that was new
        self._stuck_on: frozenset[str] = frozenset()

    def add(self, about: Fingerprint, most: int) -> bool:
        """Record a result; infrastructure failures are only counted.

        :param most: how many results are kept.
        :returns: whether the result is new.
        """
        self._infrastructure = self._infrastructure + 1 if about.kind == "infrastructure" else 0
        if self._infrastructure:
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
        """The world may have changed: the same success may be asked for again."""
        last = max((at for at, (mark, _) in enumerate(self._row) if mark.startswith("s:")), default=-1)
        del self._row[: last + 1]

    def verdict(self, limits: SupervisorLimits) -> tuple[TripKind, int, int] | None:
        """Kind, count and length of a trip, as in :class:`~loop_close.agent.supervisor.Trip`; None for none."""
        if self._infrastructure:
            is_much = self._infrastructure >= limits.infrastructure
            return ("infrastructure", self._infrastructure, 0) if is_much else None
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
        """Forget the results if this one shows that the tool works; returns whether it does."""
        if about.kind not in ("success", "advanced") or about.content in self._stuck_on:
            return False
        self.trip, self._row, self._missed, self._stuck_on = None, [], 0, frozenset()
        self._infrastructure = 0
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
            "machine": self._infrastructure,
            "stuck_on": sorted(self._stuck_on),
            "trip": None if found is None else {name: getattr(found, name) for name in about},
        }

    @classmethod
    def from_saved(cls, name: str, saved: Mapping[str, Any]) -> Watched:
        """The tool of that name as it was saved.

        :raises StateError: naming what is damaged.
        """
        tool = cls()
        marks, contents, found = saved["marks"], saved["contents"], saved["trip"]
        if len(marks) != len(contents):
            raise StateError(
                f"state.tools[{name[:40]!a}].contents has {len(contents)} strings, expected {len(marks)}"
            )
        tool._row = list(zip(marks, contents, strict=True))
        tool._seen = saved["seen"][-_MAX_SEEN:]
        tool._missed = saved["missed"]
        tool._infrastructure = saved.get("machine", 0)
        tool._stuck_on = frozenset(saved["stuck_on"])
        if found is not None:
            text = sanitize(found["text"])[: MAX_TEXT - 1]
            tool.trip = Trip(**{**found, "tool": name, "text": text})
        return tool


def cycle_length(row: Sequence[str], longest: int, rounds: int, *, shortest: int = 1) -> int:
    """Length of the cycle at the end of the row, at most ``longest`` values.

    :param shortest: the shortest cycle to look for. Values that are all equal are a cycle of length 1 only.
    :param rounds: how often the cycle has to be repeated.
    :returns: the shortest such length, 1 for the same value again and again; 0 for none.
    """
    for length in range(shortest, longest + 1):
        if len(row) < length * rounds:
            break
        end = list(row[-length * rounds :])
        if end == end[-length:] * rounds and (length == 1 or len(set(end)) > 1):
            return length
    return 0


def trip(tool: str, kind: TripKind, count: int, length: int, *, is_error: bool, content: str) -> Trip:
    """The trip with its text.

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


#: A plain success or error; marked as no progress, or as progress; or an infrastructure failure.
Kind = Literal["success", "error", "stalled", "advanced", "infrastructure"]


# --- results of tools, and what they are compared by


class ToolResult(Record, frozen=True, kw_only=True):
    """The result of a tool call.

    :ivar tool: its name.
    :ivar input: the arguments of the call, as JSON values.
    :ivar content: a text; the content blocks of MCP, of which the texts are joined; or any JSON value.
    :ivar meta: MCP's ``_meta``.
    """

    tool: str
    input: Any = None
    content: Any = ""
    is_error: bool = False
    meta: Mapping[str, Any] = {}


class Fingerprint(Record, frozen=True, kw_only=True):
    """What results are compared by.

    :ivar mark: equal for equal results of the tool: errors by content, successes by content and input, results marked
        as not advancing by folded input alone.
    :ivar content: equal for equal content, whatever the input.
    """

    kind: Kind
    mark: str
    content: str


def fingerprint(result: ToolResult) -> Fingerprint:
    """The fingerprint of a result: its whole content without volatile values such as times, addresses and uuids.

    The kinds of marks are those of nimblebrain's loop brake.
    """
    text = sanitize(content_text(result.content))
    kind = _kind(result, text)
    content = digest(stabilize(text).strip(), size=12)
    if kind == "stalled":
        mark = f"n:{digest(_json(result.input, is_folded=True), size=12)}"
    elif result.is_error:
        mark = f"e:{content}"
    else:
        mark = f"s:{digest(content, _json(result.input), size=12)}"
    return Fingerprint(kind=kind, mark=mark, content=content)


def content_text(content: Any) -> str:
    """The text of a result's content; other values as JSON with sorted keys."""
    if content is None or isinstance(content, str):
        return content or ""
    blocks = content if isinstance(content, list | tuple) else (content,)
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return _json(block)


def _kind(result: ToolResult, text: str) -> Kind:
    """The kind by the marks of the result; without marks, by its text."""
    meta = result.meta or {}  # a host may send null
    if any(meta.get(key) is True for key in INFRASTRUCTURE_KEYS):
        return "infrastructure"
    if any(meta.get(key) is True for key in NON_ADVANCING_KEYS):
        return "stalled"
    if meta.get(OWN_KEY) is False:
        return "advanced"
    if not result.is_error:
        return "success"
    return "infrastructure" if is_infrastructure_text(text) else "error"


def _json(value: Any, *, is_folded: bool = False) -> str:
    """The value as JSON with sorted keys; folded: strings in one case, with single spaces."""
    try:
        return json.dumps(_plain({} if value is None else value, is_folded), sort_keys=True)
    except (ValueError, RecursionError):  # numbers of thousands of digits; endless nesting
        return f"a {type(value).__name__} that JSON cannot hold"


def _plain(value: Any, is_folded: bool) -> Any:
    if isinstance(value, str):
        return " ".join(value.casefold().split()) if is_folded else value
    if isinstance(value, Mapping):
        return {str(key): _plain(each, is_folded) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, is_folded) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return stabilize(repr(value))


#: Keys in the ``_meta`` of a tool's result. True: it made no progress. The first key is that of nimblebrain's loop
#: brake, the second our own. Our own with the value false: it made progress.
NON_ADVANCING_KEYS = ("ai.nimblebrain/non-advancing", "dev.loop-close/non-advancing")
OWN_KEY = NON_ADVANCING_KEYS[1]
#: True: an infrastructure failure, which says nothing about the tool.
INFRASTRUCTURE_KEYS = ("ai.nimblebrain/infra-error", "dev.loop-close/infrastructure")


def is_non_advancing(loop: Loop | None, stuck_after: int = 3) -> bool:
    """Whether the last run made no progress, by the loop and not by any text.

    :param loop: with the run; None if it was not recorded.
    :returns: False if nothing fails, if the run advanced, if it was no attempt, and for infrastructure failures. True
        for an attempt that did not advance, and for any run of a loop that is stuck.
    """
    if loop is None or not loop.failing or not loop.steps or loop.steps[-1].advanced:
        return False
    return not _failed_by_infrastructure(loop) and (is_stuck(loop, stuck_after) or loop.steps[-1].is_attempt)


def progress_meta(loop: Loop | None, *, is_green: bool, stuck_after: int = 3) -> dict[str, bool]:
    """The ``_meta`` of a result that reports a run, for our supervisor or another one.

    :param is_green: of the run itself: a run may be red without a failure that is known by name.
    :returns: both keys with true if the run made no progress; our own with false if it advanced or nothing fails; the
        infrastructure keys with true for an infrastructure failure; else nothing.
    """
    if is_non_advancing(loop, stuck_after):
        return dict.fromkeys(NON_ADVANCING_KEYS, True)
    if loop is None or not (is_green or loop.failing):
        return {}
    if loop.failing and _failed_by_infrastructure(loop):
        return dict.fromkeys(INFRASTRUCTURE_KEYS, True)
    has_advanced = bool(loop.steps) and bool(loop.steps[-1].advanced)
    return {OWN_KEY: False} if has_advanced or not loop.failing else {}


def _failed_by_infrastructure(loop: Loop) -> bool:
    """Whether the last run was killed, or is no attempt as what failed in it is the machine's."""
    if not loop.steps:
        return False
    last = loop.steps[-1]
    is_of_machine = any(each.record.is_infrastructure for each in loop.failing if each.ran >= last.run)
    return not last.is_finished or (is_of_machine and not last.is_attempt)
