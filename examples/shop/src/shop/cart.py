"""The cart: products and how many of each."""

from shop import catalog, money


class Cart:
    """What a customer is about to buy."""

    def __init__(self) -> None:
        self.quantities: dict[str, int] = {}

    def add(self, sku: str, quantity: int = 1) -> None:
        """Put products into the cart, on top of those that are there."""
        if quantity < 1:
            raise ValueError(f"quantity must be at least 1, not {quantity}")
        product = catalog.product(sku)
        self.quantities[product.sku] = self.quantities.get(product.sku, 0) + quantity

    def remove(self, sku: str) -> None:
        """Take all of a product out of the cart."""
        self.quantities.pop(catalog.product(sku).sku, None)

    def lines(self) -> list[tuple[catalog.Product, int]]:
        """Each product with its quantity, in the order they were put in."""
        return [(catalog.product(sku), quantity) for sku, quantity in self.quantities.items()]

    def subtotal(self) -> int:
        """What the cart costs without tax and delivery."""
        return sum(money.times(product.cents, quantity) for product, quantity in self.lines())

    def grams(self) -> int:
        """What the cart weighs."""
        return sum(product.grams * quantity for product, quantity in self.lines())

    def __len__(self) -> int:
        return sum(self.quantities.values())
