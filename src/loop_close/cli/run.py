"""``loop-close run -- CMD``: run a command unchanged, then write the next prompt from its output."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from loop_close import files
from loop_close.child import Child, Ended, SignalForwarder, Stop, own_channels
from loop_close.child import run as run_child
from loop_close.choice import PYTEST, SECRET, Choice, choice_of, name_of, start_of
from loop_close.cli import Streams, UsageError
from loop_close.cli.project import has_own_prompt, project_at, targets_of
from loop_close.cli.project_state import SourceStatus
from loop_close.cli.status import latest_run_numbers, run_result, worst_first
from loop_close.files import Targets
from loop_close.model import Counts, Observation
from loop_close.prompt import safe
from loop_close.provenance import RUNS_AGAIN, runner_of
from loop_close.remember import Memory, RunContext, begin, passed_by_name

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
    before = latest_run_numbers(targets.root)
    # Another command remembers its run itself.
    memory = begin(targets if is_own else targets._replace(history=None), options.source or name_of(words))
    targets.announce()
    is_announced = files.is_unfinished(targets.prompt)
    try:
        done = pass_through(words)
    except OSError as error:
        streams.complain(f"cannot run {words[0]}: {error.strerror or error}")
        done = _not_run(words[0], error)
    if is_announced and has_own_prompt(targets, done.exit_code):
        lines = _beside(done, words, options.source or "", targets, memory, before)
    else:
        lines = _lines(done, words, options.source or "", targets, memory)
    if done.is_mid_line:
        streams.break_line()
    for line in lines:
        streams.complain(line)
    return done.exit_code


def pass_through(words: Sequence[str]) -> Ended:
    """Run a command to its end, and pass on its output, our input and our signals.

    :raises OSError: when it cannot be started.
    """
    with SignalForwarder() as signals:
        channels = own_channels()
        child = Child(
            words=words,
            data=None,
            channels=channels,
            is_group=False,
            rest=float("inf"),
            started=lambda process: signals.attend(process, channels),
            waited=signals.look,
        )
        return run_child(child, Stop())


def _not_run(word: str, error: OSError) -> Ended:
    """A command that could not be started, in the words of a shell."""
    is_missing = isinstance(error, FileNotFoundError)
    said = f"sh: 1: {word}: {'not found' if is_missing else f'cannot execute: {error.strerror or error}'}"
    code = _NOT_FOUND if is_missing else _NOT_EXECUTABLE
    return Ended(returncode=code, outputs=(said,))


def _lines(done: Ended, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> list[str]:
    """Write the prompt; the lines to show. An internal error costs a line, not the command's result."""
    try:
        seen = _observed(done, words, source, targets, memory)
        return [*done.problems, *_write(seen, words, targets, memory)]
    except (Exception, KeyboardInterrupt) as fault:  # whose exit code would take the place of the command's
        return [*done.problems, _fallback(done, targets, fault)]


def _beside(
    done: Ended,
    words: Sequence[str],
    source: str,
    targets: Targets,
    memory: Memory,
    before: Mapping[str, int],
) -> list[str]:
    """Write what the command did not, such as what checkers found, beside what it did; the lines to show."""
    try:
        known = run_result(targets.root, before).statuses
        ran = [each for each in known if each.last is each.finished]
        seen = _without_known(_observed(done, words, source, targets, memory), ran, targets)
        seen = replace(seen, rerun=rerun_words(source, words, by_test=False))
        is_explained = not done.exit_code or any(each.verdict != "green" for each in ran)
        is_own = memory.is_kept and memory.source not in {each.last.source for each in ran}
        if not seen.failures and is_explained and is_own and _was_red(targets, memory.source):
            seen = replace(seen, exit_code=0)  # what it found is gone, or the runs say it themselves
            return [*done.problems, *_write(seen, words, targets, memory)]
        if known and seen.failures:
            return [*done.problems, *_write(seen, words, targets, memory)]
    except (Exception, KeyboardInterrupt) as fault:
        from loop_close.text import fault_text

        memory.abandon()
        return [
            *done.problems,
            f"internal error of loop-close: {fault_text(fault)}; {targets.name} is unchanged",
        ]
    return _left(done, words, targets, memory)


