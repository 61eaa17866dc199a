from ledger_telemetry import count


def test_notes():
    assert count("notes") == 0
