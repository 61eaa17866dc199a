"""What delivery costs."""

FREE_FROM = 10_000
EU = {"DE": 490, "AT": 690, "FR": 890, "NL": 790}
WORLD = 1990
HEAVY_FROM = 2_000
HEAVY = 300
EXPRESS = 1500


def cost(grams: int, country: str, goods: int) -> int:
    """Delivery of a parcel: by country, more when it is heavy, free within the EU for a large order."""
    if country in EU and goods >= FREE_FROM:
        return 0
    base = EU.get(country, WORLD)
    return base + HEAVY * (grams // HEAVY_FROM)


def express(grams: int, country: str) -> int:
    """Delivery on the next day: the usual cost and a surcharge, which doubles outside the EU."""
    if country in EU:
        return cost(grams, country, 0) + EXPRESS
    raise NotImplementedError(f"express delivery to {country}")


def days(country: str) -> int:
    """How many days a parcel takes."""
    return 2 if country == "DE" else 4 if country in EU else 10
