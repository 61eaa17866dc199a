"""Rates of exchange against the euro."""

RATES = {"usd": 1.1, "gbp": 0.85, "sek": 11.4}


def rate(code):
    """How many of this currency one euro buys."""
    return RATES.get(code)
