"""Which host of agents a command is about."""

from __future__ import annotations

from loop_close.cli.usage import UsageError
from loop_close.hosts import Host, host_named


def host_called(name: str) -> Host:
    """The host of that name.

    :raises UsageError: when there is none.
    """
    try:
        return host_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
