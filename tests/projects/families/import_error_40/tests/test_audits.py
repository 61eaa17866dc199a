from ledger_telemetry import count


def test_audits():
    assert count("audits") == 0
