import pytest
from ledger.book import Book


def test_empty_book():
    assert Book("EUR").balance("cash") == 0


@pytest.mark.parametrize("cents", range(1, 21))
def test_posting(book, cents):
    book.post("cash", cents)
    assert book.balance("cash") == 10_000 + cents


@pytest.mark.parametrize("account", ["cash", "bank", "petty", "rent", "wages"])
def test_balance(book, account):
    assert book.balance(account) >= 0


def test_currency(book):
    assert book.currency == "EUR"


def test_number_of_postings(book):
    assert len(book.postings) == 3


def test_unknown_account(book):
    assert book.balance("nowhere") == 0
