"""Counting items."""

import ledger_telemetry


def test_items():
    assert ledger_telemetry.count("items") == 0
