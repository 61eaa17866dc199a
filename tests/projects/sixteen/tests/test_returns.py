from depot.returns import accept, refund


def test_accept():
    assert accept("P-1")["state"] == "returned"


def test_refund():
    assert refund("P-1", 490) is None


def test_refund_of_nothing():
    assert refund("P-1", 0) is None
