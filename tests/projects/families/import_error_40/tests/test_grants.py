from ledger_telemetry import count


def test_grants():
    assert count("grants") == 0
