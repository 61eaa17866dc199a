"""Counting credits."""

import ledger_telemetry


def test_credits():
    assert ledger_telemetry.count("credits") == 0
