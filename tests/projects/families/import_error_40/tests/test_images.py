import ledger_telemetry


def test_images():
    assert ledger_telemetry.count("images") == 0
