"""Our hook among the others in a host's JSON file: put in once, taken out again, all else to the byte as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from loop_close.hosts.contract import Config, ConfigError
from loop_close.hosts.jsontext import (
    Layout,
    Part,
    inserted,
    is_filled,
    layout_of,
    parse,
    parts,
    root,
    without,
    written,
)

_FRESH = Layout(unit="  ", newline="\n")
_BOM = "\ufeff"
_WORDS = re.compile(r"""[\s"'=/\\]+""")
# What makes a line more than one command.
_SHELL = re.compile(r";|&&")
_NAMES = ("loop-close", "loop-close.exe", "loop_close")

#: Containers around a part, outermost first: the offset of each, and which part of it leads on.
Chain = tuple[tuple[int, int], ...]


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


def is_ours(host: str, command: object) -> bool:
    """Whether a command runs our hook for the host, and nothing else, wherever it is installed."""
    if not isinstance(command, str) or _SHELL.search(command):
        return False
    words = _WORDS.split(command)
    after = words[next((at for at, word in enumerate(words) if word in _NAMES), len(words)) :]
    return "hook" in after and ("--host", host) in pairwise(after)


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
        added=lambda text: added(slot, text),
        removed=lambda text: removed(slot, text),
    )


def fresh(slot: Slot) -> str:
    """The text of a file that holds nothing but our hook."""
    # Ours goes first and not where a person would add it: so a file that we made is told from one that had the rest.
    first, *rest = slot.path(slot.beside)
    return written({first: _nested(tuple(rest), slot.entry), **slot.beside}, _FRESH) + "\n"


def added(slot: Slot, text: str) -> str:
    """The text with our hook; the same text where it has it.

    :raises ConfigError: when the text cannot hold it.
    """
    mark, body = _halves(text)
    path = slot.path(_document(slot, body))
    layout, at = layout_of(body), root(body)
    for depth, name in enumerate(path):
        found = _member(body, at, name, path[:depth])
        if found is None:
            return mark + inserted(body, at, name, _nested(path[depth + 1 :], slot.entry), layout)
        at = _container(body, found, "[" if depth == len(path) - 1 else "{", path[: depth + 1])
    if any(_handlers(slot.host, body, at)):
        return text
    return mark + inserted(body, at, "", slot.entry, layout)


def removed(slot: Slot, text: str) -> str | None:
    """The text without our hook, whatever event it is for; None where it is the one that we made.

    :raises ConfigError: when the text cannot be read.
    """
    mark, body = _halves(text)
    _document(slot, body)
    if text == fresh(slot):
        return None
    while chain := next(_ours(slot, body), None):
        body = _cut(body, chain)
    return mark + body


def _halves(text: str) -> tuple[str, str]:
    """The byte-order mark, if there is one, and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _nested(path: tuple[str, ...], entry: Mapping[str, object]) -> object:
    value: object = [entry]
    for name in reversed(path):
        value = {name: value}
    return value


def _document(slot: Slot, body: str) -> Mapping[str, object]:
    try:
        document = parse(body)
    except ValueError as error:
        raise ConfigError(_unreadable(slot, body, error)) from None
    if not isinstance(document, dict):
        raise ConfigError("it holds no JSON object: {…}")
    return document


def _unreadable(slot: Slot, body: str, error: ValueError) -> str:
    why = "it is empty" if not body.strip() else f"it is no JSON that can be changed: {error}"
    at = getattr(error, "pos", 0)
    if body.startswith(("//", "/*", "#"), at):
        why = f"it has a comment in line {getattr(error, 'lineno', 1)}, and JSON has none"
    hook = written(_nested(slot.path(slot.beside), slot.entry), Layout(unit=None, newline="\n"))
    return f"{why}; mend it, or add the hook by hand: {hook}"


def _member(body: str, at: int, name: str, above: tuple[str, ...]) -> Part | None:
    found = [part for part in parts(body, at) if part.name == name]
    if len(found) > 1:
        raise ConfigError(f'it has "{".".join((*above, name))}" twice; keep one')
    return found[0] if found else None


def _container(body: str, part: Part, bracket: str, path: tuple[str, ...]) -> int:
    if body[part.at] != bracket:
        wanted = "a list: […]" if bracket == "[" else "an object: {…}"
        raise ConfigError(f'"{".".join(path)}" in it is not {wanted}')
    return part.at


def _handlers(host: str, body: str, at: int) -> Iterator[Chain]:
    """Our handlers in an event's list: each alone, or with the group that holds no other."""
    for index, entry in enumerate(parts(body, at)):
        if not isinstance(entry.value, dict):
            continue
        if is_ours(host, entry.value.get("command")):
            yield ((at, index),)
        for number, member in enumerate(parts(body, entry.at)):
            for place in _places(host, member):
                is_alone = len(parts(body, member.at)) == 1
                yield ((at, index),) if is_alone else ((at, index), (entry.at, number), (member.at, place))


def _places(host: str, member: Part) -> list[int]:
    """Which of the handlers in a group are ours."""
    if member.name != "hooks" or not isinstance(member.value, list):
        return []
    commands = [item.get("command") if isinstance(item, dict) else None for item in member.value]
    return [place for place, command in enumerate(commands) if is_ours(host, command)]


def _ours(slot: Slot, body: str) -> Iterator[Chain]:
    """Our handlers of every event."""
    for chain, at in _events(slot, body):
        for index, event in enumerate(parts(body, at)):
            if isinstance(event.value, list):
                yield from ((*chain, (at, index), *ours) for ours in _handlers(slot.host, body, event.at))


def _events(slot: Slot, body: str) -> Iterator[tuple[Chain, int]]:
    """The object that holds the lists of hooks, by event."""
    at = root(body)
    members = parts(body, at)
    if slot.is_at_top and all(member.name != "hooks" for member in members):
        yield (), at
    for index, member in enumerate(members):
        if member.name == "hooks" and isinstance(member.value, dict):
            yield ((at, index),), member.at


def _cut(body: str, chain: Chain) -> str:
    """The body without the innermost part, nor the containers that held nothing else and came with it."""
    for at, index in reversed(chain):
        if len(parts(body, at)) > 1 or is_filled(body, at):
            return without(body, at, index)
    return without(body, *chain[0])
