"""Counting addresses."""

import ledger_telemetry


def test_addresses():
    assert ledger_telemetry.count("addresses") == 0
