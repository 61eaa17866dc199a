from ledger_telemetry import count


def test_drafts():
    assert count("drafts") == 0
