"""What a library adds below an exception's own words, as a note (PEP 678): for the reader, no part of what it says."""

from __future__ import annotations

import re

# Hypothesis 6.0 to 6.170. Its notes hold the example it found, the test's name, and how to have it again.
_NOTES = re.compile(r"(?:\A|\n)(?:Falsifying|Failing)(?: explicit)? (?:example|test case): ")


def without_notes(message: str) -> str:
    """The message up to the first line that tells of an example; all of it where there is none."""
    found = _NOTES.search(message)
    return message[: found.start()] if found is not None else message
