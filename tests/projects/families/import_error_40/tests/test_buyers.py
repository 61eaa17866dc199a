import ledger_telemetry


def test_buyers():
    assert ledger_telemetry.count("buyers") == 0
