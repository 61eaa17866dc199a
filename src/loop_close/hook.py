"""``loop-close hook --host NAME``: what an agent's host is answered when its agent wants to stop, or used a tool.

The answer comes from the gate; the hook runs nothing. It lets go on a fault of its own, and never blocks for ever.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from loop_close import baseline, files, gate
from loop_close.checks import is_ours, root_of
from loop_close.cli import OutputError, Streams, UsageError, as_usage_error, last_prompt, project_at
from loop_close.hosts import MAX_INPUT, Host, Payload, PayloadError, command_line, host_named
from loop_close.records import Loop, Record, State
from loop_close.settings import Settings
from loop_close.text import digest, fault_text, listed, one_line

if TYPE_CHECKING:
    import argparse

    from loop_close.files import Targets

_LONGEST = 5.0
_TOO_LONG = f"gave up after {_LONGEST:g} seconds; the agent may stop"
#: So often in a row an agent is sent back without progress.
MOST_BLOCKS = 5
PROMPT = "loop-close prompt"
_MOST_NAMED, _MOST_TESTS, _MOST_SHOWN, _MOST_SESSIONS = 3, 500, 50, 100
#: More than there are failing tests: it was not sent back yet.
_MANY = 1_000_000_000
#: In what a session was shown: that all tests that fail failed before it.
_REMINDED = "before"
_replaced = msgspec.structs.replace


class Session(Record, frozen=True):
    """What is kept of one session of an agent, in the user's state folder, where ``git clean`` does not reach.

    :ivar root: of the project that it began in, or came to if that does not use loop-close.
    :ivar is_used: the project used loop-close in this session, whatever is left of it now.
    :ivar before: tests that were failing when it began, by source and name.
    :ivar blocks: how often in a row it was sent back without progress; ``fewest`` failing tests when it was.
    :ivar shown: what it was shown: states, runs beside a tool's result, that all failures were there before.
    """

    root: str = ""
    is_used: bool = False
    before: tuple[str, ...] = ()
    blocks: int = 0
    fewest: int = _MANY
    shown: tuple[str, ...] = ()


class Reply(NamedTuple):
    """An answer: let the agent stop, send it back with a text, or end its run and show the text to a person."""

    kind: Literal["nothing", "go_on", "end"]
    text: str = ""


def answer(
    state: State,
    loop: Loop,
    session: Session,
    tree: str,
    prompt: str,
    *,
    file: str,
    is_again: bool,
    undo: Sequence[str] = (),
) -> tuple[Reply, Session]:
    """What an agent that wants to stop is answered, and the session after it. Pure.

    :param tree: digest of the present files.
    :param prompt: the last next prompt, empty for none; ``file`` its path.
    :param is_again: it goes on because a hook sent it back.
    :param undo: what tests say without the change, for a person; a session shows it once.
    """
    if state.verdict == "done":
        after, about = _replaced(session, blocks=0, fewest=_MANY), f"undo {tree}"
        if not undo or about in session.shown:
            return Reply("nothing"), after
        return Reply("end", "\n".join([f"Done: {state.reason}", *undo])), _with_shown(after, about)
    is_failing = state.verdict == "failing"
    failing = failing_of(loop)
    fewest = min(len(failing), session.fewest)
    blocks = session.blocks if fewest == session.fewest else 0
    is_older = is_failing and bool(failing) and set(failing) <= set(session.before)
    objections = [check.objection for check in state.checks if check.objection is not None]
    about = digest(state.verdict, msgspec.json.encode(objections).decode() if objections else tree)
    # What fails is shown in each of its turns, all else once.
    is_shown = about in session.shown and (is_again or not is_failing)
    is_reminded = is_older and _REMINDED in session.shown
    where = f", in {one_line(session.root, 300)}" if session.root else ""
    next_step = f"To see whether the work is done{where}: `{state.command or gate.CHECK}`"
    if state.verdict == "stuck" or blocks >= MOST_BLOCKS or is_shown or is_reminded:
        text = f"NOT done: {state.reason}\n\n{next_step}\nThe last prompt: `{PROMPT}`, {file}"
        return Reply("end", text), _replaced(session, blocks=0)
    parts = [f"Not done: {state.reason}"]
    if is_older:
        named = listed([each.test for each in loop.failing], _MOST_NAMED, lambda test: one_line(test, 160))
        parts.append(f"All tests that fail failed before this session began: {named}.")
    if objections:
        from loop_close.prompt.loop import objection_lines  # late: most answers have none

        parts += ["\n".join(objection_lines(each)) for each in objections]
    parts += [prompt] if is_failing and prompt else []
    parts.append(f"{next_step}\nThe whole prompt: `{PROMPT}`, {file}" if is_failing else next_step)
    after = _with_shown(session, about, *([_REMINDED] * is_older))
    return Reply("go_on", "\n\n".join(parts)), _replaced(after, blocks=blocks + 1, fewest=fewest)


def _with_shown(session: Session, *shown: str) -> Session:
    return _replaced(session, shown=(*session.shown, *shown)[-_MOST_SHOWN:])


def failing_of(loop: Loop) -> tuple[str, ...]:
    """The failing tests by source and name."""
    return tuple(f"{each.source} {each.test}" for each in loop.failing)


# --- the command


def hook(options: argparse.Namespace, streams: Streams) -> int:
    """Answer the host; whatever goes wrong lets the agent do what it was about to, with a line on standard error.

    :returns: 0, as hosts take every other exit code for an answer.
    """
    return asked(options.host, streams)


def asked(name: str, streams: Streams) -> int:
    """Answer the host of that name: the same without the words of the command line.

    :raises UsageError: when there is none of that name.
    """
    with as_usage_error(ValueError):
        host = host_named(name)
    # An agent is never held up for longer than this.
    found = [("", _TOO_LONG)]
    thread = threading.Thread(target=lambda: found.append(_safely(host, streams.input.read)), daemon=True)
    thread.start()
    thread.join(_LONGEST)
    reply, complaint = found[-1]
    if complaint:
        streams.complain(complaint)
    if complaint == _TOO_LONG:
        os._exit(0)  # the thread may hold the standard input, for which Python would wait
    if reply:
        try:
            streams.say(reply)
        except (OutputError, BrokenPipeError):
            streams.forget_output()
    return 0


def _safely(host: Host, read: Callable[[int], bytes]) -> tuple[str, str]:
    """The answer, and what went wrong."""
    try:
        return _answered(host, host.read(read(MAX_INPUT + 1)))
    except (UsageError, PayloadError, OSError) as error:
        return "", str(error)
    except Exception as fault:
        return "", f"internal error of loop-close: {fault_text(fault)}"


def _answered(host: Host, payload: Payload) -> tuple[str, str]:
    if payload.is_left_alone:
        return "", ""
    here = root_of(Path(payload.cwd) if payload.cwd else Path.cwd())
    path = session_file(here, digest(host.name, payload.session))
    known = session_at(path)
    session = known or Session(root=str(here))
    if not (session.is_used or is_ours(Path(session.root))):
        session = _replaced(session, root=str(here))  # where it is now may be one of several projects
    root = Path(session.root)  # of one that was moved or removed nothing is known
    if not _is_ours_to_judge(root):
        raise UsageError(f"{root} belongs to another user, so the hook does not answer")
    session = _replaced(session, is_used=session.is_used or _is_used(host, root))
    if known is None and payload.is_start:
        loop = gate.loop_of(targets_at(root).history)
        session = _replaced(session, before=failing_of(loop)[:_MOST_TESTS])
        if keep(path, session) and session.is_used:  # before the agent edits a file
            baseline.hold(root)
    if not session.is_used:
        keep(path, session)
        return "", ""
    if payload.event not in host.stops:
        return "" if payload.is_start else _informed(host, payload, root, session, path), ""
    state, facts = gate.look(root)
    if facts is not None and (base := facts.baseline) is not None:
        # A check in the sandbox of an agent could not write it down.
        is_open = any(each.objection for each in state.checks) or (base.is_open and state.verdict != "done")
        with contextlib.suppress(OSError):
            baseline.note(root, base, facts.tree, facts.results, is_open=is_open)
    is_again = bool(session.blocks if payload.is_again is None else payload.is_again)
    targets, is_done = targets_at(root), state.verdict == "done"
    loop = Loop() if is_done else gate.loop_of(targets.history)
    tree = facts.tree.digest if facts is not None else gate.tree_digest(root)
    said = undo_of(targets, tree) if is_done else []
    prompt, file = last_prompt(root), targets.name
    reply, after = answer(state, loop, session, tree, prompt, file=file, is_again=is_again, undo=said)
    if after != known and not keep(path, after) and reply.kind == "go_on":
        return "", "the session cannot be kept, so turns cannot be counted; the agent may stop"
    return (host.end if reply.kind == "end" else host.go_on)(payload, reply.text), ""


def _informed(host: Host, payload: Payload, root: Path, session: Session, path: Path | None) -> str:
    """What the agent may read beside a tool's result: the prompt of a red run, once."""
    targets = targets_at(root)
    loop = gate.loop_of(targets.history)
    last = f"run {loop.steps[-1].run}" if loop.failing else ""
    is_news = bool(last) and last not in session.shown and keep(path, _with_shown(session, last))
    return host.inform(payload, last_prompt(root)) if is_news else ""


