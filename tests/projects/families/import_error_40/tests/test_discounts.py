"""Counting discounts."""

import ledger_telemetry


def test_discounts():
    assert ledger_telemetry.count("discounts") == 0
