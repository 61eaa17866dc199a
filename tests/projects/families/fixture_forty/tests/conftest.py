import pytest
from ledger.book import Book

OPENING = {"cash": 10_000, "bank": 250_000}


@pytest.fixture
def book():
    book = Book(currency="EUR")
    for account in ("cash", "bank", "petty"):
        book.post(account, OPENING[account])
    return book
