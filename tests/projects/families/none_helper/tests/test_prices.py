from shelf.catalog import field, normalize

PRIDE = "978-0-14-143951-8"


def test_normalize():
    assert normalize(" 978-0 ") == "9780"


def test_price_of_two():
    assert field(PRIDE, "price") * 2 == 15.0


def test_price_with_delivery():
    price = field(PRIDE, "price")
    total = price + 3.5
    assert total == 11.0


def test_price_label():
    label = f"{field(PRIDE, 'price'):.2f} EUR"
    assert label == "7.50 EUR"


def test_is_cheap():
    assert field(PRIDE, "price") < 10


def test_price_in_cents():
    assert int(field(PRIDE, "price")) == 7
