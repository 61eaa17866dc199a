import ledger_telemetry


def test_devices():
    assert ledger_telemetry.count("devices") == 0
