from ledger_telemetry import count


def test_imports():
    assert count("imports") == 0