def undo_of(targets: Targets, tree: str) -> list[str]:
    """What a check kept of what the tests say without the change, in lines; none without the setting."""
    if not targets.settings.undo:
        return []
    from loop_close.baseline.undo import kept, lines_of  # late: few projects have it

    return lines_of(found) if (found := kept(targets.root, tree)) is not None else []


def _is_used(host: Host, root: Path) -> bool:
    """Whether the project uses loop-close: it has its state or settings, or its own file calls this hook."""
    try:
        known = baseline.load(root)
    except OSError:  # there is one
        return True
    # A check ran, whatever became of its history.
    if is_ours(root) or (known is not None and known.functions):
        return True
    with contextlib.suppress(OSError):
        text = (root / host.file).read_text(encoding="utf-8", errors="replace")
        return command_line(host.name) in text
    return False


def _is_ours_to_judge(root: Path) -> bool:
    """Whether the project belongs to the user: what another one wrote there is not followed."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return user == 0 or not root.exists() or root.stat().st_uid in (user, 0)


def targets_at(root: Path) -> Targets:
    """The project's files; those of the default settings where its own are wrong, which the gate says."""
    try:
        return project_at(root)
    except UsageError:
        return files.targets_of(root, Settings(), {})


# --- the sessions of agents, each a small file in the user's state folder


def session_file(root: Path, key: str) -> Path | None:
    """Where a session is kept; None if the user's state folder lies in the project."""
    folder = files.outside(root, "sessions")
    return None if folder is None else folder / f"{key}.json"


def session_at(path: Path | None) -> Session | None:
    """What is kept of a session; None for nothing, or a damaged file."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return None if path is None else msgspec.json.decode(path.read_bytes(), type=Session)
    return None


def keep(path: Path | None, session: Session) -> bool:
    """Save a session, and of many the newest.

    :returns: whether it could be written.
    """
    if path is None:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.write_bytes(path, msgspec.json.encode(session))
        for old in sorted(path.parent.glob("*.json"), key=os.path.getmtime)[:-_MOST_SESSIONS]:
            old.unlink(missing_ok=True)
    except OSError:
        return False
    return True
