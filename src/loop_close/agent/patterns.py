"""Alternatives of one regular expression, a rule each."""

from __future__ import annotations

import re


def any_of(*patterns: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is found where one of several is."""
    return re.compile("|".join(patterns), flags)
