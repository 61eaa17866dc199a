"""``loop-close run -- CMD``: run a command unchanged, then write the next prompt from its output."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import strftime
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.cli.parser import UsageError
from loop_close.cli.passthrough import Done, pass_through
from loop_close.cli.rerun import name_of
from loop_close.cli.streams import Streams
from loop_close.cli.targets import begin_memory, is_told, targets_of
from loop_close.remember import Memory, Told
from loop_close.targets import Targets

if TYPE_CHECKING:
    from loop_close.model import Report

#: With this word pytest remembers its run itself.
_PLUGIN = "--loop-close"
#: What shells answer for a command that is not there, and for one that cannot be run.
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Give back the command's own exit code, 128 and the signal's number where a signal ended it."""
    words: list[str] = options.words
    if not words:
        raise UsageError("run needs a command, for example: loop-close run -- pytest -q")
    targets = targets_of(Path.cwd())
    if options.budget:
        targets = targets._replace(settings=replace(targets.settings, budget=options.budget))
    is_own = not any(word in (_PLUGIN, f"{_PLUGIN}-failed") for word in words)
    memory = begin_memory(targets, options.source or name_of(words), is_own=is_own)
    targets.announce()
    is_announced = files.is_unfinished(targets.prompt)
    try:
        done = pass_through(words)
    except OSError as error:
        streams.complain(f"cannot run {words[0]}: {error.strerror or error}")
        done = _not_run(words[0], error)
    if is_announced and is_told(targets, done.exit_code):
        lines = _left(done, words, targets, memory)
    else:
        lines = _close(done, words, options.source or "", targets, memory)
    if done.is_mid_line:
        streams.break_line()
    for line in lines:
        streams.complain(line)
    return done.exit_code


def _not_run(word: str, error: OSError) -> Done:
    """A command that could not be started, in the words of a shell."""
    is_missing = isinstance(error, FileNotFoundError)
    said = f"sh: 1: {word}: {'not found' if is_missing else f'cannot execute: {error.strerror or error}'}"
    code = _NOT_FOUND if is_missing else _NOT_EXECUTABLE
    return Done(exit_code=code, outputs=(said,))


def _close(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> list[str]:
    """Write the prompt; the lines to show. A fault of ours costs a line and not the command's result."""
    try:
        return [*done.problems, *_write(done, words, source, targets, memory)]
    except (Exception, KeyboardInterrupt) as fault:  # whose exit code would take the place of the command's
        return [*done.problems, _fallback(done, targets, fault)]


def _left(done: Done, words: Sequence[str], targets: Targets, memory: Memory) -> list[str]:
    """Leave the prompt that the command itself wrote; the lines to show."""
    memory.abandon()  # the command remembers the run itself
    is_expected = any(word.startswith(_PLUGIN) for word in words)
    told = f"the command itself wrote {targets.name}; it is left unchanged"
    return [*done.problems, *([] if is_expected else [told])]


def _write(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> list[str]:
    from loop_close import app
    from loop_close.cli.rerun import rerun_words
    from loop_close.prompt.sections import in_short
    from loop_close.readers.streams import observe_texts
    from loop_close.text.budget import estimate_tokens

    seen = observe_texts(done.outputs, done.exit_code, root=str(targets.root), source=memory.source)
    by_test = any(failure.nodeid for failure in seen.failures)
    report = app.close(replace(seen, rerun=rerun_words(source, words, by_test=by_test)))
    if targets.settings.known:
        report = _without_known(report, targets, memory)
    told = Told(tells_outcomes=False, selection=shlex.join(words))
    report = memory.take_up(report, targets.settings, told)
    saved = app.save(report, targets)
    said = [in_short(saved.report)]
    if saved.short and report.verdict != "green":
        said += saved.short.rstrip("\n").split("\n")
    elif report.verdict != "green":
        said.append(f"next prompt: {targets.name} (about {estimate_tokens(saved.prompt):,} tokens)")
    return [*said, *report.notes, *saved.problems]


def _without_known(report: Report, targets: Targets, memory: Memory) -> Report:
    """The report, the failures set apart that the setting ``known`` names."""
    from loop_close.judge import without_known

    entries, waiting = memory.known_entries(targets.settings.known)
    return without_known(report, entries, strftime("%Y-%m-%d"), waiting=waiting)


def _fallback(done: Done, targets: Targets, fault: BaseException) -> str:
    from loop_close.text.fault import fault_text

    line = f"internal error of loop-close: {fault_text(fault)}; the result of the command is not affected"
    try:
        text = (
            f"{files.FAULT} (exit {done.exit_code})\n\nRead the output of the command, starting at the end.\n"
        )
        targets.write_prompt(text)
    except (OSError, files.UnusablePathError) as error:
        line += f"; {targets.name} could not be written either: {error}"
    return line
