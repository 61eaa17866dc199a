"""Whether a row of values goes round in a circle at its end."""

from __future__ import annotations

from collections.abc import Sequence


def cycle_length(row: Sequence[str], longest: int, rounds: int) -> int:
    """How many values, at most ``longest``, come back in the same order at the end of the row.

    :param rounds: how often they have to be there, one after the other.
    :returns: the shortest such length, 1 for the same value again and again; 0 for none.
    """
    for length in range(1, longest + 1):
        if len(row) < length * rounds:
            break
        end = list(row[-length * rounds :])
        if end == end[-length:] * rounds:
            return length
    return 0
