"""A result of a tool, and the values by which it is compared with others."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from loop_close.memory import Breaker, ChangedTest, Progress, Step
from loop_close.model import Failure, Raised, Verdict
from loop_close.progress.fingerprints import is_infrastructure
from loop_close.progress.steps import attempts
from loop_close.progress.tampering import KINDS, open_changes
from loop_close.text.normalize import stabilize
from loop_close.text.sanitize import one_line, sanitize

#: What a result says: a plain success or error; of no progress, or of some; or the machine failed.
Kind = Literal["success", "error", "stalled", "advanced", "machine"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What a tool gave back.

    :ivar tool: its name.
    :ivar input: what it was called with, as JSON has it.
    :ivar content: a text; the content blocks of MCP, of which the texts are joined; or any JSON.
    :ivar meta: MCP's ``_meta``.
    """

    tool: str
    input: Any = None
    content: Any = ""
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """What a result is compared by.

    :ivar mark: equal for results that say the same of the tool: of errors the content, of successes the input, too,
        of what is marked as not advancing the input alone, folded.
    :ivar content: equal for equal content, whatever the input.
    """

    kind: Kind
    mark: str
    content: str


def fingerprint(result: ToolResult) -> Fingerprint:
    """The result by its whole content, without what differs from call to call: times, addresses, uuids.

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
    """The text of a result's content; whatever is no text, as JSON with its keys in order."""
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
    """What the result's marks say of it; only where there are none, what its text says."""
    meta = result.meta or {}  # a host may send null
    if any(meta.get(key) is True for key in INFRASTRUCTURE_KEYS):
        return "machine"
    if any(meta.get(key) is True for key in NON_ADVANCING_KEYS):
        return "stalled"
    if meta.get(OWN_KEY) is False:
        return "advanced"
    if not result.is_error:
        return "success"
    return "machine" if is_of_machine(text) else "error"


def _json(value: Any, *, is_folded: bool = False) -> str:
    """The value as JSON, keys in order; folded: strings without case, and with single spaces."""
    try:
        return json.dumps(_plain({} if value is None else value, is_folded), sort_keys=True)
    except (ValueError, RecursionError):  # numbers of thousands of digits; no end of nesting
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


# Whether an error of a tool is the machine's: then it says nothing of the tool.

# What went wrong is said in the first lines, or, by a traceback, in the last.
_END = 1_000

_SAID = re.compile(
    r"\bE(?:CONNRESET|CONNREFUSED|CONNABORTED|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE|HOSTUNREACH|NETUNREACH|NOSPC|DQUOT|MFILE)\b"
    r"|\btimed[ -]?out\b|\bdeadline exceeded\b|(?:^|: )timeout\W*$|\bTimeout(?:Error|Exception|Expired)\b"
    r"|\b(?:connect|connection|read|write|pool|gateway|request|operation)[ -]?time-?out\b"
    r"|\btime-?out (?:of|after|exceeded|expired|reached|while|waiting)\b"
    r"|\bconnection (?:was |has been )?(?:reset|refused|aborted|closed|lost)\b|\bsocket hang up\b|\bfetch failed\b"
    r"|\bConnection(?:Reset|Refused|Aborted|Error)|\bbroken ?pipe|\bserver disconnected\b"
    r"|\brate[ _-]?limit(?:ed|[ _](?:error|exceeded|reached|hit))\b|\bexceed(?:ed|s)? [^\n]{0,40}\brate limit"
    r"|\btoo many requests\b|\bthrottl(?:ed|ing)|\boverloaded_error\b|(?:^|: | is )(?:currently )?overloaded\W*$"
    r"|\b(?:bad gateway|service (?:temporarily )?unavailable|internal server error)\b"
    r"|(?:\b(?:HTTP(?:/[\d.]+)?|status(?:[ _]?code)?|error code)|\b(?:HTTP|API|Axios|Server|Fetch)Error)"
    r"\W{0,3}(?:429|5\d\d)\b|\berror (?:429|5\d\d)\b",
    re.IGNORECASE | re.MULTILINE,
)
# The words of a test that failed: what it says of time limits or statuses is about the program.
_VERDICT = re.compile(r"(?i:\bassert(?:ion\w*)?\b)|\bFAILED\b|^FAIL: ", re.MULTILINE)


