import ledger_telemetry


def test_exports():
    assert ledger_telemetry.count("exports") == 0
