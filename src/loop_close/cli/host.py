"""Which host of agents a command is about."""

from __future__ import annotations

import argparse

from loop_close.cli.parser_parts import UsageError
from loop_close.hosts import Host, host_named


def host_of(options: argparse.Namespace) -> Host:
    """The host that ``--host`` names.

    :raises UsageError: when there is none of that name.
    """
    try:
        return host_named(options.host)
    except ValueError as error:
        raise UsageError(str(error)) from None
