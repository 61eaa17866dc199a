"""Room bookings."""

CAPACITY = {"red": 4, "blue": 12}


def book(room, people, start, end):
    """Checks a booking: guests up to the capacity, and hours from 8 to 20 inclusive."""
    if people >= CAPACITY[room]:
        raise ValueError(f"room {room} is too small for {people} people")
    if not 8 < start < end <= 20:
        raise ValueError(f"closed between {start} and {end} o'clock")
    return f"{room} {start}-{end}"
