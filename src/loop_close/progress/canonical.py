"""The text of a message that identifies it: the same whatever pytest's verbosity and the order of sets."""

from __future__ import annotations

import re

from loop_close.text.normalize import stabilize

#: Of a value that it shortens pytest shows at least so much at both ends (``saferepr`` to 30 characters).
_HEAD, _TAIL = 19, 12
_BRACES = re.compile(r"\{([^{}]*)\}")
_DEPTH = 4


def canonical(message: str, *, is_verdict: bool) -> str:
    """What the message says of this failure and no other, without what differs between two runs of the same code.

    :param is_verdict: an assertion that pytest may have explained. Of what was compared only the ends count, as
        pytest shortens the middle unless it is verbose, and what follows depends on the verbosity alone.
    """
    lines = message.split("\n")
    at = next((n for n, line in enumerate(lines) if line.startswith("assert ")), None) if is_verdict else None
    if at is None:
        return _ordered(stabilize(message))
    return "\n".join([*map(_ordered, map(stabilize, lines[:at])), _ends(_ordered(stabilize(lines[at])))])


def _ends(line: str) -> str:
    return line if len(line) <= _HEAD + _TAIL else f"{line[:_HEAD]}…{line[-_TAIL:]}"


def _ordered(text: str) -> str:
    """The items between braces in order, the innermost first: sets keep none, and dicts that of their making."""
    for _ in range(_DEPTH):
        changed = _BRACES.sub(lambda found: "\x01" + ", ".join(sorted(found[1].split(", "))) + "\x02", text)
        if changed == text:
            break
        text = changed
    return text.replace("\x01", "{").replace("\x02", "}")
