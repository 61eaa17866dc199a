"""The receipt that goes into the parcel."""

from shop import money, pricing
from shop.cart import Cart

WIDTH = 40


def row(name: str, cents: int) -> str:
    """A name on the left and an amount on the right."""
    amount = money.to_text(cents)
    return name[: WIDTH - len(amount) - 1].ljust(WIDTH - len(amount)) + amount


def receipt(cart: Cart, country: str) -> str:
    """One row for each product, then the parts of the price, then the total."""
    quote = pricing.quote(cart, country)
    rows = [
        row(f"{quantity} x {product.name}", money.times(product.cents, quantity)
        for product, quantity in cart.lines()
    ]
    rows.append("-" * WIDTH)
    rows.append(row("Tax", quote.tax))
    rows.append(row("Delivery", quote.delivery))
    rows.append(row("Total", quote.total))
    return "\n".join(rows)
