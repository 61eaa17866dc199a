"""Payments by card."""

from shop_gateway_sdk import Gateway

from shop import orders


class PaymentRefused(Exception):
    """The bank said no."""


def pay(order: orders.Order, card: str, gateway: Gateway) -> str:
    """Charges what is due and moves the order on; the reference of the payment."""
    answer = gateway.charge(card, orders.amount_due(order))
    if not answer.accepted:
        raise PaymentRefused(f"order {order.number}: card ending in {card[-4:]}")
    order.advance()
    return answer.reference
