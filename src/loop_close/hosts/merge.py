"""Our hook among the others in a host's JSON file: put in once, taken out again, all else to the byte as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loop_close.hosts.commands import is_ours, runs_hook
from loop_close.hosts.contract import ConfigError
from loop_close.hosts.jsontext import (
    Layout,
    Part,
    cuts,
    inserted,
    is_filled,
    layout_of,
    parse,
    parts,
    root,
    without,
    written,
)
from loop_close.hosts.slot import Slot, command_line, fresh, nested

_BOM = "\ufeff"
#: Containers around a part, outermost first: the offset of each, and which part of it leads on.
Chain = tuple[tuple[int, int], ...]


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
            return mark + inserted(body, at, name, nested(path[depth + 1 :], slot.entry), layout)
        at = _container(body, found, "[" if depth == len(path) - 1 else "{", path[: depth + 1])
    if any(runs_hook(slot.host, command) for command in _commands(body, at)):
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
    _check_whole(slot, body)
    body = _thinned(slot, body)
    while chain := next(_ours(slot, body), None):
        body = _cut(body, chain)
    return mark + body


def _check_whole(slot: Slot, body: str) -> None:
    for _, at in _events(slot, body):
        for event in parts(body, at):
            commands = _commands(body, event.at) if isinstance(event.value, list) else ()
            if any(runs_hook(slot.host, each) and not is_ours(slot.host, each) for each in commands):
                raise ConfigError(
                    f'"{event.name}" has a command that does more than run the hook; remove'
                    f" `{command_line(slot.host)}` from it by hand"
                )


def _commands(body: str, at: int) -> Iterator[object]:
    """The commands in an event's list."""
    for entry in parts(body, at):
        if isinstance(entry.value, dict):
            yield entry.value.get("command")
            for member in parts(body, entry.at):
                if member.name == "hooks" and isinstance(member.value, list):
                    yield from (item.get("command") for item in member.value if isinstance(item, dict))


def _thinned(slot: Slot, body: str) -> str:
    """The body with no more than one entry of ours in each list, and no more than one handler in that.

    One after the other would take as long as there are entries, for each of them.
    """
    found = [
        cut
        for _, at in _events(slot, body)
        for event in parts(body, at)
        if isinstance(event.value, list)
        for cut in _cuts(slot.host, body, event.at)
    ]
    kept = zip(
        [0, *(end for _, end in sorted(found))],
        [*(start for start, _ in sorted(found)), len(body)],
        strict=True,
    )
    return "".join(body[start:end] for start, end in kept)


def _cuts(host: str, body: str, at: int) -> Iterator[tuple[int, int]]:
    """What to cut out of an event's list."""
    entries = parts(body, at)
    groups = [list(_groups(host, body, entry)) for entry in entries]
    gone = {
        index
        for index, entry in enumerate(entries)
        if _is_handler(host, entry)
        or any(len(parts(body, group)) == len(places) for group, places in groups[index])
    }
    if len(gone) == len(entries):
        gone.discard(len(entries) - 1)
    yield from cuts(entries, gone)
    for index in set(range(len(entries))) - gone:
        for group, places in groups[index]:
            handlers = parts(body, group)
            yield from cuts(handlers, set(places if len(places) < len(handlers) else places[:-1]))


def _is_handler(host: str, entry: Part) -> bool:
    return isinstance(entry.value, dict) and is_ours(host, entry.value.get("command"))


def _groups(host: str, body: str, entry: Part) -> Iterator[tuple[int, list[int]]]:
    """The lists of handlers in an entry that have some of ours, and which."""
    for member in parts(body, entry.at) if isinstance(entry.value, dict) else ():
        if places := _places(host, member):
            yield member.at, places


def _halves(text: str) -> tuple[str, str]:
    """The byte-order mark, if there is one, and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _document(slot: Slot, body: str) -> Mapping[str, object]:
    try:
        document = parse(body)
    except ValueError as error:
        raise ConfigError(_unreadable(slot, body, error)) from None
    if not isinstance(document, dict):
        raise ConfigError("not a JSON object: {…}")
    return document


def _unreadable(slot: Slot, body: str, error: ValueError) -> str:
    why = "the file is empty" if not body.strip() else f"invalid JSON: {error}"
    at = getattr(error, "pos", 0)
    if body.startswith(("//", "/*", "#"), at):
        why = f"comment in line {getattr(error, 'lineno', 1)}; JSON has no comments"
    hook = written(nested(slot.path(slot.beside), slot.entry), Layout(unit=None, newline="\n"))
    return f"{why}; fix it, or add the hook by hand: {hook}"


def _member(body: str, at: int, name: str, above: tuple[str, ...]) -> Part | None:
    found = [part for part in parts(body, at) if part.name == name]
    if len(found) > 1:
        raise ConfigError(f'"{".".join((*above, name))}" appears twice; keep one')
    return found[0] if found else None


def _container(body: str, part: Part, bracket: str, path: tuple[str, ...]) -> int:
    if body[part.at] != bracket:
        wanted = "a list: […]" if bracket == "[" else "an object: {…}"
        raise ConfigError(f'"{".".join(path)}" is not {wanted}')
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
