"""Offers to customers."""


def offer(customer, items, currency):
    return {"customer": customer, "total": sum(items), "currency": currency}
