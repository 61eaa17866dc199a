import ledger_telemetry


def test_baskets():
    assert ledger_telemetry.count("baskets") == 0
