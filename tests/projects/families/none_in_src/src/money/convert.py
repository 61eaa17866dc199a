from money.rates import rate


def to_currency(euros, code):
    return round(euros * rate(code), 2)


def to_euros(amount, code):
    return round(amount / rate(code), 2)
