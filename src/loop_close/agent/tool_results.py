"""Results of tools and of test runs: what they are compared by, and whether they advance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from loop_close.memory import Breaker, ChangedTest, Progress, Step
from loop_close.model import Verdict
from loop_close.progress.fingerprints import is_infrastructure_text
from loop_close.progress.steps import attempts
from loop_close.progress.tampering import KINDS, open_changes
from loop_close.text.normalize import stabilize
from loop_close.text.sanitize import one_line, sanitize

#: A plain success or error; marked as no progress, or as progress; or an infrastructure failure.
Kind = Literal["success", "error", "stalled", "advanced", "infrastructure"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """The result of a tool call.

    :ivar tool: its name.
    :ivar input: the arguments of the call, as JSON values.
    :ivar content: a text; the content blocks of MCP, of which the texts are joined; or any JSON value.
    :ivar meta: MCP's ``_meta``.
    """

    tool: str
    input: Any = None
    content: Any = ""
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """What results are compared by.

    :ivar mark: equal for equal results of the tool: errors by content, successes by content and input, results marked
        as not advancing by folded input alone.
    :ivar content: equal for equal content, whatever the input.
    """

    kind: Kind
    mark: str
    content: str


def fingerprint(result: ToolResult) -> Fingerprint:
    """The fingerprint of a result: its whole content without volatile values such as times, addresses and uuids.

    The kinds of marks are those of nimblebrain's loop brake.
    """
    text = sanitize(content_text(result.content))
    kind = _kind(result, text)
    content = _digest(stabilize(text).strip())
    if kind == "stalled":
        mark = f"n:{_digest(_json(result.input, is_folded=True))}"
    elif result.is_error:
        mark = f"e:{content}"
    else:
        mark = f"s:{_digest(content, _json(result.input))}"
    return Fingerprint(kind=kind, mark=mark, content=content)


def content_text(content: Any) -> str:
    """The text of a result's content; other values as JSON with sorted keys."""
    if content is None or isinstance(content, str):
        return content or ""
    blocks = content if isinstance(content, list | tuple) else (content,)
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return _json(block)


def _kind(result: ToolResult, text: str) -> Kind:
    """The kind by the marks of the result; without marks, by its text."""
    meta = result.meta or {}  # a host may send null
    if any(meta.get(key) is True for key in INFRASTRUCTURE_KEYS):
        return "infrastructure"
    if any(meta.get(key) is True for key in NON_ADVANCING_KEYS):
        return "stalled"
    if meta.get(OWN_KEY) is False:
        return "advanced"
    if not result.is_error:
        return "success"
    return "infrastructure" if is_infrastructure_text(text) else "error"


def _json(value: Any, *, is_folded: bool = False) -> str:
    """The value as JSON with sorted keys; folded: strings in one case, with single spaces."""
    try:
        return json.dumps(_plain({} if value is None else value, is_folded), sort_keys=True)
    except (ValueError, RecursionError):  # numbers of thousands of digits; endless nesting
        return f"a {type(value).__name__} that JSON cannot hold"


def _plain(value: Any, is_folded: bool) -> Any:
    if isinstance(value, str):
        return " ".join(value.casefold().split()) if is_folded else value
    if isinstance(value, Mapping):
        return {str(key): _plain(each, is_folded) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, is_folded) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return stabilize(repr(value))


