"""JUnit XML, as pytest and many other runners write it, to failures and counts."""

from __future__ import annotations

from loop_close.readers.junit_xml.reading import JunitReading, merge_junit, read_junit

__all__ = ["JunitReading", "merge_junit", "read_junit"]
