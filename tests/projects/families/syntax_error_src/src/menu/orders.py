from menu.dishes import price


def total(names):
    return sum(price(name) for name in names)
