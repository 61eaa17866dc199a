"""Counting limits."""

from ledger_telemetry import count


def test_limits():
    assert count("limits") == 0
