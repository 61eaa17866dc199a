from quotes.offer import offer


def test_total():
    assert offer("Jo", [1, 2])["total"] == 3


def test_nothing():
    assert offer("Jo", [])["total"] == 0


def test_customer():
    made = offer("Sam", [5])
    assert made["customer"] == "Sam"


def test_currency():
    assert offer("Jo", [1], "EUR")["currency"] == "EUR"
