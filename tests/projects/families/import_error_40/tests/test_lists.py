import ledger_telemetry


def test_lists():
    assert ledger_telemetry.count("lists") == 0
