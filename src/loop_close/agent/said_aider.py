"""Aider: plain text, with what it cost.

After calculate_and_show_tokens_and_cost and get_announcements in aider/coders/base_coder.py of Aider-AI/aider
(May 2026). It has no output format for programs.
"""

from __future__ import annotations

import re

from loop_close.agent.said_record import Said
from loop_close.agent.said_values import money_of

_AMOUNT = r"\$(\d{1,9}(?:\.\d{1,12})?+)"
# Off a terminal its lines are wrapped at 80 columns, so that any space may be a line break.
_TOLD = re.compile(
    r"^Aider v\d[\w.+-]*$"
    rf"|^Tokens:\s[^$]{{1,120}}+(?<=\sCost:\s){_AMOUNT}\smessage,\s{_AMOUNT}\ssession\.",
    re.MULTILINE,
)


def said_by_aider(text: str) -> Said | None:
    """What Aider said: its output as it is; the cost is that of the session, which is one process.

    :param text: the output, safe to show.
    :returns: None where Aider does not introduce itself.
    """
    costs: list[float] = []
    if "Aider v" not in text:
        return None
    for match in _TOLD.finditer(text):
        if match[2] is None:
            costs.append(0.0)
        elif costs:
            costs[-1] = money_of(float(match[2]))
    return Said(text=text, cost=sum(costs), format="aider") if costs else None
