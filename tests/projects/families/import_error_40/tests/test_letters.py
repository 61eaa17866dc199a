import ledger_telemetry


def test_letters():
    assert ledger_telemetry.count("letters") == 0
