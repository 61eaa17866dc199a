"""``loop-close hook --host NAME``: what a host of agents is answered when its agent wants to stop, or used a tool."""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.agent.gate import Answer, Situation, answer
from loop_close.cli.edited import edited_since, prompt_text
from loop_close.cli.memory import NoRunError, Remembered, read
from loop_close.cli.parser_parts import UsageError
from loop_close.cli.place import Place, place_at
from loop_close.cli.sessions import Session, keep, key_of, sessions
from loop_close.cli.standing import Standing, last_runs, standings
from loop_close.cli.streams import Streams
from loop_close.hosts import Host, Payload, PayloadError, host_named
from loop_close.hosts.contract import MAX_INPUT
from loop_close.text.fault import fault_text

if TYPE_CHECKING:
    from loop_close.store.contract import RunRow

_LONGEST = 5.0
_SESSIONS = f"{files.STATE_FOLDER}/sessions.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """What is known of the project: the standing of the source that ran last, and what was edited since."""

    standing: Standing
    is_running: bool
    edited: Sequence[str] | None
    code: str
    command: str


def hook(options: argparse.Namespace, streams: Streams) -> int:
    """Answer the host; whatever goes wrong lets the agent do what it was about to, with a line on standard error.

    :returns: 0, as hosts take every other exit code for an answer.
    """
    host = _host(options.host)
    told, complaint = _within(_LONGEST, lambda: _told(host, streams.input.read(MAX_INPUT + 1)))
    if complaint:
        streams.complain(complaint)
    if told:
        streams.say(told)
    return 0


def _host(name: str) -> Host:
    try:
        return host_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _within(seconds: float, work: Callable[[], str]) -> tuple[str, str]:
    """What the work gives, and what went wrong in it: an agent is never held up for longer than this."""
    found = [("", f"it took longer than {seconds:g} seconds, so that the agent was let go")]
    thread = threading.Thread(target=lambda: found.append(_safely(work)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[-1]


def _safely(work: Callable[[], str]) -> tuple[str, str]:
    try:
        return work(), ""
    except NoRunError:
        return "", ""
    except (UsageError, PayloadError, OSError) as error:
        return "", str(error)
    except Exception as fault:
        return "", f"a fault of loop-close itself: {fault_text(fault)}"


def _told(host: Host, data: bytes) -> str:
    payload = host.read(data)
    if payload.is_interrupted or payload.is_waiting:
        return ""
    place = place_at(Path(payload.cwd) if payload.cwd else Path.cwd())
    seen = read(place.history, lambda memory: _seen(place, memory))
    path, key = place.root / _SESSIONS, key_of(host.name, payload.session)
    before = sessions(path).get(key, Session())
    situation = _situation(host, payload, seen, before)
    found = answer(situation) if payload.is_stop else _after_a_tool(situation, before)
    after = _session(found, situation, before, seen.code)
    if after != before and not path.parent.is_symlink():
        keep(path, key, after)
    return _said(host, payload, found)


def _seen(place: Place, memory: Remembered) -> _Seen:
    pairs = last_runs(memory, None)
    found = max(standings(pairs, place), key=_age)
    edited, code = edited_since(place, memory)
    return _Seen(
        standing=found,
        is_running=any(row.state == "running" for row, _ in pairs),
        edited=edited,
        code=code,
        command=place.settings.test_command,
    )


def _age(standing: Standing) -> float:
    row: RunRow = standing.finished or standing.last
    return row.ended or row.started


def _situation(host: Host, payload: Payload, seen: _Seen, before: Session) -> Situation:
    standing = seen.standing
    run = standing.finished.number if standing.finished is not None else 0
    is_unmoved = (before.run, before.code) == (run, seen.code)
    has_advanced = run != before.run and standing.summary.verdict == "progress"
    breaker = standing.summary.breaker
    return Situation(
        run=run,
        source=standing.last.source,
        standing=standing.verdict,
        is_running=seen.is_running,
        stuck=(breaker.reason or "the breaker is open") if standing.verdict == "stuck" else "",
        edited=seen.edited,
        prompt=prompt_text(standing.prompt, 2 * host.limit),
        prompt_file=os.path.relpath(standing.prompt, payload.cwd or None)
        if standing.prompt is not None
        else "",
        command=seen.command,
        blocks=max(payload.loop_count or 0, 0 if has_advanced else before.blocks),
        is_again=payload.is_again or bool(payload.loop_count),
        is_unmoved=is_unmoved,
    )


def _after_a_tool(situation: Situation, before: Session) -> Answer:
    """What the agent may read beside a tool's result: the prompt of a red run, once."""
    is_news = situation.run != before.run and not situation.edited and situation.standing != "green"
    found = answer(replace(situation, stuck="", blocks=0)) if is_news else Answer(kind="nothing")
    return found if found.kind == "go_on" else Answer(kind="nothing")


def _session(found: Answer, situation: Situation, before: Session, code: str) -> Session:
    if found.kind == "go_on":
        return Session(blocks=situation.blocks + 1, run=situation.run, code=code)
    return replace(before, blocks=0) if situation.standing == "green" else before


def _said(host: Host, payload: Payload, found: Answer) -> str:
    if found.kind == "nothing":
        return ""
    if not payload.is_stop:
        return host.inform(payload, found.text)
    return host.end(payload, found.text) if found.kind == "end" else host.go_on(payload, found.text)
