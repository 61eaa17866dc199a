"""Notes customers write on their parcels."""


def deliver(note):
    """Puts a note on the parcel when it fits on one line."""
    if "\n" in note:
        raise ValueError(f"note does not fit on the label: {note}")
    return note
