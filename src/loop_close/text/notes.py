"""What a library adds below an exception's own words, as a note (PEP 678): for the reader, no part of what it says."""

from __future__ import annotations

import re

# Hypothesis notes the example that it found as a call of the test, and how to have it again. Other words of that kind
# are a program's own.
_NOTES = re.compile(r"\n(?:Falsifying|Failing)(?: explicit)? (?:example|test case): \w+\(")


def without_notes(message: str) -> str:
    """The message up to the first line that tells of an example; all of it where there is none."""
    found = _NOTES.search(message)
    return message[: found.start()] if found is not None and found.start() else message
