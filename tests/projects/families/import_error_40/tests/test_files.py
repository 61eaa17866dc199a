import ledger_telemetry


def test_files():
    assert ledger_telemetry.count("files") == 0
