"""The figures of a day."""


def by_country(parcels):
    """Number and weight of the parcels of each country."""
    figures = {}
    for parcel in parcels:
        figure = figures.setdefault(parcel["country"], {"parcels": 0, "grams": 0})
        figure["parcels"] += 1
        figure["grams"] = parcel["grams"]
    return figures
