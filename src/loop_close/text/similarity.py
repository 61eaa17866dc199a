"""How alike two messages are."""

from __future__ import annotations

# The comparison costs length times length; a message of this size is no longer told apart by its middle.
_LONGEST = 10_000


def ratio(a: str, b: str, *, cutoff: float = 0.9) -> float:
    """The normalized Indel similarity of rapidfuzz, from 0 to 1.

    :param cutoff: what is less alike than this gives 0, which is faster.
    :returns: 1 for equal texts. Of texts longer than 10,000 characters only both ends are compared.
    """
    if a == b:
        return 1.0
    from rapidfuzz import fuzz  # 30-50 ms to import, and most runs compare nothing

    # The last digits are noise on both sides: 0.07 times 100 is more than 7, and 1 - 0.9 is less than 0.1.
    return round(fuzz.ratio(_ends(a), _ends(b), score_cutoff=cutoff * 100 - 1e-9) / 100, 9)


def similar(a: str, b: str, threshold: float = 0.9) -> bool:
    """Whether the ratio of the two reaches the threshold (``>=``)."""
    return ratio(a, b, cutoff=threshold) >= threshold


def _ends(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST // 2] + text[-_LONGEST // 2 :]
