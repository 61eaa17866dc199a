"""``loop-close status``, ``accept`` and ``prompt``: what the gate says, changed test files, the last prompt."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Sequence

from loop_close import baseline, files, gate
from loop_close.baseline.objection import at_head, lines_of_pending, pending
from loop_close.cli import INSIDE, Streams, UsageError
from loop_close.cli.check import CODES
from loop_close.cli.check import lines_of as lines_of_state
from loop_close.cli.project import project_of
from loop_close.provenance import agent_of
from loop_close.records import Loop, State
from loop_close.text import one_line
from loop_close.tree import TreeError

__all__ = ["CODES", "accept", "lines_of", "prompt", "status"]


def status(options: argparse.Namespace, streams: Streams) -> int:
    """Print the state; the exit status says it, too."""
    project = project_of(options)
    state = gate.state(project.root)
    loop = gate.loop_of(project.history)
    if options.json:
        from loop_close.prompt.report_json import state_document  # late: the words take longer to load

        streams.say(json.dumps(state_document(state, loop)))
    else:
        for line in lines_of(state, loop):
            streams.say(line)
    return CODES[state.verdict]


def lines_of(state: State, loop: Loop) -> list[str]:
    """The state in lines for a terminal: the answer, each of several checks, the loop in numbers, what to run next."""
    lines = lines_of_state(state)
    if len(state.checks) > 1:
        lines += [f"- {check.name}: {check.verdict}, {check.reason}" for check in state.checks]
    attempts = len(loop.attempts)
    if loop.failing or attempts:
        lines.append(
            f"loop: {len(loop.failing)} failing, {attempts} attempt{'s' * (attempts != 1)}, the last {loop.stalled}"
            " without an advance"
        )
    if state.command:
        lines.append(f"next: {state.command}")
    return [one_line(line, 400) for line in lines]


def accept(options: argparse.Namespace, streams: Streams) -> int:
    """Make the present test files the baseline: those that are named, or all. Without names, show what differs.

    :returns: 0 if nothing differs any more, 1 if something is shown that does.
    :raises UsageError: inside a hook, ``drive`` or an agent's shell: a person has to do it.
    """
    project = project_of(options)
    root = project.root
    is_asked = bool(options.files or options.all)
    if is_asked:
        _refuse_agents(options.files)
    _, facts = gate.look(root)
    runs = facts.results if facts is not None else []
    try:
        tree = facts.tree if facts is not None else gate.take_tree(project)
        names, functions = pending(root, tree, runs)
        if not is_asked:
            for line in lines_of_pending(root, names, functions):
                streams.say(line)
            return 1 if names or functions else 0
        unknown = [name for name in options.files if name not in names]
        if unknown:
            those = ", ".join(names) or "none"
            raise UsageError(f"{unknown[0]} does not differ from the baseline; these files do: {those}")
        accepted = baseline.accept(root, tree, options.files or names, runs)
        equal = at_head(root, names)
    except (TreeError, OSError) as error:
        raise UsageError(str(error)) from None
    many = "s" * (len(accepted) != 1)
    streams.say(f"accepted: {len(accepted)} file{many}; {equal} of those that differed equal HEAD")
    if command := gate.state(root).command:
        streams.say(f"next: {command}")
    return 0


def _refuse_agents(names: Sequence[str]) -> None:
    variable = agent_of(os.environ)[1]
    inside = os.environ.get(INSIDE, "")
    if inside or variable:
        where = f"inside {inside}" if inside else f"in the shell of an agent ({variable} is set)"
        words = shlex.join(names) if names else "--all"
        raise UsageError(f"refused {where}: a person has to run it elsewhere:", f"loop-close accept {words}")


def prompt(options: argparse.Namespace, streams: Streams) -> int:
    """Print the last prompt again.

    :raises UsageError: where there is none.
    """
    targets = project_of(options)
    try:
        if not files.is_ours(targets.prompt):
            raise UsageError(f"{targets.name} was not written by loop-close")
        text = targets.prompt.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise UsageError(f"there is no {targets.name}: run {gate.CHECK}") from None
    except OSError as error:
        raise UsageError(f"cannot read {targets.name}: {error.strerror or error}") from None
    streams.put(files.without_signature(text))
    return 0
