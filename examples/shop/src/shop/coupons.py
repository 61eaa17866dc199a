"""Coupon codes: a campaign and the reduction in per cent, as in `SPRING-15`."""

import re
from dataclasses import dataclass

from shop import money

CODE = re.compile(r"(?P<campaign>[A-Z]+)-(?P<percent>\d)")


class CouponError(ValueError):
    """The code is not one of ours."""


@dataclass(frozen=True)
class Coupon:
    """A reduction in per cent."""

    campaign: str
    percent: int

    def discount(self, cents: int) -> int:
        """What the coupon takes off an amount."""
        return money.percent_of(cents, self.percent)


def parse(code: str) -> Coupon:
    """Reads a code, whatever its case; the reduction has one or two digits."""
    found = CODE.fullmatch(code.strip().upper())
    if found is None:
        raise CouponError(f"{code} is not a coupon code")
    return Coupon(found["campaign"], int(found["percent"]))
