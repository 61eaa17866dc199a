"""The error of a command that cannot be: by itself, as to parse words takes longer than to answer a hook."""

from __future__ import annotations


class UsageError(Exception):
    """A command that cannot be; the text says what was wrong and what would be right."""
