"""``loop-close hook --host NAME``: what a host of agents is answered when its agent wants to stop, or used a tool."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.agent.guard import BEFORE, LOST, NOT_RUN, GateAnswer, Situation, answer
from loop_close.cli import OutputError, Streams, UsageError
from loop_close.cli.project import Project, project_at
from loop_close.cli.project_state import (
    ProjectState,
    is_ours_to_judge,
    known_again,
    load_state,
    missing_sources,
    prompt_text,
    waiting_text,
)
from loop_close.cli.recorded import NoRunError, read, shown
from loop_close.hosts import MAX_INPUT, START, Host, Payload, PayloadError, host_named
from loop_close.lazy import dataclass
from loop_close.memory import TESTS
from loop_close.process import locked
from loop_close.provenance import RUNS_AGAIN
from loop_close.settings import DEFAULT_TEST_COMMAND
from loop_close.store.records import to_record
from loop_close.text import digest, fault_text, listed

if TYPE_CHECKING:
    import argparse

    from loop_close.agent.response import AnalysisResult
    from loop_close.store import RunRow
    from loop_close.store.reader import HistoryReader


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
    reply, complaint = _within(_LONGEST, lambda: _reply(host, streams.input.read(MAX_INPUT + 1)))
    if complaint:
        streams.complain(complaint)
    if complaint == _TOO_LONG:
        os._exit(0)  # the thread may hold the standard input, for which Python would wait
    if reply:
        with contextlib.suppress(OutputError, BrokenPipeError):
            streams.say(reply)
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


def _reply(host: Host, data: bytes) -> tuple[str, str]:
    payload = host.read(data)
    if payload.is_interrupted or payload.is_waiting:
        return "", ""
    project = project_at(Path(payload.cwd) if payload.cwd else Path.cwd())
    if not is_ours_to_judge(project):
        raise UsageError(f"{project.root} belongs to another user, so the hook does not answer")
    path, key = project.root / _SESSIONS, key_of(host.name, f"{payload.event} {payload.session}")
    before = sessions(path).get(key, Session())
    # Of the session as a whole, and outside of the history, which the agent may remove.
    aside, own = files.outside(project.root, "sessions"), key_of(host.name, payload.session)
    mark = (sessions(aside).get(own) if aside is not None else None) or Session()
    try:
        seen = read(project.history, lambda history: load_state(project, history, mark.known))
    except NoRunError:
        if payload.is_start and aside is not None and not mark.began:
            _keep_aside(aside, own, replace(mark, began=(_AT_START,)))
        if aside is None or not (mark.known and payload.is_stop):
            raise
        _keep_aside(aside, own, replace(mark, is_lost=True))
        return _without_history(host, payload, project, (path, key), before)
    before = replace(before, is_lost=mark.is_lost or not seen.has_known)
    began = mark.began or (_AT_START if payload.is_start else _AT_CALL, *seen.finished)
    if aside is not None and (payload.is_stop or not mark.known or not mark.began):
        now = Session(known=seen.known, is_lost=before.is_lost, began=began)
        if now != mark:
            _keep_aside(aside, own, now)
    if payload.event == START:
        return "", ""
    situation = _situation(host, payload, project, seen, before)
    if payload.is_stop and mark.began[:1] == (_AT_START,):
        situation = _with_before(situation, project, seen, mark, before)
    unknown = ""
    if payload.is_stop and project.settings.required and situation.standing == "green":
        missing, unknown = missing_sources(project, seen)
        situation = replace(situation, missing=missing and f"{missing}.")
    if payload.is_stop:
        found, update_session, complaint = _at_a_stop(
            situation, _news(payload, before), project, seen, before
        )
    else:
        found, update_session, complaint = (
            _after_a_tool(situation, is_news=seen.latest != before.run),
            before,
            "",
        )
    earlier = mark_of(payload.message) if payload.is_all_said else ""
    before = replace(before, is_lost=False)
    after = replace(
        _session_after(found, situation, replace(update_session, earlier=earlier), seen), is_lost=False
    )
    if after != before and not keep(path, key, after) and found.kind == "go_on":
        raise UsageError(f"cannot write {_SESSIONS}, so turns cannot be counted; the agent may stop")
    return _said(host, payload, found), "; ".join(filter(None, (complaint, unknown)))


_ENVIRONMENT = re.compile(r"[\w.-]+")


def _keep_aside(path: Path, key: str, session: Session) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        keep(path, key, session)


def _without_history(
    host: Host, payload: Payload, project: Project, where: tuple[Path, str], before: Session
) -> tuple[str, str]:
    """The answer where the history is gone that there was in this session, and no test has run since."""
    lost = _of_lost(project, before)
    known = Situation(command=project.settings.test_command, blocks=before.blocks, lost=lost.get("lost", ""))
    found = answer(replace(known, tampered=lost.get("tampered", "")))
    if found.kind == "go_on":
        files.state_folder(project.root)
        after = replace(before, blocks=before.blocks + 1, asked=(*before.asked, LOST), is_back=True)
        if not keep(*where, after):
            return "", ""  # turns cannot be counted
    return _said(host, payload, found), ""


def _news(payload: Payload, before: Session) -> Payload:
    """The payload without what the agent had said when it was sent back, where its host says that again."""
    return replace(payload, message=new_in(payload.message, before.earlier)) if before.earlier else payload


def _at_a_stop(
    situation: Situation, payload: Payload, project: Project, seen: ProjectState, before: Session
) -> tuple[GateAnswer, Session, str]:
    """What the agent is answered, the session with what it said, and what went wrong in asking the exit strategy.

    That is asked only where the agent would be sent back to a red run: to what may stop it has nothing to add, and
    it knows nothing of untested code.
    """
    found = answer(situation)
    if found.kind == "go_on" and not situation.blocks:
        # A run advanced: what was said before was of something else.
        before = replace(before, turns=0, responses=(), errors=())
    if found.kind != "go_on" or situation.is_stale or situation.killed or situation.standing == "green":
        return found, before, ""
    from loop_close.cli.strategies import decision_of

    said, after = update_session(before, payload.message)
    decision = decision_of(project, seen, said, before.turns + 1)
    if decision.action == "stuck":
        found = answer(replace(situation, stuck=f"{decision.strategy}: {decision.reason}"))
    return found, after, "; ".join(decision.warnings)


def _situation(
    host: Host, payload: Payload, project: Project, seen: ProjectState, before: Session
) -> Situation:
    standing = seen.standing
    has_advanced = seen.latest != before.run and standing.summary.verdict == "progress"
    breaker = standing.summary.breaker
    # Without it the search would find nothing.
    is_shown = standing.verdict != "green" and not seen.is_stale
    is_asked = project.settings.require_edits_run and _set_of(seen) not in before.asked
    situation = Situation(
        run=standing.finished.number if standing.finished is not None else standing.last.number,
        source=standing.last.source,
        standing=standing.verdict,
        is_running=seen.is_running,
        killed=standing.last.number if standing.last.state == "killed" else 0,
        stuck=(breaker.reason or "no progress") if standing.verdict == "stuck" else "",
        edited=seen.edited.paths,
        is_seen=seen.is_seen,
        is_partly_green=seen.is_partly_green,
        prompt=(prompt_text(standing.prompt, 2 * host.limit) or waiting_text(standing)) if is_shown else "",
        prompt_file=_from(payload.cwd, standing.prompt),
        command=_test_command(project, seen),
        not_run=standing.summary.not_run if is_asked else "",
        blocks=max(payload.loop_count or 0, 0 if has_advanced else before.blocks),
        # Whoever was let go is at work again because a person said something: that is another turn.
        is_again=bool(before.is_back if payload.is_again is None else payload.is_again or payload.loop_count),
        is_unmoved=before.run == seen.latest and before.code == seen.edited.state(),
    )
    if seen.tests or before.is_lost:
        return _with_tests(situation, project, seen, before)
    return situation


def _test_command(project: Project, seen: ProjectState) -> str:
    """The command that runs the tests: of the settings; for the default, of the environments that ran them."""
    command = project.settings.test_command
    names = {known.split(" ", 2)[-1] for known in seen.finished} | {seen.standing.last.source}
    tests = [name for name in sorted(names) if name.partition(":")[0] == TESTS]
    asked = seen.due or tests
    environments = dict.fromkeys(name.split(":")[1] for name in asked if ":" in name)
    is_default = command == DEFAULT_TEST_COMMAND
    if not is_default or TESTS in asked or not all(map(_ENVIRONMENT.fullmatch, environments)):
        return command
    for file, runner, separator in (("tox.ini", "tox", ","), ("noxfile.py", "nox", " ")):
        if environments and (project.root / file).is_file():
            # The plugin of tox itself reads the output of other commands.
            is_plugin = runner == "tox" and any(name.startswith("tox:") for name in asked)
            option = "--loop-close" if is_plugin else "-- --loop-close"
            return f"{runner} {RUNS_AGAIN[runner]} {separator.join(environments)} {option}"
    return command


def _with_tests(situation: Situation, project: Project, seen: ProjectState, before: Session) -> Situation:
    """With what was done to tests: in words, and as a question where that cannot be decided and was not yet asked."""
    from loop_close.progress.tampering import open_changes, tampering_in_words
    from loop_close.prompt.loop import lines_of

    found = open_changes(seen.tests)
    asked = [each for each in seen.tests if each.state == "asked" and each.fingerprint not in before.asked]
    lost = _of_lost(project, before) if before.is_lost else {}
    prompt = situation.prompt
    if found and not prompt and seen.standing.summary.verdict == "green":  # the prompt is of another source
        lines = "\n".join(lines_of(found))
        prompt = f"Tests were changed, and pass in run {situation.run} of {shown(situation.source, 80)}.\n\n{lines}"
    return replace(
        situation,
        prompt=prompt,
        tampered=tampering_in_words(found) if found else lost.get("tampered", ""),
        question="\n".join(lines_of(asked)),
        lost=lost.get("lost", ""),
    )


def _of_lost(project: Project, before: Session) -> dict[str, str]:
    """What is known of the tests where the history was taken away: how they differ from the last commit.

    Where they do not, or git cannot say, it is reported once.
    """
    from loop_close.cli.driven_tests import of_last_commit
    from loop_close.progress.tampering import open_changes, tampering_in_words
    from loop_close.prompt.loop import lines_of

    text = "The history of test runs was removed in this session: what the tests were before is not known from it."
    found = open_changes(of_last_commit(project.root).judge())
    if found:
        lines = "\n".join(lines_of(found))
        since = f"since the last commit: {tampering_in_words(found)}"
        return {"lost": f"{text} They differ from those of the last commit.\n\n{lines}", "tampered": since}
    return {"lost": text} if LOST not in before.asked else {}


def _with_before(
    situation: Situation, project: Project, seen: ProjectState, mark: Session, before: Session
) -> Situation:
    """With what is known of the failures that were there before the session."""
    if situation.standing != "failing" or situation.edited or situation.tampered or situation.killed:
        return situation
    number, tests, of = read(project.history, lambda history: _failing_since(seen, mark.began[1:], history))
    if not tests:
        return situation
    words = _before_in_words(number, tests, of, situation.source)
    if len(tests) < of:
        return replace(situation, older=words)
    return replace(situation, before=words, is_before_reported=BEFORE in before.asked)


def _failing_since(
    seen: ProjectState, before: Collection[str], history: HistoryReader
) -> tuple[int, tuple[str, ...], int]:
    """The tests that fail and had the same failure already in an earlier run of their source.

    Only for a finished run of all tests that is red because of its tests alone.

    :param before: the earlier runs, as they can be known again, at most one of each source.
    :returns: the number of the earlier run, these tests, and how many fail in all; zeros and nothing for none.
    """
    row = seen.standing.finished
    earlier = next((known for known in before if row is not None and _is_earlier(known, row)), None)
    if row is None or earlier is None or seen.standing.last is not row or not seen.is_complete:
        return 0, (), 0
    run, last = history.recorded_as(known_again(row)), history.recorded_as(earlier)
    if run is None or last is None or run.omitted_marks or run.incomplete or last.is_killed:
        return 0, (), 0
    then = {(mark.test, mark.shape) for mark in last.marks}
    newer = {m.test for m in run.marks if (m.test, m.shape) not in then and m.test not in last.known}
    failing = {mark.test for mark in run.marks}
    older = tuple(sorted(failing - newer))
    return (last.number, older, len(failing)) if older else (0, (), 0)


def _is_earlier(known: str, row: RunRow) -> bool:
    number, _, rest = known.partition(" ")
    return rest.partition(" ")[2] == row.source and int(number) < row.number


def _before_in_words(number: int, tests: Sequence[str], of: int, source: str) -> str:
    named = listed(tests, _MOST_NAMED, lambda test: shown(test, 160))
    if len(tests) < of:
        began = f"before this session began (run {number} of {shown(source, 80)})"
        return f"{len(tests)} of the {of} failing tests failed {began}: {named}."
    which = "This failure was" if len(tests) == 1 else f"These {len(tests)} failures were"
    return f"{which} there before this session began (run {number} of {shown(source, 80)}): {named}."


def _set_of(seen: ProjectState) -> str:
    """A digest of the edited functions that no test ran."""
    ran = seen.standing.summary.edits_run
    return key_of("", repr(ran.not_run)) if ran is not None else ""


def _from(folder: str, prompt: Path | None) -> str:
    return os.path.relpath(prompt, folder or None) if prompt is not None else ""


def _after_a_tool(situation: Situation, *, is_news: bool) -> GateAnswer:
    """What the agent may read beside a tool's result: the prompt of a red run, once."""
    if not is_news or situation.is_stale or situation.standing == "green":
        return GateAnswer(kind="nothing")
    found = answer(replace(situation, stuck="", blocks=0))
    return found if found.kind == "go_on" else GateAnswer(kind="nothing")


