"""Decides whether an agent that wants to stop may stop, and what its host is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loop_close.text import one_line

#: ``nothing``: let it stop. ``go_on``: it is to read the text and work on. ``end``: the loop is over, for a person.
AnswerKind = Literal["nothing", "go_on", "end"]

#: So often in a row an agent is sent back, as long as no run in between advanced.
CAP = 5
_NAMED = 3
#: Why an agent is sent back that edited functions that no test runs.
NOT_RUN = "edited functions were not run"
#: Why it is sent back if tests were changed, and it cannot be decided whether they still demand the same.
ASKED = "tests were changed"
#: Why it may stop if all that fails failed before its session.
BEFORE = "failures of before the session"
#: Why it is sent back if the history of runs was removed.
LOST = "the history of runs was removed"


@dataclass(frozen=True, kw_only=True, slots=True)
class GateAnswer:
    """The answer to the host.

    :ivar text: facts for the agent (``go_on``) or for the person (``end``).
    :ivar why: for a log, in a few words.
    """

    kind: AnswerKind
    text: str = ""
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What is known when an agent wants to stop.

    :ivar run: the number of the last run, 0 if none is remembered; ``source`` whose.
    :ivar standing: ``green``, ``failing`` or ``stuck``.
    :ivar is_running: a run is in progress, and its result is unknown.
    :ivar killed: the number of the source's last run if that was killed before its end; else 0.
    :ivar stuck: why the loop is to end (the breaker, or an exit strategy); empty if it is not.
    :ivar edited: project files that differ from what the last run saw, by path; None if it is unknown.
    :ivar prompt: the next prompt; ``prompt_file`` is its path.
    :ivar command: what runs the tests.
    :ivar blocks: how often in a row the agent was sent back in this session.
    :ivar not_run: which edited functions no test ran, in words; empty if that is not reported.
    :ivar tampered: what was done to tests and is neither undone nor accepted, in words; empty for nothing.
    :ivar question: about changes to tests that cannot be decided, for once; empty if there is none.
    :ivar lost: what is known if the history was removed while the agent was at work; empty if it was not.
    :ivar before: that all failures were there before the session, in words; empty if it did not. ``is_before_told``:
        the agent was sent back for it.
    :ivar is_again: it only goes on because it was sent back; ``is_unmoved``: no run and no edit since.
    """

    run: int = 0
    source: str = ""
    standing: str = "green"
    is_running: bool = False
    killed: int = 0
    stuck: str = ""
    edited: Sequence[str] | None = None
    prompt: str = ""
    prompt_file: str = ""
    command: str = "pytest --loop-close"
    blocks: int = 0
    not_run: str = ""
    tampered: str = ""
    question: str = ""
    lost: str = ""
    before: str = ""
    is_before_told: bool = False
    is_again: bool = False
    is_unmoved: bool = False


def answer(situation: Situation) -> GateAnswer:
    """The answer to the host: nothing if the agent may stop. The first rule that applies decides.

    - Nothing is remembered, or a run is under way: the agent may stop.
    - The loop is stuck, and nothing was edited since: it ends.
    - All that fails failed before the session, and the agent knows: it may stop, and the person is informed.
    - It was sent back as often as the cap says, or did nothing since it was sent back: it may stop, as a gate has to
      end by itself. A person then gets the changes to tests.
    - The history was removed, the last run was killed, or files were edited since: it gets the command.
    - The last run is red, or tests were tampered with: it gets the next prompt.
    - The last run is green, and changed tests may demand less: it is asked.
    - The last run is green, and no test ran some of the edited functions: it gets their names.
    """
    if not situation.run and not situation.lost:
        return GateAnswer(kind="nothing", why="no runs recorded")
    if situation.is_running:
        return GateAnswer(kind="nothing", why="a run is in progress")
    if situation.stuck and not situation.edited:
        return GateAnswer(kind="end", text=_stuck(situation), why="the loop is stuck")
    if situation.before and situation.is_before_told:
        return GateAnswer(kind="end", text=f"loop-close: {situation.before}", why=BEFORE)
    if situation.blocks >= CAP:
        return _let_go(situation, f"sent back {situation.blocks} times in a row")
    if situation.is_again and situation.is_unmoved:
        return _let_go(situation, "no run and no edit since it was sent back")
    if situation.lost:
        text = f"{situation.lost}\n\nTo run the tests: {one_line(situation.command, 300)}"
        return GateAnswer(kind="go_on", text=text, why=LOST)
    if situation.killed:
        return GateAnswer(kind="go_on", text=_killed(situation), why="the last run was killed")
    if situation.edited:
        return GateAnswer(kind="go_on", text=_stale(situation), why="edited since the last run")
    if situation.standing != "green":
        return GateAnswer(kind="go_on", text=_red(situation), why="the last run is red")
    if situation.question:
        return GateAnswer(kind="go_on", text=f"The tests pass.\n\n{situation.question}", why=ASKED)
    if situation.not_run:
        return GateAnswer(kind="go_on", text=f"The tests pass. {situation.not_run}", why=NOT_RUN)
    return GateAnswer(kind="nothing", why="green, no edits since")


def _let_go(situation: Situation, why: str) -> GateAnswer:
    """Let it stop, with a message to a person about what was done to tests."""
    if not situation.tampered or situation.edited:
        return GateAnswer(kind="nothing", why=why)
    text = (
        f"loop-close: tests are not what they were when the loop began ({one_line(situation.tampered, 500)})."
        " A person decides: loop-close accept shows the changes, and accepts them."
    )
    return GateAnswer(kind="end", text=text, why=why)


def _stuck(situation: Situation) -> str:
    return f"loop-close: the loop is stuck ({one_line(situation.stuck, 300)}). {_where(situation)}"


def _killed(situation: Situation) -> str:
    return (
        f"Run {situation.killed} of {one_line(situation.source, 80)} was killed before it finished, so the result"
        f" of the current code is unknown. To run the tests: {one_line(situation.command, 300)}"
    )


def _stale(situation: Situation) -> str:
    edited = sorted(situation.edited or ())
    named = ", ".join(one_line(path, 120) for path in edited[:_NAMED])
    more = f" and {len(edited) - _NAMED} more" if len(edited) > _NAMED else ""
    return (
        f"The tests have not run since the last edit: {named}{more} changed after the last run. Its result does not"
        f" apply to the current code. To run the tests: {one_line(situation.command, 300)}"
    )


def _red(situation: Situation) -> str:
    """The prompt, the file's path last; where the prompt is gone, what is known of the run."""
    about = (
        situation.prompt.strip() or f"Run {situation.run} of {one_line(situation.source, 80)} has failures."
    )
    before = f"{situation.before}\n\n" if situation.before else ""
    return f"{before}{about}\n\n{_where(situation)}"


def _where(situation: Situation) -> str:
    return f"Full report: {one_line(situation.prompt_file, 300)}" if situation.prompt_file else ""
