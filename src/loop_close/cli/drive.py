"""``loop-close drive``: let tests and an agent take turns."""

from __future__ import annotations

import argparse
from importlib import import_module

from loop_close.cli.streams import Streams


def drive(options: argparse.Namespace, streams: Streams) -> int:
    """Give back 0 for a loop that is done, 3 stuck, 4 at a limit, 130 interrupted."""
    # By its name: the driver is built on the commands, and no command is built on the driver.
    code: int = import_module("loop_close.drive.door").drive(options, streams)
    return code