def _digest(*parts: str) -> str:
    text = "\0".join(parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


#: Keys in the ``_meta`` of a tool's result. True: it made no progress. The first key is that of nimblebrain's loop
#: brake, the second our own. Our own with the value false: it made progress.
NON_ADVANCING_KEYS = ("ai.nimblebrain/non-advancing", "dev.loop-close/non-advancing")
OWN_KEY = NON_ADVANCING_KEYS[1]
#: True: an infrastructure failure, which tells nothing about the tool.
INFRASTRUCTURE_KEYS = ("ai.nimblebrain/infra-error", "dev.loop-close/infrastructure")


def is_non_advancing(progress: Progress | None) -> bool:
    """Whether a run made no progress, by the history and not by any text.

    :param progress: of the run; None if it was not recorded.
    :returns: False if nothing fails, if the run advanced, for the first attempt of an episode, and for infrastructure
        failures. True for an attempt that did not advance, and for any run while the breaker is open.
    """
    if progress is None or not progress.step.unresolved or progress.step.advanced:
        return False
    if _failed_by_infrastructure(progress.step):
        return False
    if progress.breaker.state == "open":
        return True
    return progress.step.is_counted and len(attempts(progress.episode.steps)) > 1


def progress_meta(progress: Progress | None, *, is_green: bool) -> dict[str, bool]:
    """The ``_meta`` of a result that reports a run, for our supervisor or another one.

    :param is_green: of the run itself: a run may be red without a failure that is known by name.
    :returns: both keys with true if the run made no progress; our own with false if it advanced or nothing fails; the
        infrastructure keys with true for an infrastructure failure; else nothing.
    """
    if is_non_advancing(progress):
        return dict.fromkeys(NON_ADVANCING_KEYS, True)
    if progress is None or not (is_green or progress.step.unresolved):
        return {}
    if progress.step.unresolved and _failed_by_infrastructure(progress.step):
        return dict.fromkeys(INFRASTRUCTURE_KEYS, True)
    return {OWN_KEY: False} if progress.step.advanced or not progress.step.unresolved else {}


def _failed_by_infrastructure(step: Step) -> bool:
    return step.is_killed or (bool(step.infrastructure) and not step.is_counted)


_CLOSED = Breaker()
_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutcome:
    """The outcome of a test run, as the loop needs it.

    :ivar verdict: of the worst of its sources; None if nothing is known of the run.
    :ivar failing: number of failing tests.
    :ivar is_complete: the run was finished.
    :ivar is_edited: the program was edited since the run before; ``has_advanced``: the run advanced.
    :ivar tests: changes to tests since the loop began; ``changes``: the same as Markdown.
    :ivar not_run: number of tests that failed before in this loop and did not run now.
    :ivar missing: how many fewer tests ran than before, if nothing else reports them.
    :ivar causes: description of each root cause by its id, the first to fix first.
    :ivar state: a digest of the failures; ``meta``: whether the run made progress, by the keys of results.
    :ivar prompt: the next prompt.
    :ivar attempts: the edits before each run of the loop and their effect, one line each, the oldest first.
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
        """Whether the number of failing tests is known: the run names some, or is green with unchanged tests."""
        return self.failing > 0 or (self.verdict == "green" and not self.doubt)

    @property
    def doubt(self) -> str:
        """Open changes to tests, in words; empty if each is undone, accepted, or was asked about."""
        changed = open_changes(self.tests)
        named = [f"{KINDS.get(each.kind, 'changed')}: {one_line(each.id, 120)}" for each in changed]
        more = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
        fewer = (
            [f"{self.missing} fewer test{'s' * (self.missing != 1)} ran than before"] if self.missing else []
        )
        return ", ".join((*named[:_NAMED], *more, *fewer))


def result_of(outcome: RunOutcome, tool: str, turn: int) -> ToolResult:
    """The run as the result of a tool, for the supervisor.

    A task may take many green runs: they are equal only over unedited code, or with changed tests.

    :param turn: the number of the turn, which makes all other green runs different.
    """
    told = f"{outcome.verdict} {outcome.state} {outcome.doubt}"
    if outcome.verdict != "green" or outcome.doubt:
        meta = {} if outcome.verdict == "green" else outcome.meta
        return ToolResult(tool=tool, content=told, is_error=True, meta=meta)
    return ToolResult(tool=tool, content=f"{told} {turn if outcome.is_edited or not turn else ''}")


_COUNTS = 1_000


class Trend:
    """Failure counts of the loop's own runs; the history also has runs that the agent made by itself.

    :ivar failing: number of failing tests after each run, where it is known.
    :ivar vain: turns in a row without a new minimum of failing tests.
    :param patience: such turns that are allowed before an open breaker counts as open.
    """

    def __init__(self, patience: int, failing: Sequence[int] = (), vain: int = 0) -> None:
        self._patience = patience
        self.failing = list(failing)[-_COUNTS:]
        self.vain = vain

    def moved(self, outcome: RunOutcome, *, is_turn: bool) -> RunOutcome:
        """Record the next run, and correct its outcome by the counts of the loop.

        :param is_turn: the agent had a turn before it.
        """
        best = min(self.failing, default=None)
        is_better = outcome.is_counted and (best is None or outcome.failing < best)
        if outcome.is_counted:
            self.failing = [*self.failing, outcome.failing][-_COUNTS:]
        self.vain = 0 if is_better else self.vain + is_turn
        if is_better and best is not None:
            outcome = replace(outcome, has_advanced=True, meta={OWN_KEY: False})
        if outcome.breaker.state == "open" and self.vain < self._patience:
            outcome = replace(outcome, breaker=replace(outcome.breaker, state="half_open"))
        return outcome
