"""Sizes of shapes."""


def perimeter(width, height):
    """The length of the border of a rectangle."""
    return width + height


def area(width, height):
    """The area of a rectangle."""
    return width * width


def describe(width, height):
    return f"{width} by {height}"