def _session_after(found: GateAnswer, situation: Situation, before: Session, seen: ProjectState) -> Session:
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
    return replace(before, is_back=False, earlier="")


def _said(host: Host, payload: Payload, found: GateAnswer) -> str:
    if found.kind == "nothing":
        return ""
    if not payload.is_stop:
        return host.inform(payload, found.text)
    return host.end(payload, found.text) if found.kind == "end" else host.go_on(payload, found.text)


# As many as the analyzer looks back on, of which the one that is said now is the last.
_RESPONSES = 2
_ERRORS = 10
_MAX_MESSAGE = 50_000  # of a message, whose end counts
_LONGEST_RESPONSE = 500
_LONGEST_ERROR = 300


def update_session(before: Session, message: str) -> tuple[AnalysisResult, Session]:
    """The analysis of the agent's last message after those before it, and the updated session.

    :param message: empty if the host does not say: then nothing is known, and nothing new kept.
    """
    from loop_close.agent.response import AnalysisContext, AnalysisResult

    message = message[-_MAX_MESSAGE:]
    if not message.strip():
        return AnalysisResult(), before
    from loop_close.agent.analyzer import ResponseAnalyzer  # late: it has many patterns to compile

    after = _with(before, message)
    context = AnalysisContext(
        iteration=before.turns + 1, previous_responses=before.responses, error_history=after.errors
    )
    return ResponseAnalyzer().analyze(message, context), after


