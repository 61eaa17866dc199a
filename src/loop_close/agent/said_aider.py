"""Aider: plain text, with what it cost.

After calculate_and_show_tokens_and_cost and get_announcements in aider/coders/base_coder.py of Aider-AI/aider
(May 2026), and recorded outputs of 0.86.2. It has no output format for programs; it exits with 0 where the model's
interface answered with an error.
"""

from __future__ import annotations

import re

from loop_close.agent.said_record import Said
from loop_close.agent.said_values import money_of

_AMOUNT = r"\$\d{1,9}(?:\.\d{1,12})?+"
# Off a terminal its lines are wrapped at 80 columns, so that any space may be a line break. What a model that has no
# price took is told without the cost.
_TOLD = re.compile(
    r"^(?:(?P<begun>Aider v\d[\w.+-]*$)"
    r"|(?P<failed>litellm\.(?:\w{1,80}Error|Timeout):)"
    rf"|Tokens:\s\d(?:[^$]{{1,120}}+(?<=\sCost:\s){_AMOUNT}\smessage,\s(?P<cost>{_AMOUNT})\ssession\.)?+)",
    re.MULTILINE,
)


def said_by_aider(text: str) -> Said | None:
    """What Aider said: its output as it is; the cost is that of the session, which is one process.

    It failed where its model's interface did and nothing was answered after.

    :param text: the output, safe to show.
    :returns: None where Aider does not introduce itself.
    """
    costs: list[float] = []
    is_error = False
    if "Aider v" not in text:
        return None
    for match in _TOLD.finditer(text):
        is_error = bool(match["failed"])  # an error before an answer was got over
        if match["begun"]:
            costs.append(0.0)
        elif match["cost"] and costs:
            costs[-1] = money_of(float(match["cost"].removeprefix("$")))
    return Said(text=text, cost=sum(costs), is_error=is_error, format="aider") if costs else None
