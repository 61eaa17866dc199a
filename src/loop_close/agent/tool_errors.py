"""Whether an error of a tool is the machine's: then it says nothing of the tool."""

from __future__ import annotations

import re

from loop_close.model import Failure, Raised
from loop_close.progress.fingerprints import is_infrastructure

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
