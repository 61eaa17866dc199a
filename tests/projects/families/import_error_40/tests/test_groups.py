"""Counting groups."""

import ledger_telemetry


def test_groups():
    assert ledger_telemetry.count("groups") == 0
