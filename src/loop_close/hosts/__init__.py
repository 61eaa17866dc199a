"""Hosts of coding agents: what they send to a hook, the answers they read, where they keep their hooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["NAMES", "Config", "ConfigError", "Host", "Payload", "PayloadError", "all_hosts", "host_named"]

#: The most bytes that are read of what a host sends.
MAX_INPUT = 10_000_000
#: In the order in which they are listed.
NAMES = ("claude", "codex", "gemini", "openhands", "cursor", "cline")


def all_hosts() -> tuple[Host, ...]:
    """Every host."""
    return tuple(map(host_named, NAMES))


def host_named(name: str) -> Host:
    """The host of that name, loaded by itself: the hook of one has no time for the others.

    :raises ValueError: when there is none; the text lists those that there are.
    """
    match name:
        case "claude":
            from loop_close.hosts.claude import HOST
        case "codex":
            from loop_close.hosts.codex import HOST
        case "gemini":
            from loop_close.hosts.gemini import HOST
        case "openhands":
            from loop_close.hosts.openhands import HOST
        case "cursor":
            from loop_close.hosts.cursor import HOST
        case "cline":
            from loop_close.hosts.cline import HOST
        case _:
            raise ValueError(f"unknown host {name!r}; known hosts: {', '.join(NAMES)}")
    return HOST


class PayloadError(ValueError):
    """What a host sent cannot be understood; the text names what was wrong."""


class ConfigError(ValueError):
    """A configuration that cannot be changed safely; the text says why, and what would be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """What a host says when it calls its hook.

    :ivar session: what the host calls the conversation; never empty.
    :ivar cwd: the folder the agent works in; empty if the host does not say.
    :ivar event: in the host's own words, such as ``Stop``.
    :ivar is_stop: the agent is about to stop; otherwise it has just used a tool.
    :ivar is_start: the session begins, and no agent is to be answered.
    :ivar is_again: the agent only goes on because a hook sent it back; None if the host does not say, or not always.
    :ivar loop_count: how often hooks sent it back in this conversation; None if the host does not count.
    :ivar is_interrupted: a person ended the work, or it broke off: the agent is not to be sent back.
    :ivar is_waiting: work is under way in the background, and wakes the agent when it is done.
    :ivar message: what the agent said last; empty if the host does not say.
    :ivar is_all_said: the message is all that the agent said since the person did, and not only the last of it.
    """

    session: str
    event: str
    is_stop: bool
    cwd: str = ""
    is_again: bool | None = False
    loop_count: int | None = None
    is_interrupted: bool = False
    is_waiting: bool = False
    message: str = ""
    is_all_said: bool = False
    is_start: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The file that makes a host call the hook; its text goes in and comes out, nothing is read or written.

    :ivar project: its path below the project's root; ``user`` below the home folder.
    :ivar fresh: the text of a new file.
    :ivar added: from its text to one that has the hook; the same text if it has it. Raises ``ConfigError``.
    :ivar removed: from its text to one without the hook; the same text if it has none, None if it has
        nothing else and the file can go. What ``added`` did to a text is undone to the byte. Raises
        ``ConfigError``.
    :ivar is_program: it is run, and has to be executable.
    :ivar home: an environment variable that moves the user's folder; empty if there is none.
    :ivar note: what else is left for a person to do; empty if it is nothing.
    """

    project: str
    user: str
    fresh: str
    added: Callable[[str], str]
    removed: Callable[[str], str | None]
    is_program: bool = False
    home: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """A program that lets an agent work, and asks its hooks on the way.

    Answers are what to print on standard output, one line without its end, with exit code 0; empty if nothing is
    to be said, which always lets the agent do what it was about to.

    :ivar name: as users type it.
    :ivar title: as its makers write it.
    :ivar limit: the most bytes of a text that reach the agent uncut; answers keep to it.
    :ivar read: from the bytes on standard input to what they say. Raises ``PayloadError``, and nothing else.
    :ivar go_on: makes the agent go on, with the text as what it reads next. Empty for a blank text.
    :ivar inform: lets the agent read the text without sending it back; empty if the host has no way to do that.
    :ivar end: ends the run, and shows the text to the person; empty if the host has no way to do that.
    """

    name: str
    title: str
    limit: int
    read: Callable[[bytes], Payload]
    go_on: Callable[[Payload, str], str]
    config: Config
    inform: Callable[[Payload, str], str] = lambda payload, text: ""
    end: Callable[[Payload, str], str] = lambda payload, reason: ""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookLocation:
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


def json_config(slot: HookLocation, *, project: str, user: str, home: str = "", note: str = "") -> Config:
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


def _added(slot: HookLocation, text: str) -> str:
    from loop_close.hosts.config_file import added

    return added(slot, text)


def _removed(slot: HookLocation, text: str) -> str | None:
    from loop_close.hosts.config_file import removed

    return removed(slot, text)


def fresh(slot: HookLocation) -> str:
    """The text of a file that holds nothing but our hook."""
    # Ours goes first and not where a person would add it: so a file that we made differs from one that had the rest.
    first, *rest = slot.path(slot.beside)
    document = {first: nested(tuple(rest), slot.entry), **slot.beside}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def nested(path: tuple[str, ...], entry: Mapping[str, object]) -> object:
    """The entry in a list, below these keys."""
    value: object = [entry]
    for name in reversed(path):
        value = {name: value}
    return value
