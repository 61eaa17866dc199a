"""``loop-close mcp``: the server that hosts of agents speak to, on standard input and output."""

from __future__ import annotations

import argparse
import os
from importlib import import_module

from loop_close.cli.parser import UsageError
from loop_close.cli.streams import Streams

_INSTALL = "pip install 'pytest-loop-close[mcp]'"


def mcp(options: argparse.Namespace, streams: Streams) -> int:
    """Serve until the input ends.

    :raises UsageError: where the packages of the extra are not there.
    """
    try:
        # By its name: the server is built on the commands, and no command is built on the server.
        server = import_module("loop_close.mcp_server.server")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "loop_close":
            raise
        raise UsageError(f"mcp is not installed: {_INSTALL} ({error})") from None
    if streams.input.isatty():
        streams.complain("waiting for an MCP client on standard input; press Ctrl-C to stop")
    code: int = server.serve(streams)
    if code:
        # A thread still waits for input that nobody is going to send, and Python would wait for the thread.
        os._exit(code)
    return code
