"""Whether a log says itself that all is well: for logs whose exit code is not known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loop_close.readers.contract import Reading

#: Stands in a text for a tool's whole output that was read; no text has it, for sanitizing takes it out.
MARK = "\0"
_SAMPLE = 200_000
# What tools say last when they found nothing, of those that no reader reports on then.
_GREEN = re.compile(
    r"(?:All checks passed!|\d{1,7} files? already formatted|\s*INFO 0 errors(?: \([^\n]{1,200}\))?"
    r"| {2}congratulations :\)(?: \([\d.]{1,12} seconds\))?"
    r"|Required test coverage of [\d.]{1,9}% reached\.[^\n]{0,100})\Z"
)
# Lines that a failed command leaves whatever the command was.
_RED = re.compile(
    r"^(?:##\[error\]|Error: |ERROR: |error: |FAIL\b|FAILED\b|--- FAIL|npm ERR!|\s{0,8}E {3}|Killed$"
    r"|[^\n]{0,200}(?:\bmake(?:\[\d{1,4}\])?: \*\*\* |\bexit(?:ed)?(?: with)?(?: status| code):? [1-9]"
    r"|\bmaximum allowed warnings exceeded|\bFAILED\b|\.Failed$|\bfailed[.:!]?$|would be reformatted))",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """A text that was read.

    :ivar rest: what no reader knows, with :data:`MARK` where a tool's whole output stood.
    :ivar is_traceback: a traceback is printed in it.
    """

    readings: tuple[Reading, ...]
    rest: str
    is_traceback: bool = False


def is_good_news(logs: Sequence[Log]) -> bool:
    """Whether one of the logs ends in the summary of a tool that found nothing, and none tells of a failure.

    Anything after that summary may be what went wrong, in words that no reader knows.
    """
    if any(reading.failures or reading.incomplete for log in logs for reading in log.readings):
        return False
    return any(map(_ends_well, logs)) and not any(_RED.search(log.rest) for log in logs)


def _ends_well(log: Log) -> bool:
    behind = log.rest[-_SAMPLE:].rpartition(MARK)
    if behind[1] and not behind[2].strip():
        return True
    return _GREEN.match(log.rest[-_SAMPLE:].rstrip().rpartition("\n")[2]) is not None
