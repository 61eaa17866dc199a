import ledger_telemetry


def test_brands():
    assert ledger_telemetry.count("brands") == 0