def is_of_machine(text: str) -> bool:
    """Whether another call, with nothing changed, may well succeed.

    Time limits, lost and refused connections, rate limits, statuses 429 and 5xx, a full disk.

    :param text: what the error said.
    """
    ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    if _VERDICT.search(ends):
        return False
    return _SAID.search(ends) is not None or is_infrastructure("", _as_failure(ends))


def _as_failure(text: str) -> Failure:
    """The text as if the system had said it: a record that the rule for runs of tests can read."""
    raised = Raised(type="OSError", message=text)
    return Failure(nodeid="", phase="process", message=text, raised=raised)


# Whether a result of ours shows progress, and the keys by which results say so.

#: In the ``_meta`` of a tool's result, with the value true: it made no progress. The first is that of
#: nimblebrain's loop brake, the second our own. Our own with the value false: it did make progress.
NON_ADVANCING_KEYS = ("ai.nimblebrain/non-advancing", "dev.loop-close/non-advancing")
OWN_KEY = NON_ADVANCING_KEYS[1]
#: With the value true: the machine failed, the result tells nothing of the tool.
INFRASTRUCTURE_KEYS = ("ai.nimblebrain/infra-error", "dev.loop-close/infrastructure")


def is_non_advancing(progress: Progress | None) -> bool:
    """Whether the loop stands still after a run, by what the memory knows and not by any text.

    :param progress: what the run came to; None where nothing is remembered, of which nothing can be said.
    :returns: False for a run after which nothing fails, for one that advanced, for the first attempt of an
        episode, and for what the machine failed. True for an attempt that did not advance, and for any look at
        the failures while the breaker is open.
    """
    if progress is None or not progress.step.unresolved or progress.step.advanced:
        return False
    if _is_of_machine(progress.step):
        return False
    if progress.breaker.state == "open":
        return True
    return progress.step.is_counted and len(attempts(progress.episode.steps)) > 1


def progress_meta(progress: Progress | None, *, is_green: bool) -> dict[str, bool]:
    """What to put into the ``_meta`` of a result that reports a run, for a supervisor of ours or another.

    :param is_green: what the run itself came to: one may be red without a failure that is known by name.
    :returns: both keys with true where the loop stands still; our own with false where it advanced or nothing
        fails; the key for the machine's faults; nothing where there is nothing to say.
    """
    if is_non_advancing(progress):
        return dict.fromkeys(NON_ADVANCING_KEYS, True)
    if progress is None or not (is_green or progress.step.unresolved):
        return {}
    if progress.step.unresolved and _is_of_machine(progress.step):
        return dict.fromkeys(INFRASTRUCTURE_KEYS, True)
    return {OWN_KEY: False} if progress.step.advanced or not progress.step.unresolved else {}


def _is_of_machine(step: Step) -> bool:
    return step.is_killed or (bool(step.infrastructure) and not step.is_counted)


# What a run of the tests came to, as a loop judges it.

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


# How many tests fail from run to run of a loop, and for how many turns that did not get better.

_COUNTS = 1_000


class Trend:
    """The counts of a loop's own runs: an agent also runs tests by itself, and the history counts those, too.

    :ivar failing: how many tests failed after each run of which that is known.
    :ivar vain: turns in a row after which no fewer tests failed than ever before.
    :param patience: such turns before which an open breaker is a half open one.
    """

    def __init__(self, patience: int, failing: Sequence[int] = (), vain: int = 0) -> None:
        self._patience = patience
        self.failing = list(failing)[-_COUNTS:]
        self.vain = vain

    def moved(self, outcome: RunOutcome, *, is_turn: bool) -> RunOutcome:
        """The outcome of the next run, as far as the loop got with it.

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
