"""Counting carts."""

from ledger_telemetry import count


def test_carts():
    assert count("carts") == 0
