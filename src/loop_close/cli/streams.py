"""The standard streams of a command, as one argument."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import BinaryIO, TextIO

_LAST = 2  # of the numbers of the standard streams


@dataclass(frozen=True, kw_only=True, slots=True)
class Streams:
    """Where a command reads from and writes to."""

    input: BinaryIO
    output: TextIO
    errors: TextIO

    @classmethod
    def of_process(cls) -> Streams:
        """Those of the process, able to write any text whatever the locale.

        Where one is closed, nothing is read or written instead, and no file that is opened later takes its place.
        """
        while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST:
            pass
        os.close(number)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        nothing = open(os.devnull, "r+", encoding="utf-8")  # noqa: SIM115  # for as long as the process
        standard_input = sys.stdin.buffer if sys.stdin is not None else open(os.devnull, "rb")  # noqa: SIM115
        return cls(input=standard_input, output=sys.stdout or nothing, errors=sys.stderr or nothing)

    def say(self, text: str) -> None:
        """Print a line of the result."""
        self.output.write(f"{text}\n")
        self.output.flush()

    def complain(self, text: str) -> None:
        """Print a line about the command itself; controls in it are spelled out."""
        shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
        self.errors.write(f"loop-close: {shown}\n")
        self.errors.flush()

    def forget_output(self) -> None:
        """Nobody reads what we print: let nothing complain of it, not even Python at its end."""
        with contextlib.suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.output.fileno())
            os.close(nothing)
