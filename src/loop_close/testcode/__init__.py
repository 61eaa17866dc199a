"""Compare the tests of a project at the start of a loop with those of now, and say what was done to them."""

from loop_close.testcode.changes import Kind, TestChange, fingerprint
from loop_close.testcode.compare import compare_tests
from loop_close.testcode.selection import known_changes

__all__ = ["Kind", "TestChange", "compare_tests", "fingerprint", "known_changes"]
