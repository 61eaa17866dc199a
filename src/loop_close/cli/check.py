"""``loop-close check``: run what has no green result on the present files, and say whether the work is done."""

from __future__ import annotations

import argparse
import os
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from loop_close import files, gate
from loop_close.checks import VARIABLE, checks_of, root_of, variables, words_of
from loop_close.cli import FAULT, Streams, UsageError
from loop_close.gate import Facts, UnknownError
from loop_close.provenance import agent_of
from loop_close.records import State

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
    names = _names(root, options.names)
    state, facts = gate.look(root)
    if gate.targets_of(root).history is None or not _wanted(root, state, facts, names):
        return _answered(root, state, streams)
    return _run(root, names, streams)


def _run(root: Path, names: Sequence[str], streams: Streams) -> int:
    """Run what is wanted, or follow the worker that runs it."""
    from loop_close import worker  # late: without anything to run, nothing of it is needed

    is_agent = bool(agent_of(os.environ)[1])
    is_quiet = is_agent or not (streams.output.isatty() or os.environ.get("CI"))
    answer: worker.Work | None = None
    has_run = False
    while not has_run:
        state, facts = gate.look(root)
        if not (wanted := _wanted(root, state, facts, names)):
            return _answered(root, state, streams)
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
            has_run = (
                facts is not None and at_work.tree == facts.tree.digest and set(wanted) <= set(at_work.names)
            )
            streams.complain(
                "a check is running; this is its output" if has_run else "waiting for the check that runs"
            )
        if name:
            answer = worker.follow(root, name, len if is_quiet else _shown_on(streams))
    state = gate.state(root)
    if answer is not None and answer.fault:
        streams.complain(f"internal error of loop-close: {answer.fault}")
        return FAULT
    if has_run and is_agent and state.verdict in ("failing", "stuck"):
        _show_prompt(root, streams)
    elif has_run:
        for line in (answer.lines or ()) if answer is not None else ("the check was killed",):
            streams.say(line)
    return _said(state, streams)


def _answered(root: Path, state: State, streams: Streams) -> int:
    """The answer without a run: the prompt may be of other files, so it says that these are done."""
    targets = gate.targets_of(root)
    if state.verdict == "done":
        try:
            targets.write_prompt(f"# Done: {state.reason}\n")
            files.forget_run(root)
        except (OSError, files.UnusablePathError) as error:
            streams.complain(f"not written: {error}")
    return _said(state, streams)


def _said(state: State, streams: Streams) -> int:
    for line in lines_of(state):
        streams.say(line)
    return CODES[state.verdict]


def lines_of(state: State) -> list[str]:
    """The state in plain lines: the answer, a line for each check that is not green, what to run next."""
    from loop_close.text import one_line

    lines = [f"{state.verdict}: {one_line(state.reason, _LONGEST)}"]
    for objection in (each.objection for each in state.checks if each.objection is not None):
        for old in objection.tests:
            said = f"{old.test}: {old.outcome}{f': {old.reason}' if old.reason else ''}"
            lines.append(f"  {one_line(said, _LONGEST)}")
        lines += [f"  and {objection.omitted} more"] * bool(objection.omitted)
        lines += objection.diff.splitlines()
    lines += [one_line(f"accepted by a person: {path}", _LONGEST) for path in state.accepted]
    if state.verdict == "objected":
        lines.append("restore the tests, or let a person run: loop-close accept")
    return lines


def _names(root: Path, given: Sequence[str]) -> tuple[str, ...]:
    """The checks that are asked for.

    :raises UsageError: for one that does not exist.
    """
    try:
        known = [*checks_of(gate.targets_of(root).settings)]
    except UnknownError as error:
        raise UsageError(str(error)) from None
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
    wanted = []
    for each in state.checks:
        is_green = each.verdict == "done"
        is_same = is_green and runs[each.run].command == words_of(checks[each.name], ours)
        if each.name in names and not is_same:
            wanted.append(each.name)
    return wanted


def _shown_on(streams: Streams) -> Callable[[bytes], object]:
    decode = getincrementaldecoder("utf-8")("replace").decode
    return lambda chunk: streams.put(decode(chunk))


def _show_prompt(root: Path, streams: Streams) -> None:
    """The prompt in place of the output: an agent would read the file next."""
    path = gate.targets_of(root).prompt
    try:
        streams.put(files.without_signature(path.read_text(encoding="utf-8", errors="replace")))
    except OSError as error:
        streams.complain(f"cannot read {path}: {error.strerror or error}")
