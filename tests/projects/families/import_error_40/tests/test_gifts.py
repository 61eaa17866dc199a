import ledger_telemetry


def test_gifts():
    assert ledger_telemetry.count("gifts") == 0
