"""Counting batches."""

import ledger_telemetry


def test_batches():
    assert ledger_telemetry.count("batches") == 0
