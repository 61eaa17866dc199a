"""The list of parcels a driver takes along."""


def lines(parcels):
    return [f"{parcel['code']} {parcel['grams']} g" for parcel in parcels]


def total_weight(parcels)
    return sum(parcel["grams"] for parcel in parcels)
