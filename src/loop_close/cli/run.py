"""``loop-close run -- CMD``: run a command unchanged, then write the next prompt from what it reported and printed."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.checks import VARIABLE
from loop_close.child import Ended, SignalForwarder, Stop, not_started, own_channels
from loop_close.child import run as run_child
from loop_close.cli import Streams, UsageError, project_at
from loop_close.text import fault_text, reason_of

if TYPE_CHECKING:
    from loop_close.app import Begun
    from loop_close.files import Targets


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Give back the command's own exit code, 128 and the signal's number where a signal ended it.

    Inside of another command of ours, which has a prompt of its own to write, nothing is written.
    """
    words: list[str] = options.words
    if not words:
        raise UsageError("run needs a command, for example: loop-close run -- pytest -q")
    if given := os.environ.get(VARIABLE):
        return _passed_on(words, given, streams).exit_code
    targets = project_at()
    from loop_close.app import Begun  # late: what is wrong with the words is said at once

    begun = Begun(targets, words)
    targets.announce()
    with tempfile.TemporaryDirectory(prefix="loop-close-") as folder:
        done = _passed_on(words, folder, streams)
        try:
            lines = _concluded(begun, done, words, targets, Path(folder))
        except (Exception, KeyboardInterrupt) as fault:  # its exit code would take the place of the command's
            lines = [_fallback(done, targets, fault)]
    for line in lines:
        streams.complain(line)
    return done.exit_code


def _passed_on(words: Sequence[str], folder: str, streams: Streams) -> Ended:
    """Run a command to its end, and pass on its output, our input and our signals.

    :param folder: for the reports of pytest in it.
    :returns: one that cannot be started as a shell has it.
    """
    try:
        channels = own_channels()
        with SignalForwarder() as signals:
            done = run_child(
                words,
                Stop(),
                environment={**os.environ, VARIABLE: folder},
                channels=channels,
                is_foreground=True,
                started=signals.attend,
            )
    except OSError as error:
        streams.complain(f"cannot run {words[0]}: {reason_of(error)}")
        code, line = not_started(words[0], error)
        return Ended(exit_code=code, outputs=(line,))
    if not f"\n{done.outputs[-1]}".endswith("\n"):
        streams.break_line()
    for problem in filter(None, (channel.problem for channel in channels)):
        streams.complain(problem)
    return done


def _concluded(begun: Begun, done: Ended, words: Sequence[str], targets: Targets, folder: Path) -> list[str]:
    """Take up what its processes reported and what else it printed; the lines to show."""
    from loop_close.app import printed, reported_in, terminal_lines

    parts, lost = reported_in(folder)
    parts += printed(done.outputs, done.exit_code, parts, targets.root, _name_of(words), lost)
    scope = next((part.observation.scope for part in parts if part.context is not None), "")
    return terminal_lines(begun.conclude(parts, scope=scope, exit_code=done.exit_code), targets)


def _name_of(words: Sequence[str]) -> str:
    """The name of the program that a command runs: ``mypy`` of ``.venv/bin/mypy src`` and ``python -m mypy src``."""
    first = os.path.basename(words[0]).removesuffix(".exe")
    is_module = first.startswith("python") and len(words) > 2 and words[1] == "-m"
    return words[2] if is_module else first


def _fallback(done: Ended, targets: Targets, fault: BaseException) -> str:
    line = f"internal error of loop-close: {fault_text(fault)}; the result of the command is not affected"
    text = f"{files.FAULT} (exit {done.exit_code})\n\nRead the output of the command, starting at the end.\n"
    try:
        targets.write_prompt(text)
    except (OSError, files.UnusablePathError) as error:
        line += f"; {targets.name} could not be written either: {error}"
    return line
