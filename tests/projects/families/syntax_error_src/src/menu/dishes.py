"""Dishes and their prices."""

DISHES = {
    "soup": 4.5,
    "stew": 9.0,
    "pie": 6.0,


def price(name):
    return DISHES[name]
