"""Which errors of a tool are the machine's."""

from __future__ import annotations

import re

from loop_close import lazy
from loop_close.facts import COLLECTIONS_DIFFER
from loop_close.keys import OF_SYSTEM

#: What only the error of a tool shows: for a test, it may be the behavior of the program.
_OF_TOOLS = lazy.pattern(
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
# The words of a failed test, which reports time limits or statuses of the program.
_OF_A_TEST = lazy.pattern(r"(?i:\bassert(?:ion\w*)?\b)|\bFAILED\b|^FAIL: ", re.MULTILINE)
# The first lines say what went wrong, or the last ones in a traceback.
_END = 1_000


def is_infrastructure_text(text: str) -> bool:
    """Whether the error of a tool shows an infrastructure failure, so that the same call may well succeed later.

    Time limits, lost and refused connections, rate limits, statuses 429 and 5xx, a full disk.
    """
    ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    patterns = (_OF_TOOLS, OF_SYSTEM, COLLECTIONS_DIFFER)
    return not _OF_A_TEST.search(ends) and any(each.search(ends) for each in patterns)
