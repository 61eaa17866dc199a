import ledger_telemetry


def test_events():
    assert ledger_telemetry.count("events") == 0
