from ledger_telemetry import count


def test_deliveries():
    assert count("deliveries") == 0
