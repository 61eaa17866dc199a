"""Picks several parcels at once, and says of each what went wrong."""

SHELVES = {"A1": ["P-1"], "B2": []}
ROBOTS = {"north": None, "south": "busy"}


def pick(parcel, shelf):
    if parcel not in SHELVES[shelf]:
        raise LookupError(f"parcel {parcel} is not on shelf {shelf}")
    return parcel


def send_robots(wing):
    faults = []
    if ROBOTS[wing] is None:
        faults.append(ConnectionError(f"robot in the {wing} wing does not answer"))
    faults.append(OSError(f"gate of the {wing} wing is jammed"))
    raise ExceptionGroup("robots failed", faults)


def pick_all(wanted, wing):
    """Picks every parcel of `wanted`, pairs of parcel and shelf, with the robots of one wing."""
    faults = []
    for parcel, shelf in wanted:
        try:
            pick(parcel, shelf)
        except LookupError as fault:
            faults.append(fault)
    try:
        send_robots(wing)
    except ExceptionGroup as group:
        faults.append(group)
    if faults:
        raise ExceptionGroup("picking failed", faults)
    return len(wanted)