def _with(before: Session, message: str) -> Session:
    from loop_close.agent.analyzer import error_pattern, errors_in
    from loop_close.agent.response import read_response
    from loop_close.text.redact import clean

    said = read_response(message)
    error = error_pattern("\n".join(errors_in(said.lines)))
    # Before it is cut: the end of many an answer is nothing but test output.
    response = clean(message[-_LONGEST_RESPONSE:], _LONGEST_RESPONSE) if said.is_test_only else ""
    return replace(
        before,
        responses=(*before.responses, response)[-_RESPONSES:],
        errors=(*before.errors, clean(error, _LONGEST_ERROR))[-_ERRORS:],
    )


# --- the sessions of agents, in a small file beside the history

_SCHEMA = "loop-close.sessions/1"
_LOCK = "sessions.lock"
_MOST = 100
_LARGEST = 1_000_000
_RUN = re.compile(r"[0-9]{1,15} [0-9]{1,15}(?:\.[0-9]{1,20})? .{1,400}", re.DOTALL)
_MARK = re.compile(r"([0-9]{1,9} [0-9a-f]{16})?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What is kept of one session of an agent.

    :ivar blocks: how often in a row it was sent back; ``run`` names the last run then, ``code`` is a digest of the
        files then.
    :ivar turns: how often it was sent back since it was last allowed to stop.
    :ivar is_back: it was sent back when it last wanted to stop.
    :ivar earlier: length and digest of all its output until then, if its host repeats all of it; else empty.
    :ivar responses: its messages over the last red runs, the oldest first: the end of those that are only test output,
        empty for the others.
    :ivar errors: the error that each of them reports, values masked; empty for none.
    :ivar asked: digests of the sets of functions for which it was sent back, as no test ran them, and fingerprints of
        the changes to tests that were reported to it.
    :ivar known: number, start and source of the last run that was seen; ``is_lost``: the history no longer has that
        run. Both are kept only outside of the project, for the session as a whole.
    :ivar began: how the start of the session is known, then the last run of each source until then; kept like
        ``known``. Empty if that was not recorded yet.
    """

    blocks: int = 0
    run: str = ""
    code: str = ""
    turns: int = 0
    is_back: bool = False
    earlier: str = ""
    responses: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    known: str = ""
    is_lost: bool = False
    began: tuple[str, ...] = ()


def key_of(host: str, session: str) -> str:
    """The key of a session: a digest, as the name may be any text, and private."""
    return digest(host, session)


def mark_of(message: str) -> str:
    """The length and a digest of a text, by which its beginning is recognized again."""
    return f"{len(message)} {key_of('', message)}"


def new_in(message: str, mark: str) -> str:
    """The lines that were added to a text since :func:`mark_of` returned ``mark``; else the whole text."""
    length = int(mark.partition(" ")[0] or 0)
    is_same = mark_of(message[:length]) == mark and message[length : length + 1] in ("", "\n")
    return message[length + 1 :] if is_same else message


def sessions(path: Path) -> dict[str, Session]:
    """The sessions by key, the latest last; none if the file is missing or damaged."""
    try:
        if not path.is_file():  # a pipe would block the reader
            return {}
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1)
        found = json.loads(text)["sessions"] if len(text) <= _LARGEST else {}
        return {str(key): _session(value) for key, value in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _session(value: Mapping[str, object]) -> Session:
    session = to_record(Session, value)
    is_whole = {"blocks", "run", "code"} <= value.keys()
    if not (is_whole and _MARK.fullmatch(session.earlier) and all(map(_RUN.fullmatch, session.began[1:]))):
        raise ValueError
    return session


def keep(path: Path, key: str, session: Session) -> bool:
    """Save a session as the latest, and drop the oldest; waits for other processes that do the same.

    :returns: whether it could be written.
    """
    if path.parent.is_symlink():  # its target may be anything
        return False
    try:
        with locked(path.with_name(_LOCK)):
            known = sessions(path)
            known.pop(key, None)  # the latest comes last
            files.write_private(path, _text({**known, key: session}))
    except OSError:
        return False
    return True


def _text(known: dict[str, Session]) -> str:
    """The file's text; the oldest sessions are left out, until the text is as short as the file may be."""
    kept = {name: asdict(session) for name, session in list(known.items())[-_MOST:]}
    text = json.dumps({"schema": _SCHEMA, "sessions": kept}, indent=1)
    if len(text) < _LARGEST or len(kept) == 1:
        return f"{text}\n"
    return _text(dict(list(known.items())[-len(kept) // 2 :]))


def host_called(name: str) -> Host:
    """The host of that name.

    :raises UsageError: when there is none.
    """
    try:
        return host_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