def _was_red(targets: Targets, source: str) -> bool:
    with contextlib.suppress(UsageError):
        (known,) = worst_first(project_at(targets.root), source)
        return known.finished is not None and known.summary.verdict != "green"
    return False


def _without_known(seen: Observation, ran: Sequence[SourceStatus], targets: Targets) -> Observation:
    """What was read but for that which the runs have remembered themselves: tests, findings, and their environments."""
    from loop_close.app import reports_of
    from loop_close.facts import failure_order, is_environment
    from loop_close.model import OtherRun

    last = (
        OtherRun(source=e.last.source, run=e.last.number, verdict=e.verdict, is_current=True) for e in ran
    )
    reported = {
        failure_order(f) for part in reports_of(targets.root, last) for f in part.observation.failures
    }
    by_runner = any(each.last.source.startswith("tox:") for each in ran)
    red = {each.last.source.partition(":")[2] for each in ran if each.verdict != "green"}
    found = [
        f for f in seen.failures if f.phase == "check" and not by_runner and failure_order(f) not in reported
    ]
    tools = {failure.tool for failure in seen.failures if failure.phase == "check"}
    found += [
        failure
        for failure in seen.failures
        if is_environment(failure)
        and not by_runner
        and failure.code not in red
        and not any(tool in failure.message for tool in tools)
    ]
    return replace(seen, failures=tuple(found), counts=Counts(), expects_tests=False, incomplete="")


def _left(done: Ended, words: Sequence[str], targets: Targets, memory: Memory) -> list[str]:
    """Leave the prompt that the command itself wrote; the lines to show."""
    memory.abandon()  # the command remembers the run itself
    is_expected = any(word.startswith(_PLUGIN) for word in words)
    note = f"the command itself wrote {targets.name}; it is left unchanged"
    return [*done.problems, *([] if is_expected else [note])]


def _write(seen: Observation, words: Sequence[str], targets: Targets, memory: Memory) -> list[str]:
    from loop_close.app import conclude, terminal_lines

    choice = _choice(words) if name_of(words) in PYTEST else None
    selection = choice.described if choice is not None else shlex.join(words)
    passed = passed_by_name(seen, choice.named if choice is not None else ())
    context = RunContext(passed, tells_outcomes=False, selection=selection)
    return terminal_lines(conclude(seen, targets, memory, context), targets)


def _observed(
    done: Ended, words: Sequence[str], source: str, targets: Targets, memory: Memory
) -> Observation:
    from loop_close.readers.streams import observe_texts

    seen = observe_texts(done.outputs, done.exit_code, root=str(targets.root), source=memory.source)
    takes_ids = name_of(words) in PYTEST
    # After a green run, those that failed before and did not run are named.
    by_test = takes_ids and (done.exit_code == 0 or any(failure.nodeid for failure in seen.failures))
    return replace(seen, rerun=rerun_words(source, words, by_test=by_test), takes_ids=takes_ids)


def _choice(words: Sequence[str]) -> Choice:
    return choice_of(words, start_of(words) + 1, os.environ.get("PYTEST_ADDOPTS", ""))


def _fallback(done: Ended, targets: Targets, fault: BaseException) -> str:
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


# --- the words that run a command under ``loop-close run`` again


def rerun_words(source: str, words: Sequence[str], *, by_test: bool) -> tuple[str, ...]:
    """``loop-close run -- CMD``, in an environment of tox or nox the runner's own command.

    Nothing if that is unknown, or would not run what it says.

    :param source: the name given by ``--source``, empty for none.
    :param by_test: node ids of failing tests are going to be put behind: few commands take them.
    """
    runner, environment = runner_of(os.environ)
    if runner in RUNS_AGAIN and safe(environment) == environment:
        return runner, RUNS_AGAIN[runner], environment
    again = _choice(words).kept if by_test else words
    rerun = ("loop-close", "run", *(["--source", source] if source else []), "--", *again)
    is_secret = any(SECRET.match(word) for word in words) or any(safe(w) != w or "\n" in w for w in rerun)
    return () if is_secret or (by_test and name_of(words) not in PYTEST) else rerun
