from money import rates


def dearest(codes):
    return max(codes, key=rates.rate)


def digits(code):
    numerator, _ = rates.rate(code).as_integer_ratio()
    return len(str(numerator))


def is_strong(code):
    return rates.rate(code) < 1
