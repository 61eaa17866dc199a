from ledger_telemetry import count


def test_coupons():
    assert count("coupons") == 0
