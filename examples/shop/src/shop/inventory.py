"""What is in stock, and where."""

from shop import catalog


class OutOfStock(Exception):
    """There is not enough of a product."""


class Inventory:
    """The stock of one location."""

    def __init__(self, location: str, levels: dict[str, int] | None = None) -> None:
        self.location = location
        self.levels = dict(levels or {})

    def level(self, sku: str) -> int:
        """How many of a product there are."""
        return self.levels.get(catalog.product(sku).sku, 0)

    def receive(self, sku: str, quantity: int) -> None:
        """A delivery has come in."""
        self.levels[catalog.product(sku).sku] = self.level(sku) + quantity

    def take(self, sku: str, quantity: int) -> None:
        """Take products out; `OutOfStock`, and nothing taken, when there are too few."""
        left = self.level(sku) - quantity
        if left < 0:
            raise OutOfStock(f"{-left} of {sku} missing in {self.location}")
        self.levels[catalog.product(sku).sku] = left

    def to_reorder(self, minimum: int) -> list[str]:
        """The numbers of the products of which fewer than `minimum` are left, in alphabetical order."""
        # TODO: ask purchasing whether products that were never in stock count
        ...
