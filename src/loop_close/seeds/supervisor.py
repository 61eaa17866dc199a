"""Seed 004: watches the results of an agent's tools, and reports a tool that makes no progress.

After nimblebrain's loop brake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from loop_close.loop import is_stuck
from loop_close.records import Loop, Record
from loop_close.text import code, cut, digest, sanitize
from loop_close.text.normalize import stabilize
from loop_close.text.redact import clean

#: Keys in the ``_meta`` of a tool's result. True: it made no progress. The first is nimblebrain's, the second our own.
#: Our own with the value false: it made progress.
NON_ADVANCING_KEYS = ("ai.nimblebrain/non-advancing", "dev.loop-close/non-advancing")
OWN_KEY = NON_ADVANCING_KEYS[1]
#: True: an infrastructure failure, which says nothing about the tool and does not count.
INFRASTRUCTURE_KEYS = ("ai.nimblebrain/infra-error", "dev.loop-close/infrastructure")

#: The text of a trip stays below it.
MAX_TEXT = 1_000
_MAX_NAME, _MAX_SHOWN = 80, 300


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
    meta: Mapping[str, Any] | None = None


class ToolState(msgspec.Struct, kw_only=True):
    """The results of one tool: digests and texts that JSON can hold.

    :ivar mark: of the last result: equal for equal results. ``count``: so many in a row have it.
    :ivar trip: why the tool is stuck, for the model; empty while it is not.
    """

    mark: str = ""
    count: Annotated[int, msgspec.Meta(ge=0)] = 0
    trip: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""


class Supervisor:
    """Receives the results of one run's tools one by one.

    Each tool is watched by itself, so that calls of others in between hide nothing.

    :ivar tools: the state of each tool, by its name; another supervisor, also of another process, can go on from it.
    :param repeats: so often the same result in a row makes a tool stuck.
    :raises ValueError: for fewer than two.
    """

    def __init__(self, tools: dict[str, ToolState] | None = None, *, repeats: int = 3) -> None:
        if not repeats >= 2:
            raise ValueError(f"repeats is {repeats!r}: it must be at least 2")
        self.tools = tools if tools is not None else {}
        self._repeats = repeats

    @property
    def trips(self) -> Mapping[str, str]:
        """The tools that are stuck, and so disabled, and why."""
        return {name: tool.trip for name, tool in self.tools.items() if tool.trip}

    def observe(self, result: ToolResult) -> str:
        """Record a result.

        :returns: empty if the model should get the result as it is; else a text that replaces the result: facts, safe
            to show, below 1,000 characters. It is the same until the tool has a result that is marked as progress.
        """
        meta = result.meta or {}
        if meta.get(OWN_KEY) is False:
            self.forget(result.tool)
            return ""
        tool = self.tools.setdefault(result.tool, ToolState())
        if tool.trip or any(meta.get(key) is True for key in INFRASTRUCTURE_KEYS):
            return tool.trip
        mark = _mark(result)
        tool.count = tool.count + 1 if mark == tool.mark else 1
        tool.mark = mark
        if tool.count >= self._repeats:
            tool.trip = _trip(result, tool.count, is_marked=mark == _STALLED)
        return tool.trip

    def forget(self, tool: str) -> None:
        """Forget the results of one tool, as when it is given something else to do."""
        self.tools.pop(tool, None)


# --- what results are compared by

_STALLED = "n:"


def _mark(result: ToolResult) -> str:
    """Errors are compared by content, successes by content and input; all that are marked as not advancing are equal.

    Contents count whole, without volatile values such as times, addresses and uuids.
    """
    if any((result.meta or {}).get(key) is True for key in NON_ADVANCING_KEYS):
        return _STALLED
    content = stabilize(sanitize(content_text(result.content))).strip()
    if result.is_error:
        return f"e:{digest(content, size=12)}"
    return f"s:{digest(content, _json(result.input), size=12)}"


def content_text(content: Any) -> str:
    """The text of a result's content; other values as JSON with sorted keys."""
    blocks = content if isinstance(content, list | tuple) else (content,)
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, Mapping) and block.get("type") == "text":
        block = block.get("text")
    return "" if block is None else block if isinstance(block, str) else _json(block)


def _json(value: Any) -> str:
    """The value as JSON with sorted keys."""
    try:
        return json.dumps(
            {} if value is None else value, sort_keys=True, default=lambda other: stabilize(repr(other))
        )
    except (TypeError, ValueError, RecursionError):  # keys that are not text; long numbers; nesting
        return f"a {type(value).__name__} that JSON cannot hold"


def _trip(result: ToolResult, count: int, *, is_marked: bool) -> str:
    what = "the same error, whatever the input" if result.is_error else "the same result for the same input"
    if is_marked:
        what = "each result was marked as no progress, whatever the input"
    lines = [
        f"{code(result.tool, _MAX_NAME)} made no progress {count} times in a row: {what}.",
        "It counts as disabled for the rest of this run. Other tools are not affected.",
        "What it was called for is still missing: report it as unresolved, with what was tried.",
    ]
    last = clean(cut(content_text(result.content), 4 * _MAX_SHOWN))
    shown = f"Its last result: {code(last, _MAX_SHOWN)}"
    # Runs of backticks make a code span longer than what it shows.
    if last.strip() and len("\n".join((*lines, shown))) < MAX_TEXT:
        lines.append(shown)
    return "\n".join(lines)


# --- results of our own tools


def progress_meta(loop: Loop, *, is_green: bool, stuck_after: int = 3) -> dict[str, bool]:
    """The ``_meta`` of a result that reports a run, for our supervisor or another one: by the loop, not by any text.

    :param loop: with the run.
    :param is_green: of the run itself: a run may be red without a failure that is known by name.
    :returns: the infrastructure keys with true if the run was killed, or is no attempt as what failed is the machine's.
        Our own key with false if it advanced or nothing fails. Both keys with true for an attempt that did not advance,
        and for any run of a loop that is stuck. Else nothing.
    """
    if not (is_green or loop.failing):
        return {}
    if not loop.failing:
        return {OWN_KEY: False}
    last = loop.steps[-1]
    is_of_machine = any(each.record.is_infrastructure for each in loop.failing if each.ran >= last.run)
    if not last.is_finished or (is_of_machine and not last.is_attempt):
        return dict.fromkeys(INFRASTRUCTURE_KEYS, True)
    if last.advanced:
        return {OWN_KEY: False}
    return dict.fromkeys(NON_ADVANCING_KEYS, True) if last.is_attempt or is_stuck(loop, stuck_after) else {}
