"""What the shop sells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One article of the catalog."""

    sku: str
    name: str
    cents: int
    grams: int
    category: str = "standard"


class UnknownProduct(LookupError):
    """There is no product with this number."""


PRODUCTS = {
    product.sku: product
    for product in (
        Product("MUG-01", "Mug, blue", 895, 340),
        Product("MUG-02", "Mug, green", 895, 340),
        Product("TEA-10", "Black tea", 449, 120, "food"),
        Product("TEA-11", "Green tea", 525, 110, "food"),
        Product("BOOK-7", "The Art of Tea", 2450, 780, "book"),
        Product("POT-03", "Teapot, cast iron", 5999, 1900),
    )
}


def product(sku: str) -> Product:
    """The product with this number; `UnknownProduct` when there is none."""
    try:
        return PRODUCTS[sku.upper()]
    except KeyError:
        raise UnknownProduct(sku) from None


def search(words: str) -> list[Product]:
    """The products whose names hold all the words, cheapest first."""
    wanted = words.lower().split()
    found = [item for item in PRODUCTS.values() if all(word in item.name.lower() for word in wanted)]
    return sorted(found, key=lambda item: (item.cents, item.sku))
