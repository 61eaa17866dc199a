import pytest


@pytest.fixture
def filled(book):
    book.post("rent", -800)
    return book


class TestTransfers:
    @pytest.mark.parametrize("cents", [1, 5, 10, 50, 100, 500])
    def test_there_and_back(self, book, cents):
        book.post("bank", -cents)
        book.post("bank", cents)
        assert book.balance("bank") == 250_000

    def test_rent(self, filled):
        assert filled.balance("rent") == -800

    def test_rent_leaves_cash(self, filled):
        assert filled.balance("cash") == 10_000

    def test_refund(self, filled):
        filled.post("rent", 800)
        assert filled.balance("rent") == 0

    def test_order(self, filled):
        assert filled.postings[-1] == ("rent", -800)

    def test_bank(self, book):
        assert book.balance("bank") == 250_000

    def test_cash(self, book):
        assert book.balance("cash") == 10_000
