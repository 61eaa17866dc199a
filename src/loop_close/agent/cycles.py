"""Whether a row of values goes round in a circle at its end."""

from __future__ import annotations

from collections.abc import Sequence


def cycle_length(row: Sequence[str], longest: int, rounds: int, *, shortest: int = 1) -> int:
    """How many values, at most ``longest``, come back in the same order at the end of the row.

    :param shortest: fewer values are no circle; of values that are all the same none is.
    :param rounds: how often they have to be there, one after the other.
    :returns: the shortest such length, 1 for the same value again and again; 0 for none.
    """
    for length in range(shortest, longest + 1):
        if len(row) < length * rounds:
            break
        end = list(row[-length * rounds :])
        if end == end[-length:] * rounds and (length == 1 or len(set(end)) > 1):
            return length
    return 0
