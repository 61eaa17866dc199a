"""Programs that let agents work, one a file: what they say to a hook, and how they want to be answered."""

from __future__ import annotations

from loop_close.hosts import claude, cline, codex, cursor, gemini, openhands
from loop_close.hosts.contract import Config, ConfigError, Host, Payload, PayloadError

__all__ = ["HOSTS", "Config", "ConfigError", "Host", "Payload", "PayloadError", "host_named"]

#: In the order in which they are listed.
HOSTS = (claude.HOST, codex.HOST, gemini.HOST, openhands.HOST, cursor.HOST, cline.HOST)


def host_named(name: str) -> Host:
    """The host of that name.

    :raises ValueError: when there is none; the text lists those that there are.
    """
    for host in HOSTS:
        if host.name == name:
            return host
    raise ValueError(f"there is no host {name!r}; there are {', '.join(host.name for host in HOSTS)}")
