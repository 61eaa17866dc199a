"""The text of a message that identifies it: the same whatever pytest's verbosity and the order of sets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loop_close.text.normalize import stabilize

#: A line up to this length is whole; of a longer one pytest shows at least the beginning (``saferepr`` to 30
#: characters). Its end may be that of a list that was cut, ``…, ...]``.
_WHOLE, _HEAD = 31, 19
_BRACES = re.compile(r"\{([^{}]*)\}")
_DEPTH = 4


def canonical(message: str, *, is_verdict: bool, observed: Iterable[str] = ()) -> str:
    """What the message says of this failure and no other, without what differs between two runs of the same code.

    :param is_verdict: an assertion that pytest may have explained. Of what was compared only the beginning counts, as
        pytest shortens the rest unless it is verbose, and what follows depends on the verbosity alone.
    :param observed: what was read from the compared objects themselves, which counts in the place of the rest.
    """
    lines = message.split("\n")
    at = next((n for n, line in enumerate(lines) if line.startswith("assert ")), None) if is_verdict else None
    if at is None:
        return _ordered(stabilize(message))
    line = stabilize(lines[at])
    said = _ordered(line) if len(line) <= _WHOLE and "..." not in line else line[:_HEAD]
    return "\n".join([*map(_ordered, map(stabilize, (*lines[:at], *observed))), said])


def _ordered(text: str) -> str:
    """The items between braces in order, the innermost first: sets keep none, and dicts that of their making."""
    for _ in range(_DEPTH):
        changed = _BRACES.sub(lambda found: "\x01" + ", ".join(sorted(found[1].split(", "))) + "\x02", text)
        if changed == text:
            break
        text = changed
    return text.replace("\x01", "{").replace("\x02", "}")
