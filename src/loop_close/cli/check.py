"""``loop-close check``, ``status``, ``accept`` and ``prompt``: whether the work is done, and what is next."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from loop_close import baseline, files, gate
from loop_close.baseline.objection import at_head, lines_of_pending, pending
from loop_close.checks import VARIABLE, checks_of, root_of, variables, words_of
from loop_close.cli import FAULT, INSIDE, Streams, UsageError, as_usage_error, last_prompt, project_at
from loop_close.files import Targets
from loop_close.gate import Facts, UnknownError
from loop_close.provenance import agent_of
from loop_close.records import Loop, State
from loop_close.store import Store, StoreError
from loop_close.text import fault_text, listed, one_line
from loop_close.tree import TreeError

_LONGEST = 400
#: The exit status by verdict, of ``check`` and ``status``.
CODES = {"done": 0, "failing": 1, "unknown": 2, "stuck": 3, "objected": 4}


def check(options: argparse.Namespace, streams: Streams) -> int:
    """Run the checks that have no green result on the present files.

    :returns: by :data:`CODES`.
    :raises UsageError: for a check that does not exist, for wrong settings, and inside a check.
    """
    if options.worker:
        from loop_close.worker import work

        return work(Path.cwd(), options.worker, options.names)
    if os.environ.get(VARIABLE):
        raise UsageError("loop-close check cannot run inside a check")
    root = root_of(Path.cwd())
    with as_usage_error(UnknownError):
        targets = gate.targets_of(root)
        names = _names(targets, options.names)
    code = _run(targets, names, streams)
    if options.undo or (targets.settings.undo and code == CODES["done"]):
        _undo(root, streams, is_asked=options.undo)
    return code


def _run(targets: Targets, names: Sequence[str], streams: Streams) -> int:
    """Run what is wanted, or follow the worker that runs it."""
    root = targets.root
    # An agent, or a program, gets the prompt in place of the output: it would read the file next.
    is_quiet = bool(agent_of(os.environ)[1]) or not (streams.output.isatty() or os.environ.get("CI"))
    has_run = False
    while not has_run:
        state, facts = gate.look(root)
        if targets.history is None or not (wanted := _wanted(root, state, facts, names)):
            return _answered(targets, state, streams)
        from loop_close import worker  # late: without anything to run, nothing of it is needed

        at_work = worker.running(root)
        if at_work is None:
            try:
                name = worker.start(root, wanted)
            except OSError as error:
                raise UsageError(f"no check can run here: {error}") from None
            has_run = bool(name)
        elif not at_work.id:
            time.sleep(worker.POLL)
            continue
        else:  # what it ran on other files is of no use, so it is waited for and another one started
            name = at_work.id
            has_run = at_work.tree == gate.tree_digest(root) and set(wanted) <= set(at_work.names)
            streams.complain(
                "a check is running; this is its output" if has_run else "waiting for the check that runs"
            )
        if name:
            answer = worker.follow(
                root, name, len if is_quiet else _shown_on(streams), is_ours=at_work is None
            )
    state = gate.state(root)
    if answer.fault:
        streams.complain(f"internal error of loop-close: {answer.fault}")
        return FAULT
    if is_quiet and answer.prompt:  # it has the objections, too
        lines = [answer.prompt.rstrip("\n"), *lines_of(replace(state, checks=()))]
    else:
        lines = [*(answer.lines or ()), *lines_of(state)]
    return _said(state, lines, streams)


def _answered(targets: Targets, state: State, streams: Streams) -> int:
    """The answer without a run: the prompt may be of other files, so it says that these are done."""
    if state.verdict == "done":
        try:
            targets.write_prompt(f"# Done: {state.reason}\n")
            files.forget_run(targets.root)
        except (OSError, files.UnusablePathError) as error:
            streams.complain(f"not written: {error}")
    return _said(state, lines_of(state), streams)


def _undo(root: Path, streams: Streams, *, is_asked: bool) -> None:
    """Say what the tests say without the change, in the prompt and the JSON report too. It changes no answer.

    :param is_asked: by the option; the setting takes less time for it.
    """
    from loop_close.baseline import undo  # late: most checks do not ask for it
    from loop_close.child import InterruptionError, Stop
    from loop_close.prompt.report_json import dump, safe_values

    state, facts = gate.look(root)
    if facts is None or state.verdict != "done":
        streams.say("--undo: the checks have to be green first")
        return
    history = facts.targets.history
    assert history is not None  # the facts are read from it
    numbers, targets = {each.run for each in state.checks}, facts.targets
    results = [run for run in facts.runs if run.number in numbers]
    longest = undo.MOST if is_asked else undo.BY_ITSELF
    lines: list[str] = []
    try:
        with Stop() as stop:
            found = undo.ask(root, history, facts.tree, results, longest=longest, stop=stop)
        if gate.tree_digest(root) != facts.tree.digest:
            lines.append("--undo: the files changed meanwhile")
        else:
            undo.keep(root, found)
            lines += undo.lines_of(found)
            if text := last_prompt(root):
                targets.write_prompt("\n".join([text, "", "## Without the change", "", *lines, ""]))
            if targets.json is not None and targets.json.exists():
                document = json.loads(targets.json.read_bytes())
                if document["number"] in numbers:
                    added = {"undo": safe_values(found)}
                    targets.write(targets.json, dump({**document, **added}))
    except (Exception, InterruptionError) as fault:  # the answer of the checks was given before
        lines.append(f"--undo: {fault_text(fault)}")
    streams.say(*lines)


def _said(state: State, lines: Sequence[str], streams: Streams) -> int:
    streams.say(*lines)
    return CODES[state.verdict]


def lines_of(state: State, loop: Loop | None = None) -> list[str]:
    """The state in plain lines: the answer, what is objected, what a person accepted.

    :param loop: if given, the lines go on with each of several checks, the loop in numbers, what to run next.
    """
    lines = [f"{state.verdict}: {state.reason}"]
    for objection in (each.objection for each in state.checks if each.objection is not None):
        for old in objection.tests:
            lines.append(f"  {old.test}: {old.outcome}{f': {old.reason}' if old.reason else ''}")
        lines += [f"  and {objection.omitted} more"] * bool(objection.omitted)
        lines += objection.diff.splitlines()
    lines += [f"accepted by a person: {path}" for path in state.accepted]
    if state.verdict == "objected":
        lines.append("restore the tests, or let a person run: loop-close accept")
    if loop is not None:
        if len(state.checks) > 1:
            lines += [f"- {check.name}: {check.verdict}, {check.reason}" for check in state.checks]
        attempts = len(loop.attempts)
        if loop.failing or attempts:
            lines.append(
                f"loop: {len(loop.failing)} failing, {attempts} attempt{'s' * (attempts != 1)}, the last {loop.stalled}"
                " without an advance"
            )
        lines += [f"next: {state.command}"] * bool(state.command)
    return [_short(line) for line in lines]


def _short(line: str) -> str:
    """A line without controls, bounded; its indent stays."""
    return line[: len(line) - len(line.lstrip(" "))] + one_line(line, _LONGEST)


def _names(targets: Targets, given: Sequence[str]) -> tuple[str, ...]:
    """The checks that are asked for.

    :raises UsageError: for one that does not exist.
    """
    known = [*checks_of(targets.settings)]
    for name in given:
        if name not in known:
            raise UsageError(f"there is no check {name!r}; the checks are: {', '.join(known)}")
    return tuple(given or known)


def _wanted(root: Path, state: State, facts: Facts | None, names: Collection[str]) -> list[str]:
    """Those of the checks that have no green result on the present files, or one of another environment than ours."""
    if facts is None:
        return list(names)
    ours = variables(root, os.environ)
    runs = {run.number: run for run in facts.runs}
    checks = checks_of(facts.targets.settings)
    green = {each.name: runs[each.run].command for each in state.checks if each.verdict == "done"}
    return [name for name in names if green.get(name) != words_of(checks[name], ours)]


def _shown_on(streams: Streams) -> Callable[[bytes], object]:
    decode = getincrementaldecoder("utf-8")("replace").decode
    return lambda chunk: streams.put(decode(chunk))


# --- without a run: ``status``, ``accept`` and ``prompt``


def status(options: argparse.Namespace, streams: Streams) -> int:
    """Print the state; the exit status says it, too."""
    project = project_at()
    state = gate.state(project.root)
    loop = gate.loop_of(project.history)
    if not options.json:
        return _said(state, lines_of(state, loop), streams)
    from loop_close.prompt.report_json import state_document  # late: the words take longer to load

    return _said(state, [json.dumps(state_document(state, loop))], streams)


def accept(options: argparse.Namespace, streams: Streams) -> int:
    """Make the present test files the baseline: those that are named, or all. Without names, show what differs.

    :returns: 0 if nothing differs any more, 1 if something is shown that does.
    :raises UsageError: inside a hook, ``drive`` or an agent's shell: a person has to do it.
    """
    project = project_at()
    root = project.root
    is_asked = bool(options.files or options.all)
    if is_asked:
        _refuse_agents(options.files)
    _, facts = gate.look(root)
    runs = facts.results if facts is not None else []
    with as_usage_error(TreeError, OSError):
        tree = facts.tree if facts is not None else gate.take_tree(project)
        names, functions = pending(root, tree, runs)
        if not is_asked:
            streams.say(*lines_of_pending(root, names, functions))
            return 1 if names or functions else 0
        unknown = [name for name in options.files if name not in names]
        if unknown:
            those = ", ".join(names) or "none"
            raise UsageError(f"{unknown[0]} does not differ from the baseline; these files do: {those}")
        accepted = baseline.accept(root, tree, options.files or names, runs)
        equal = at_head(root, names)
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
    """Print the last prompt again; on standard error, which files changed since the last run."""
    project = project_at()
    if not (text := last_prompt(project.root)):
        raise UsageError(f"there is no prompt of a run that ended in {project.name}: run {gate.CHECK}")
    streams.say(text)
    if project.history is not None and project.history.is_file():
        with (
            contextlib.suppress(StoreError, TreeError, OSError),  # then it is not known
            Store(project.history, readonly=True, timeout=0.5) as store,
        ):
            runs = store.runs(1)
            then, now = store.files(runs[0].tree_after) if runs else None, gate.take_tree(project).files
            if then is not None and (names := sorted({name for name, _ in now.items() ^ then.items()})):
                streams.complain(f"changed since run {runs[0].number}, the last recorded: {listed(names, 5)}")
    return 0
