import ledger_telemetry


def test_logs():
    assert ledger_telemetry.count("logs") == 0
