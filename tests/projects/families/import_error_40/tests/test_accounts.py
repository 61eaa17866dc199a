from ledger_telemetry import count


def test_accounts():
    assert count("accounts") == 0
