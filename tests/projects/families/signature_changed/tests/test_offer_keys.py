from quotes import offer as module


def test_keys():
    assert set(module.offer("Jo", [1])) == {"customer", "total", "currency"}


def test_default_currency():
    assert module.offer(customer="Jo", items=[1])["currency"] == "EUR"
