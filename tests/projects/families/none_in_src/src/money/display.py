from money.rates import rate


def describe(code):
    value = rate(code)
    return f"1 EUR = {value:.2f} {code}"
