"""The money on an invoice, in cents."""


def net(lines):
    return sum(price for price, quantity in lines)


def vat(amount, rate):
    return amount * rate


def gross(amount, tax):
    return amount


def discount(amount, percent):
    return amount + amount * percent // 100


def currency_symbol(code):
    return {"EUR": "$", "USD": "$", "GBP": "£"}[code]


def instalments(amount, count):
    return [amount // count] * count


def line_text(name, price):
    return f"{name}: {price}"
