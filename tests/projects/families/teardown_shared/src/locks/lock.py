"""A lock by name."""

HELD = set()


def acquire(name):
    HELD.add(name.lower())
    return name


def release(name):
    HELD.remove(name)
