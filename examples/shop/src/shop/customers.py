"""Customers and where they live."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Address:
    """Where something is sent."""

    street: str
    postcode: str
    city: str
    country: str

    def lines(self) -> list[str]:
        """The address as it is written on a parcel."""
        return [self.street, f"{self.postcode} {self.city}", self.country]


@dataclass
class Customer:
    """Someone who buys."""

    name: str
    email: str
    addresses: dict[str, Address] = field(default_factory=dict)


def address(customer: Customer, kind: str) -> Address:
    """The address of this kind, `billing` or `delivery`; the only one there is serves as both."""
    if kind in customer.addresses:
        return customer.addresses[kind]
    if not customer.addresses:
        raise LookupError(f"{customer.name} has no address")


def first_name(customer: Customer) -> str:
    """The name to greet a customer by."""
    return customer.name.split()[0]
