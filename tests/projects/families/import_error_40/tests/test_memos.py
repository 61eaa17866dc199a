"""Counting memos."""

import ledger_telemetry


def test_memos():
    assert ledger_telemetry.count("memos") == 0
