"""What the project comes from: close_loop, exit strategies, SafetyGuard, ResponseAnalyzer, Supervisor.

``docs/agents.md`` says of each what is as its document has it, what differs, and why.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

_State = TypeVar("_State")


def restored(state: object, kind: type[_State]) -> _State:
    """A saved state, as it was decoded from JSON, as the record that it is of.

    :raises ValueError: naming the field that is missing or damaged.
    """
    try:
        return msgspec.convert(state, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
