"""Where a host keeps its hooks, and what is put there; how that is done is loaded only by whoever does it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loop_close.hosts.contract import Config


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """Where a host keeps its hooks.

    :ivar host: its name.
    :ivar path: from the file's document to the keys that lead to the list of an event's hooks; raises
        ``ConfigError`` for a document that the host would not take.
    :ivar entry: what is put into that list.
    :ivar beside: what a new file holds after the hooks.
    :ivar is_at_top: the events may be at the top of the document, too, and not below ``hooks``.
    """

    host: str
    path: Callable[[Mapping[str, object]], tuple[str, ...]]
    entry: Mapping[str, object]
    beside: Mapping[str, object] = field(default_factory=dict)
    is_at_top: bool = False


def command_line(host: str) -> str:
    """What a host is to run."""
    return f"loop-close hook --host {host}"


def group_of(handler: Mapping[str, object], **beside: object) -> dict[str, object]:
    """An entry as most hosts have it: a list of handlers, and what they are for."""
    return {**beside, "hooks": [dict(handler)]}


def json_config(slot: Slot, *, project: str, user: str, home: str = "", note: str = "") -> Config:
    """The configuration of a host that keeps its hooks in a JSON file."""
    return Config(
        project=project,
        user=user,
        home=home,
        note=note,
        fresh=fresh(slot),
        added=lambda text: _added(slot, text),
        removed=lambda text: _removed(slot, text),
    )


def _added(slot: Slot, text: str) -> str:
    from loop_close.hosts.merge import added

    return added(slot, text)


def _removed(slot: Slot, text: str) -> str | None:
    from loop_close.hosts.merge import removed

    return removed(slot, text)


def fresh(slot: Slot) -> str:
    """The text of a file that holds nothing but our hook."""
    # Ours goes first and not where a person would add it: so a file that we made is told from one that had the rest.
    first, *rest = slot.path(slot.beside)
    document = {first: nested(tuple(rest), slot.entry), **slot.beside}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def nested(path: tuple[str, ...], entry: Mapping[str, object]) -> object:
    """The entry in a list, below these keys."""
    value: object = [entry]
    for name in reversed(path):
        value = {name: value}
    return value
