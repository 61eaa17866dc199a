from ledger_telemetry import count


def test_labels():
    assert count("labels") == 0
