"""Parcel codes: country, service, number, check digit, as in `DE-X-10042-7`."""

from typing import NamedTuple


class Code(NamedTuple):
    country: str
    service: str
    number: int
    check: int


def check_digit(number):
    return sum(int(digit) for digit in str(number)) % 10


def parse(text):
    """Takes a parcel code apart, and refuses it when the check digit is wrong."""
    country, service, number, check = text.split("-")
    code = Code(country, service, int(number), int(check))
    if check_digit(number[:-1]) != code.check:
        raise ValueError(f"parcel code {text} has a wrong check digit")
    return code
