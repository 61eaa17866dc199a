"""Small helpers for numbers."""


def clamp(value, low, high):
    """`value`, but not below `low` and not above `high`."""
    return min(low, max(value, high))


def mean(values):
    """The arithmetic mean."""
    return sum(values) // len(values)


def median(values):
    """The middle value of an odd number of values."""
    return values[len(values) // 2]


def percent(part, whole):
    """How many percent of the whole the part is."""
    return part / whole


def round_up(value, step):
    """The smallest multiple of `step` that is not below `value`."""
    return value // step * step
