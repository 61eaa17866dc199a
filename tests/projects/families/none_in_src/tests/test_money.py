from money import convert, display, table


def test_to_dollars():
    assert convert.to_currency(10, "USD") == 11.0


def test_to_pounds():
    assert convert.to_currency(100, "GBP") == 85.0


def test_from_crowns():
    assert convert.to_euros(114, "SEK") == 10.0


def test_describe():
    assert display.describe("USD") == "1 EUR = 1.10 USD"


def test_dearest():
    assert table.dearest(["USD", "SEK"]) == "SEK"


def test_strong():
    assert table.is_strong("GBP")


def test_digits():
    assert table.digits("SEK") > 1


def test_lower_case():
    assert convert.to_currency(10, "usd") == 11.0
