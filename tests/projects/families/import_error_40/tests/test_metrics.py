import ledger_telemetry


def test_metrics():
    assert ledger_telemetry.count("metrics") == 0
