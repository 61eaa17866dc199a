"""Programs that let agents work, one a file: what they say to a hook, and how they want to be answered."""

from __future__ import annotations

from loop_close.hosts.contract import Config, ConfigError, Host, Payload, PayloadError

__all__ = ["NAMES", "Config", "ConfigError", "Host", "Payload", "PayloadError", "all_hosts", "host_named"]

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
