"""``loop-close run -- CMD``: run a command unchanged, then write the next prompt from its output."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from loop_close import files
from loop_close.cli.came_to import came_to, last_numbers
from loop_close.cli.parser import UsageError
from loop_close.cli.passthrough import Done, pass_through
from loop_close.cli.rerun import PYTEST, name_of, rerun_words
from loop_close.cli.standing import Standing
from loop_close.cli.streams import Streams
from loop_close.cli.targets import begin_memory, is_told, targets_of
from loop_close.model import Counts, Observation
from loop_close.remember import Memory
from loop_close.targets import Targets

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
    is_own = name_of(words) not in PYTEST or not any(word in (_PLUGIN, f"{_PLUGIN}-failed") for word in words)
    before = last_numbers(targets.root)
    memory = begin_memory(targets, options.source or name_of(words), is_own=is_own)
    targets.announce()
    is_announced = files.is_unfinished(targets.prompt)
    try:
        done = pass_through(words)
    except OSError as error:
        streams.complain(f"cannot run {words[0]}: {error.strerror or error}")
        done = _not_run(words[0], error)
    if is_announced and is_told(targets, done.exit_code):
        lines = _beside(done, words, options.source or "", targets, memory, before)
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


def _beside(
    done: Done,
    words: Sequence[str],
    source: str,
    targets: Targets,
    memory: Memory,
    before: Mapping[str, int],
) -> list[str]:
    """Write what the command did not, such as what checkers found, beside what it did; the lines to show."""
    try:
        ran = came_to(targets.root, before).standings
        seen = _without_known(_observed(done, words, source, targets, memory), ran)
        seen = replace(seen, rerun=rerun_words(source, words, by_test=False))
        if ran and seen.failures:
            from loop_close import app

            return [*done.problems, *app.conclude(seen, targets, memory, selection=shlex.join(words))]
    except (Exception, KeyboardInterrupt) as fault:
        from loop_close.text import fault_text

        memory.abandon()
        return [
            *done.problems,
            f"internal error of loop-close: {fault_text(fault)}; {targets.name} is unchanged",
        ]
    return _left(done, words, targets, memory)


def _without_known(seen: Observation, ran: Sequence[Standing]) -> Observation:
    """What was read but for that which the runs have remembered themselves: tests, and the environments they ran in."""
    from loop_close.facts import is_environment

    by_runner = any(each.last.source.startswith("tox:") for each in ran)
    red = {each.last.source.partition(":")[2] for each in ran if each.verdict != "green"}
    found = [f for f in seen.failures if f.phase == "check" and not by_runner]
    tools = {failure.tool for failure in found}
    found += [
        failure
        for failure in seen.failures
        if is_environment(failure)
        and not by_runner
        and failure.code not in red
        and not any(tool in failure.message for tool in tools)
    ]
    return replace(seen, failures=tuple(found), counts=Counts(), expects_tests=False, incomplete="")


def _left(done: Done, words: Sequence[str], targets: Targets, memory: Memory) -> list[str]:
    """Leave the prompt that the command itself wrote; the lines to show."""
    memory.abandon()  # the command remembers the run itself
    is_expected = any(word.startswith(_PLUGIN) for word in words)
    told = f"the command itself wrote {targets.name}; it is left unchanged"
    return [*done.problems, *([] if is_expected else [told])]


def _write(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> list[str]:
    from loop_close import app

    seen = _observed(done, words, source, targets, memory)
    return app.conclude(seen, targets, memory, selection=shlex.join(words))


def _observed(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> Observation:
    from loop_close.readers.streams import observe_texts

    seen = observe_texts(done.outputs, done.exit_code, root=str(targets.root), source=memory.source)
    by_test = any(failure.nodeid for failure in seen.failures)
    return replace(seen, rerun=rerun_words(source, words, by_test=by_test))


def _fallback(done: Done, targets: Targets, fault: BaseException) -> str:
    from loop_close.text import fault_text

    line = f"internal error of loop-close: {fault_text(fault)}; the result of the command is not affected"
    try:
        text = (
            f"{files.FAULT} (exit {done.exit_code})\n\nRead the output of the command, starting at the end.\n"
        )
        targets.write_prompt(text)
    except (OSError, files.UnusablePathError) as error:
        line += f"; {targets.name} could not be written either: {error}"
    return line
