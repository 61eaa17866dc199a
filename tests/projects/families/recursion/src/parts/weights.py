"""Weights of things made of parts."""

PARTS = {
    "bicycle": ["frame", "wheel"],
    "wheel": ["rim", "hub"],
    "hub": ["axle", "bearing"],
    "bearing": ["ball", "hub"],
    "tandem": ["bicycle", "frame"],
}
GRAMS = {"frame": 1800, "rim": 450, "axle": 80, "ball": 2}


def weight(part):
    """The weight of a part in grams."""
    if part in GRAMS:
        return GRAMS[part]
    return weight_of_all(PARTS[part])


def weight_of_all(parts):
    total = 0
    for part in parts:
        total += weight(part)
    return total
