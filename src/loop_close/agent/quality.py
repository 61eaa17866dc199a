"""How much a response says, and how specific it is."""

from __future__ import annotations

import re

from loop_close.agent.response import Response
from loop_close.agent.work import FILE

#: So many different words make a full report.
_WORDS = 40
_LOOKED_AT = 20_000
_WORD = re.compile(r"[\w']{2,40}")
_CODE = re.compile(r"`[^`\n]{1,200}`|\b\w{1,60}_\w{1,60}\b|\b\w{1,60}\(\)")
_COUNT = re.compile(
    r"\b\d{1,7} (?:\w{1,20} )?(?:tests?|files?|lines?|functions?|errors?|cases?|passed|passing)\b"
)


def quality(response: Response) -> float:
    """From 0 to 100: half for up to forty different words of its own, an eighth for each kind of particular.

    Particulars are a file, a name in code, a number of tests or files, and an edit that was made.
    """
    text = "\n".join(line.text for line in response.lines if line.kind in ("prose", "item", "heading"))[
        -_LOOKED_AT:
    ]
    length = min(len(set(_WORD.findall(text.lower()))), _WORDS) / _WORDS
    particulars = (
        FILE.search(text) is not None,
        _CODE.search(text) is not None,
        _COUNT.search(text) is not None or response.tally is not None,
        response.tells_of_work,
    )
    return 50.0 * length + 12.5 * sum(particulars)
