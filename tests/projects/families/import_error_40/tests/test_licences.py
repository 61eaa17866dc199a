import ledger_telemetry


def test_licences():
    assert ledger_telemetry.count("licences") == 0
