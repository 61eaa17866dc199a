"""Points for purchases, and the tiers they lead to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tier:
    """A tier and the points it begins at."""

    name: str
    points: int
    percent: int


TIERS = (Tier("bronze", 0, 0), Tier("silver", 500, 3), Tier("gold", 2_000, 5))


def points(cents: int) -> int:
    """One point for every full euro."""
    return cents // 100


def tier(collected: int) -> Tier:
    """The highest tier these points reach."""
    position = 0
    while collected >= TIERS[position + 1].points:
        position += 1
    return TIERS[position]
