import ledger_telemetry


def test_customers():
    assert ledger_telemetry.count("customers") == 0
