"""What a cart costs in the end."""

from dataclasses import dataclass

from shop import coupons, shipping, tax
from shop.cart import Cart


@dataclass(frozen=True)
class Quote:
    """The parts of a price."""

    goods: int
    discount: int
    tax: int
    delivery: int

    @property
    def total(self) -> int:
        """What is to be paid."""
        return self.goods - self.discount + self.tax + self.delivery


def quote(cart: Cart, country: str, coupon: str | None = None) -> Quote:
    """The price of a cart delivered to a country, with the reduction of a coupon if there is one."""
    goods = cart.subtotal()
    discount = coupons.parse(coupon).discount(goods) if coupon else 0
    taxes = sum(tax.tax_on(product, quantity, country) for product, quantity in cart.lines())
    return Quote(goods, discount, taxes, shipping.cost(cart.grams(), country, goods))
