"""What a run of the tests came to, as a loop judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loop_close.memory import Breaker, Tampering
from loop_close.model import Verdict

_CLOSED = Breaker()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutcome:
    """What a run of the tests came to.

    :ivar verdict: of the worst of its sources; None where nothing is known of the run.
    :ivar failing: how many tests were left failing.
    :ivar is_complete: it came to its end.
    :ivar is_edited: the program was edited since the run before; ``has_advanced``: the run advanced.
    :ivar tampered: what was done to tests so that they no longer fail, by node id.
    :ivar causes: what each root cause is, by its id, the first to fix first.
    :ivar state: a digest of what fails; ``meta``: whether the loop stands still, by the keys of results.
    :ivar prompt: the next prompt.
    """

    verdict: Verdict | None = None
    failing: int = 0
    is_complete: bool = False
    is_edited: bool = False
    has_advanced: bool = False
    tampered: Mapping[str, Tampering] = field(default_factory=dict)
    breaker: Breaker = _CLOSED
    causes: Mapping[str, str] = field(default_factory=dict)
    state: str = ""
    meta: Mapping[str, bool] = field(default_factory=dict)
    prompt: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether it is known how many tests fail: of a run that failed without naming one it is not."""
        return self.verdict == "green" or self.failing > 0
