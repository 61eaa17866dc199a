"""Amounts of money are whole cents everywhere; this is the only place that rounds."""


def percent_of(cents: int, percent: int) -> int:
    """`percent` per cent of an amount, rounded to the nearest cent, halves up."""
    return cents * percent // 100


def times(cents: int, quantity: int) -> int:
    """An amount, `quantity` times."""
    return cents * quantity


def to_text(cents: int, currency: str = "EUR") -> str:
    """An amount as people read it: `1234` is `12.34 EUR`."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d} {currency}"


def from_text(text: str) -> int:
    """The cents of an amount such as `12.34`, `12.3` or `12`."""
    whole, _, rest = text.strip().partition(".")
    return int(whole) * 100 + int(rest.ljust(2, "0")[:2] or 0)
