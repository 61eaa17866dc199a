"""A run against the runs before it: what moved, what did not, whether to go on. Pure functions of records."""

from loop_close.progress.advance import advance
from loop_close.progress.fingerprints import marks_of

__all__ = ["advance", "marks_of"]
