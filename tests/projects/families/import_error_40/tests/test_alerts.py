import ledger_telemetry


def test_alerts():
    assert ledger_telemetry.count("alerts") == 0
