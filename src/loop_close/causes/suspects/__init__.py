"""Which functions probably hold the fault behind a root cause."""

from loop_close.causes.suspects.swallowed import swallowed_for, swallowed_words

__all__ = ["swallowed_for", "swallowed_words"]
