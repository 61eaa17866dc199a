"""Labels with a barcode."""

from depot_barcode import Code128


def render(code):
    return Code128(str(code)).svg()
