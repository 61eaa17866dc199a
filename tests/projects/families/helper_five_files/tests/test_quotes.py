from courier.quotes import cheapest, quote


def test_quote():
    assert quote(10, "eu")["cents"] == 500


def test_cheapest():
    assert cheapest(1)["cents"] == 410
