"""A book of postings."""


class Book:
    def __init__(self, currency):
        self.currency = currency
        self.postings = []

    def post(self, account, cents):
        self.postings.append((account, cents))

    def balance(self, account):
        return sum(cents for name, cents in self.postings if name == account)
