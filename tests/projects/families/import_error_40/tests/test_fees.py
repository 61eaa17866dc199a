"""Counting fees."""

from ledger_telemetry import count


def test_fees():
    assert count("fees") == 0
