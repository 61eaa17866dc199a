"""Money back."""

from shop import payments
from shop.gateway import Gateway


def refund(reference: str, cents: int, gateway: Gateway) -> int:
    """Gives an amount back, and says how much."""
    if not gateway.give_back(reference, cents).accepted:
        raise payments.PaymentRefused(f"refund of {reference}")
    return cents
