"""Orders: from the cart to the parcel."""

from dataclasses import dataclass, field

from shop import loyalty, pricing
from shop.cart import Cart
from shop.customers import Customer, address
from shop.inventory import Inventory

STEPS = ("placed", "paid", "packed", "sent", "delivered")


class OrderError(Exception):
    """An order cannot do this now."""


@dataclass
class Order:
    """An order on its way."""

    number: str
    customer: Customer
    cart: Cart
    state: str = "placed"
    events: list[str] = field(default_factory=lambda: ["placed"])

    def advance(self) -> str:
        """To the next step."""
        if self.state not in STEPS[:-1]:
            raise OrderError(f"order {self.number} is {self.state}")
        self.state = STEPS[STEPS.index(self.state) + 1]
        self.events.append(self.state)
        return self.state

    def cancel(self, inventory: Inventory) -> None:
        """Give the order up; what was taken goes back into stock. Not possible once it was sent."""
        if self.state in ("sent", "delivered", "cancelled"):
            raise OrderError(f"order {self.number} is {self.state}")
        for product, quantity in self.cart.lines():
            inventory.receive(product.sku, quantity)
        self.state = "cancelled"
        self.events.append(self.state)


def place(customer: Customer, cart: Cart, inventory: Inventory, number: str) -> Order:
    """Makes an order of a cart and takes its products out of stock."""
    if not cart:
        raise OrderError("the cart is empty")
    for product, quantity in cart.lines():
        inventory.take(product.sku, quantity)
    return Order(number, customer, cart)


def parcel_label(order: Order) -> str:
    """What is written on the parcel."""
    return "\n".join([order.customer.name, *address(order.customer, "delivery").lines()])


def amount_due(order: Order, coupon: str | None = None) -> int:
    """What the customer has to pay."""
    country = address(order.customer, "delivery").country
    return pricing.quote(order.cart, country, coupon).total


def points_earned(order: Order) -> int:
    """The points of an order, which count once it was delivered."""
    return loyalty.points(order.cart.subtotal()) if order.state == "delivered" else 0
