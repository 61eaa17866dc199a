"""``loop-close hook --host NAME``: what a host of agents is answered when its agent wants to stop, or used a tool."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.agent.gate import BEFORE, LOST, NOT_RUN, Answer, Situation, answer
from loop_close.cli.host import host_called
from loop_close.cli.memory import NoRunError, read
from loop_close.cli.place import Place, place_at
from loop_close.cli.seen import Seen, failing_since, is_ours_to_judge, see
from loop_close.cli.sessions import Session, keep, key_of, mark_of, new_in, sessions
from loop_close.cli.standing import prompt_text
from loop_close.cli.streams import OutputError, Streams
from loop_close.cli.usage import UsageError
from loop_close.hosts import MAX_INPUT, Host, Payload, PayloadError
from loop_close.hosts.protocol import START
from loop_close.text import fault_text

if TYPE_CHECKING:
    import argparse

_LONGEST = 5.0
_TOO_LONG = f"gave up after {_LONGEST:g} seconds; the agent may stop"
_SESSIONS = f"{files.STATE_FOLDER}/sessions.json"
# How it is known when a session began. The first call of a hook comes after runs that may be the session's own: what
# failed then may be its doing, so that only a host that says so is believed.
_AT_START, _AT_CALL = "start", "call"
_MOST_NAMED = 3
#: So many sets of functions are remembered of a session.
_MOST_ASKED = 100


def hook(options: argparse.Namespace, streams: Streams) -> int:
    """Answer the host; whatever goes wrong lets the agent do what it was about to, with a line on standard error.

    :returns: 0, as hosts take every other exit code for an answer.
    """
    return asked(options.host, streams)


def asked(name: str, streams: Streams) -> int:
    """Answer the host of that name: the same without the words of the command line.

    :raises UsageError: when there is none of that name.
    """
    host = host_called(name)
    told, complaint = _within(_LONGEST, lambda: _told(host, streams.input.read(MAX_INPUT + 1)))
    if complaint:
        streams.complain(complaint)
    if complaint == _TOO_LONG:
        os._exit(0)  # the thread may hold the standard input, for which Python would wait
    if told:
        with contextlib.suppress(OutputError, BrokenPipeError):
            streams.say(told)
            return 0
        streams.forget_output()
    return 0


def _within(seconds: float, work: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    """What the work gives, and what went wrong in it: an agent is never held up for longer than this."""
    found = [("", _TOO_LONG)]
    thread = threading.Thread(target=lambda: found.append(_safely(work)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[-1]


def _safely(work: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    try:
        return work()
    except NoRunError:
        return "", ""
    except (UsageError, PayloadError, OSError) as error:
        return "", str(error)
    except Exception as fault:
        return "", f"internal error of loop-close: {fault_text(fault)}"


def _told(host: Host, data: bytes) -> tuple[str, str]:
    payload = host.read(data)
    if payload.is_interrupted or payload.is_waiting:
        return "", ""
    place = place_at(Path(payload.cwd) if payload.cwd else Path.cwd())
    if not is_ours_to_judge(place):
        raise UsageError(f"{place.root} belongs to another user, so the hook does not answer")
    path, key = place.root / _SESSIONS, key_of(host.name, f"{payload.event} {payload.session}")
    before = sessions(path).get(key, Session())
    # Of the session as a whole, and where whoever removes the history does not look.
    aside, own = files.outside(place.root, "sessions"), key_of(host.name, payload.session)
    mark = (sessions(aside).get(own) if aside is not None else None) or Session()
    try:
        seen = read(place.history, lambda memory: see(place, memory, mark.known))
    except NoRunError:
        if payload.is_start and aside is not None and not mark.began:
            _keep_aside(aside, own, replace(mark, began=(_AT_START,)))
        if aside is None or not (mark.known and payload.is_stop):
            raise
        _keep_aside(aside, own, replace(mark, is_lost=True))
        return _without_history(host, payload, place, (path, key), before)
    before = replace(before, is_lost=mark.is_lost or not seen.has_known)
    began = mark.began or (_AT_START if payload.is_start else _AT_CALL, *seen.finished)
    if aside is not None and (payload.is_stop or not mark.known or not mark.began):
        now = Session(known=seen.known, is_lost=before.is_lost, began=began)
        if now != mark:
            _keep_aside(aside, own, now)
    if payload.event == START:
        return "", ""
    situation = _situation(host, payload, place, seen, before)
    if payload.is_stop and mark.began[:1] == (_AT_START,):
        situation = _with_before(situation, place, seen, mark, before)
    if payload.is_stop:
        found, heard, complaint = _at_a_stop(situation, _news(payload, before), place, seen, before)
    else:
        found, heard, complaint = _after_a_tool(situation, is_news=seen.latest != before.run), before, ""
    told = mark_of(payload.message) if payload.is_all_said else ""
    before = replace(before, is_lost=False)
    after = replace(_session(found, situation, replace(heard, told=told), seen), is_lost=False)
    if after != before and not keep(path, key, after) and found.kind == "go_on":
        raise UsageError(f"cannot write {_SESSIONS}, so turns cannot be counted; the agent may stop")
    return _said(host, payload, found), complaint


def _keep_aside(path: Path, key: str, session: Session) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        keep(path, key, session)


def _without_history(
    host: Host, payload: Payload, place: Place, where: tuple[Path, str], before: Session
) -> tuple[str, str]:
    """The answer where the history is gone that there was in this session, and no test has run since."""
    lost = _of_lost(place, before)
    known = Situation(command=place.settings.test_command, blocks=before.blocks, lost=lost.get("lost", ""))
    found = answer(replace(known, tampered=lost.get("tampered", "")))
    if found.kind == "go_on":
        files.state_folder(place.root)
        after = replace(before, blocks=before.blocks + 1, asked=(*before.asked, LOST), is_back=True)
        if not keep(*where, after):
            return "", ""  # turns cannot be counted
    return _said(host, payload, found), ""


def _news(payload: Payload, before: Session) -> Payload:
    """The payload without what the agent had said when it was sent back, where its host says that again."""
    return replace(payload, message=new_in(payload.message, before.told)) if before.told else payload


def _at_a_stop(
    situation: Situation, payload: Payload, place: Place, seen: Seen, before: Session
) -> tuple[Answer, Session, str]:
    """What the agent is answered, the session with what it said, and what went wrong in asking the exit strategy.

    That is asked only where the agent would be sent back to a red run: to what may stop it has nothing to add, and
    of code that nobody tested it knows nothing.
    """
    found = answer(situation)
    if found.kind == "go_on" and not situation.blocks:
        # A run advanced: what was said before was of something else.
        before = replace(before, turns=0, responses=(), errors=())
    if found.kind != "go_on" or situation.edited or situation.killed or situation.standing == "green":
        return found, before, ""
    from loop_close.cli.hook_said import heard  # late: most often nobody is sent back
    from loop_close.cli.hook_strategy import decision_of

    said, after = heard(before, payload.message)
    decision = decision_of(place, seen, said, before.turns + 1)
    if decision.action == "stuck":
        found = answer(replace(situation, stuck=f"{decision.strategy}: {decision.reason}"))
    return found, after, "; ".join(decision.warnings)


def _situation(host: Host, payload: Payload, place: Place, seen: Seen, before: Session) -> Situation:
    standing = seen.standing
    has_advanced = seen.latest != before.run and standing.summary.verdict == "progress"
    breaker = standing.summary.breaker
    # Where it is not told it takes its time for nothing.
    is_told = standing.verdict != "green" and not seen.edited.paths
    is_asked = place.settings.require_edits_run and _set_of(seen) not in before.asked
    situation = Situation(
        run=standing.finished.number if standing.finished is not None else standing.last.number,
        source=standing.last.source,
        standing=standing.verdict,
        is_running=seen.is_running,
        killed=standing.last.number if standing.last.state == "killed" else 0,
        stuck=(breaker.reason or "no progress") if standing.verdict == "stuck" else "",
        edited=seen.edited.paths,
        prompt=prompt_text(standing.prompt, 2 * host.limit) if is_told else "",
        prompt_file=_from(payload.cwd, standing.prompt),
        command=place.settings.test_command,
        not_run=standing.summary.not_run if is_asked else "",
        blocks=max(payload.loop_count or 0, 0 if has_advanced else before.blocks),
        # Whoever was let go is at work again because a person said something: that is another turn.
        is_again=bool(before.is_back if payload.is_again is None else payload.is_again or payload.loop_count),
        is_unmoved=before.run == seen.latest and before.code == seen.edited.state(),
    )
    if seen.tests or before.is_lost:
        return _with_tests(situation, place, seen, before)
    return situation


def _with_tests(situation: Situation, place: Place, seen: Seen, before: Session) -> Situation:
    """With what was done to tests: in words, and as a question where that cannot be decided and was not yet asked."""
    from loop_close.progress.tampering import in_words, open_changes
    from loop_close.prompt.loop import lines_of

    found = open_changes(seen.tests)
    asked = [each for each in seen.tests if each.state == "asked" and each.fingerprint not in before.asked]
    lost = _of_lost(place, before) if before.is_lost else {}
    return replace(
        situation,
        tampered=in_words(found) if found else lost.get("tampered", ""),
        question="\n".join(lines_of(asked)),
        lost=lost.get("lost", ""),
    )


def _of_lost(place: Place, before: Session) -> dict[str, str]:
    """What is known of the tests where the history was taken away: how they differ from the last commit.

    Where they do not, or git does not tell, it is said once.
    """
    from loop_close.cli.driven_tests import of_last_commit
    from loop_close.progress.tampering import in_words, open_changes
    from loop_close.prompt.loop import lines_of

    text = "The history of test runs was removed in this session: what the tests were before is not known from it."
    found = open_changes(of_last_commit(place.root).judge())
    if found:
        lines = "\n".join(lines_of(found))
        since = f"since the last commit: {in_words(found)}"
        return {"lost": f"{text} They differ from those of the last commit.\n\n{lines}", "tampered": since}
    return {"lost": text} if LOST not in before.asked else {}


def _with_before(situation: Situation, place: Place, seen: Seen, mark: Session, before: Session) -> Situation:
    """With what is known of the failures where all of them were there before the session."""
    if situation.standing != "failing" or situation.edited or situation.tampered or situation.killed:
        return situation
    number, tests = read(place.history, lambda memory: failing_since(seen, mark.began[1:], memory))
    if not tests:
        return situation
    return replace(
        situation,
        before=_before_in_words(number, tests, situation.source),
        is_before_told=BEFORE in before.asked,
    )


def _before_in_words(number: int, tests: Sequence[str], source: str) -> str:
    from loop_close.cli.summary import shown

    named = ", ".join(shown(test, 160) for test in tests[:_MOST_NAMED])
    more = f" and {len(tests) - _MOST_NAMED} more" if len(tests) > _MOST_NAMED else ""
    which = "This failure was" if len(tests) == 1 else f"These {len(tests)} failures were"
    return f"{which} there before this session began (run {number} of {shown(source, 80)}): {named}{more}."


def _set_of(seen: Seen) -> str:
    """A digest of the edited functions that no test ran."""
    ran = seen.standing.summary.edits_run
    return key_of("", repr(ran.not_run)) if ran is not None else ""


def _from(folder: str, prompt: Path | None) -> str:
    return os.path.relpath(prompt, folder or None) if prompt is not None else ""


def _after_a_tool(situation: Situation, *, is_news: bool) -> Answer:
    """What the agent may read beside a tool's result: the prompt of a red run, once."""
    if not is_news or situation.edited or situation.standing == "green":
        return Answer(kind="nothing")
    found = answer(replace(situation, stuck="", blocks=0))
    return found if found.kind == "go_on" else Answer(kind="nothing")


def _session(found: Answer, situation: Situation, before: Session, seen: Seen) -> Session:
    """What is remembered after the answer; where the work is done, or left to a person, the session starts anew."""
    if found.kind == "go_on":
        blocks, turns = situation.blocks + 1, before.turns + 1
        code = seen.edited.state()
        asked = [*before.asked, *([_set_of(seen)] if found.why == NOT_RUN else [])]
        asked += [LOST] if found.why == LOST else [each.fingerprint for each in seen.tests]
        asked += [BEFORE] if situation.before else []
        before = replace(before, asked=tuple(dict.fromkeys(asked))[-_MOST_ASKED:])
        return replace(before, blocks=blocks, run=seen.latest, code=code, turns=turns, is_back=True)
    is_done = found.kind == "end" or (situation.standing == "green" and not situation.edited)
    if is_done:
        return Session(run=before.run, code=before.code, asked=before.asked)
    return replace(before, is_back=False, told="")


def _said(host: Host, payload: Payload, found: Answer) -> str:
    if found.kind == "nothing":
        return ""
    if not payload.is_stop:
        return host.inform(payload, found.text)
    return host.end(payload, found.text) if found.kind == "end" else host.go_on(payload, found.text)
