"""What a run of the tests came to, as a loop judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loop_close.agent.tool_results import ToolResult
from loop_close.memory import Breaker, ChangedTest
from loop_close.model import Verdict
from loop_close.progress.tampering import KINDS, open_changes
from loop_close.text.sanitize import one_line

_CLOSED = Breaker()
_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutcome:
    """What a run of the tests came to.

    :ivar verdict: of the worst of its sources; None where nothing is known of the run.
    :ivar failing: how many tests were left failing.
    :ivar is_complete: it came to its end.
    :ivar is_edited: the program was edited since the run before; ``has_advanced``: the run advanced.
    :ivar tests: what was done to tests since the loop began; ``changes`` the same as Markdown.
    :ivar not_run: how many tests failed before in this loop and did not run now.
    :ivar missing: how many tests fewer ran than in runs before, where that is all that tells of it.
    :ivar causes: what each root cause is, by its id, the first to fix first.
    :ivar state: a digest of what fails; ``meta``: whether the loop stands still, by the keys of results.
    :ivar prompt: the next prompt.
    :ivar attempts: what was edited before each run of the loop and what it changed, a line each, the oldest first.
    :ivar edits_not_run: which edited functions no test of a green run ran, in words; empty for none.
    """

    verdict: Verdict | None = None
    failing: int = 0
    is_complete: bool = False
    is_edited: bool = False
    has_advanced: bool = False
    tests: tuple[ChangedTest, ...] = ()
    changes: str = ""
    missing: int = 0
    not_run: int = 0
    breaker: Breaker = _CLOSED
    causes: Mapping[str, str] = field(default_factory=dict)
    state: str = ""
    meta: Mapping[str, bool] = field(default_factory=dict)
    prompt: str = ""
    attempts: tuple[str, ...] = ()
    edits_not_run: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether it is known how many tests fail: of a run that names none it is not, unless it is green as it was."""
        return self.failing > 0 or (self.verdict == "green" and not self.doubt)

    @property
    def doubt(self) -> str:
        """What was done to tests, in words; empty where all of it is undone, accepted, or was asked about."""
        changed = open_changes(self.tests)
        named = [f"{KINDS.get(each.kind, 'changed')}: {one_line(each.id, 120)}" for each in changed]
        more = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
        fewer = (
            [f"{self.missing} fewer test{'s' * (self.missing != 1)} ran than before"] if self.missing else []
        )
        return ", ".join((*named[:_NAMED], *more, *fewer))


def result_of(outcome: RunOutcome, tool: str, turn: int) -> ToolResult:
    """The run as the result of a tool, for a supervisor.

    A task may take many green runs: only those over code that nobody edited are alike, and those that prove nothing.

    :param turn: the number of the turn, by which others differ.
    """
    told = f"{outcome.verdict} {outcome.state} {outcome.doubt}"
    if outcome.verdict != "green" or outcome.doubt:
        meta = {} if outcome.verdict == "green" else outcome.meta
        return ToolResult(tool=tool, content=told, is_error=True, meta=meta)
    return ToolResult(tool=tool, content=f"{told} {turn if outcome.is_edited or not turn else ''}")
