"""Files that hold the output of commands. Every run of pytest imports this, so it needs next to nothing."""

from __future__ import annotations

import os
import stat

#: In the place of the digest: the file holds the output of commands, and is no part of the program.
OUTPUT = "output"


def _printed_to() -> frozenset[tuple[int, int]]:
    found = set()
    for descriptor in (1, 2):
        try:
            status = os.fstat(descriptor)
        except OSError:  # it is closed
            continue
        if stat.S_ISREG(status.st_mode):
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


#: Device and inode of the files that standard output and standard error go to. They are looked at on import:
#: later, pytest has files of its own in their place.
PRINTED_TO = _printed_to()
