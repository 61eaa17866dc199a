import ledger_telemetry


def test_claims():
    assert ledger_telemetry.count("claims") == 0
