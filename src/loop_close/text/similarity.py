"""How alike two messages are."""

from __future__ import annotations

from collections import Counter

# The comparison costs length times length; a message of this size is no longer told apart by its middle.
_LONGEST = 10_000
#: A comparison by hand takes 10 µs where rapidfuzz takes half of one: so many, and the import pays.
_by_hand = iter(range(300))


def ratio(a: str, b: str, *, cutoff: float = 0.9) -> float:
    """The normalized Indel similarity of rapidfuzz, from 0 to 1.

    :param cutoff: what is less alike than this gives 0, which is faster.
    :returns: 1 for equal texts. Of texts longer than 10,000 characters only both ends are compared.
    """
    if a == b:
        return 1.0
    a, b = _ends(a), _ends(b)
    if next(_by_hand, None) is not None and _most(a, b) < cutoff - 1e-6:
        return 0.0
    from rapidfuzz import fuzz  # 10-50 ms to import, and most runs compare next to nothing

    # The last digits are noise on both sides: 0.07 times 100 is more than 7, and 1 - 0.9 is less than 0.1.
    return round(fuzz.ratio(a, b, score_cutoff=cutoff * 100 - 1e-9) / 100, 9)


def similar(a: str, b: str, threshold: float = 0.9) -> bool:
    """Whether the ratio of the two reaches the threshold (``>=``)."""
    return ratio(a, b, cutoff=threshold) >= threshold


def _most(a: str, b: str) -> float:
    """What the ratio cannot be above: by the characters whatever their order."""
    return 2 * (Counter(a) & Counter(b)).total() / (len(a) + len(b))


def _ends(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST // 2] + text[-_LONGEST // 2 :]
