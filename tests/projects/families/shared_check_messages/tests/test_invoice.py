from datetime import date

from helpers import check
from invoicing import amounts, document

SELLER = {"name": "Paper Ltd", "street": "High St 1", "city": "Leeds", "vat": "GB123"}
BUYER = {"name": "Jo Doe", "street": "Low Rd 2", "city": "York", "language": "fr"}
LINES = [(250, 4), (1000, 1)]


def test_number():
    check(document.number(2024, 7) == "INV-2024-0007", "invoice number lacks prefix and padding")


def test_due_date():
    due = document.due_date(date(2024, 5, 1))
    check(due > date(2024, 5, 1), "payment is due before the invoice is issued")


def test_seller():
    check("Leeds" in document.seller_line(SELLER), "seller address has no city")


def test_buyer():
    check("Jo Doe" in document.buyer_line(BUYER), "buyer is not named")


def test_language():
    check(document.language(BUYER) == "fr", "document is not in the buyer's language")


def test_footer():
    check("GB123" in document.footer(SELLER), "VAT id is missing from the footer")


def test_printed_on():
    check(document.printed_on(date(2024, 5, 31)) == "2024-05-31", "date is not in ISO form")


def test_page_label():
    check(document.page_label(1, 3) == "1 of 3", "page label does not count the pages")


def test_net():
    check(amounts.net(LINES) == 2000, "net amount ignores quantities")


def test_vat():
    check(amounts.vat(2000, 20) == 400, "VAT is not a percentage of the net amount")


def test_gross():
    check(amounts.gross(2000, 400) == 2400, "gross amount leaves the tax out")


def test_discount():
    check(amounts.discount(2000, 10) < 2000, "discount makes the invoice dearer")


def test_currency():
    check(amounts.currency_symbol("EUR") == "€", "wrong symbol for the euro")


def test_instalments():
    check(sum(amounts.instalments(1000, 3)) == 1000, "instalments do not add up")


def test_line_text():
    check(amounts.line_text("Paper", 250) == "Paper: 2.50", "line shows cents instead of the amount")


def test_dollar():
    check(amounts.currency_symbol("USD") == "$", "wrong symbol for the dollar")
