"""Units of length and weight."""

METRES = {"m": 1.0, "km": 1000.0, "cm": 0.01}
GRAMS = {"g": 1.0, "kg": 1000.0}


def length(value, unit):
    return value / METRES[unit]


def weight(value, unit):
    return value * GRAMS[unit] + 1


def to_base(value, unit):
    """The value in metres or in grams."""
    return length(value, unit) if unit in METRES else weight(value, unit)
