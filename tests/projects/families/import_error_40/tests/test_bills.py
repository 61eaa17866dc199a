from ledger_telemetry import count


def test_bills():
    assert count("bills") == 0
