"""Run a process whose output goes on as it comes, on a terminal with its colours, while its end is kept."""

from __future__ import annotations

import selectors
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from loop_close.cli.channel import Channel, channels
from loop_close.cli.signals import Signals

_PAUSE = 0.1
#: As much as pipes may hold: what the process wrote before it ended, where others go on to write.
_LATE = 2_000_000
_SHELL_OFFSET = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A process that has ended.

    :ivar exit_code: its own; 128 and the number of the signal that ended it, as a shell says it.
    :ivar outputs: the end of what it wrote to each stream; one where standard output and error are the same.
    :ivar problems: what could not be passed on, in a line each.
    :ivar is_mid_line: our standard error is left in the middle of a line.
    """

    exit_code: int
    outputs: tuple[str, ...]
    problems: tuple[str, ...] = ()
    is_mid_line: bool = False


def pass_through(words: Sequence[str]) -> Done:
    """Run a command to its end.

    Where our own standard output or error is a terminal, the command's is one too, of the same size. Where both
    are the same file, the command's are, too: that alone keeps the order of what it writes. Signals that are sent
    to us are sent on.

    :raises OSError: when it cannot be started.
    """
    with Signals() as signals:
        opened = channels()
        ends = [channel.theirs for channel in (opened[0], opened[-1])]
        try:
            process = subprocess.Popen(list(words), stdout=ends[0], stderr=ends[1])
        except OSError:
            for channel in opened:
                channel.close()
            raise
        finally:
            for channel in opened:
                channel.started()
        signals.attend(process, opened)
        _pump(opened, process, signals)
        code = _wait(process, signals)
    return Done(
        exit_code=_SHELL_OFFSET - code if code < 0 else code,
        outputs=tuple(channel.tail.text() for channel in opened),
        problems=tuple(channel.problem for channel in opened if channel.problem),
        is_mid_line=opened[-1].tail.is_mid_line(),
    )


def _pump(opened: Sequence[Channel], process: subprocess.Popen[bytes], signals: Signals) -> None:
    """Pass on until the streams end, or the process has ended and what it left behind holds them open."""
    late = 0
    with selectors.DefaultSelector() as selector:
        for channel in opened:
            selector.register(channel.ours, selectors.EVENT_READ, channel)
        while selector.get_map() and late < _LATE:
            signals.look()
            has_ended = (
                process.poll() is not None
            )  # asked first: what it wrote until then is there to be read
            ready = selector.select(0 if has_ended else _PAUSE)
            if has_ended and not ready:
                break
            for key, _ in ready:
                size = key.data.pass_on()
                late += size if has_ended else 0
                if not size:
                    selector.unregister(key.fd)
                    key.data.close()
    for channel in opened:
        channel.close()


def _wait(process: subprocess.Popen[bytes], signals: Signals) -> int:
    while True:
        try:
            return process.wait(_PAUSE)
        except subprocess.TimeoutExpired:  # it has closed its streams and goes on
            signals.look()
