from ledger_telemetry import count


def test_mails():
    assert count("mails") == 0
