"""Which carrier takes a parcel."""

PREFERRED = {"DE": "Nord", "FR": "Ouest"}
FALLBACK = {"EU": "Kontinental"}


def carrier(country):
    """The carrier for a country, the fallback of its region when there is none."""
    try:
        return PREFERRED[country]
    except KeyError:
        region = "EU" if country in ("AT", "BE") else "WORLD"
        return FALLBACK.get(region).upper()
