import pytest

from shop.cart import Cart
from shop.customers import Address, Customer
from shop.inventory import Inventory


@pytest.fixture
def home():
    return Address("Lange Str. 4", "20095", "Hamburg", "DE")


@pytest.fixture
def office():
    return Address("Rue Haute 9", "75001", "Paris", "FR")


@pytest.fixture
def customer(home, office):
    return Customer("Ada Brandt", "ada@example.org", {"billing": home, "delivery": office})


@pytest.fixture
def tea_cart():
    cart = Cart()
    cart.add("TEA-10", 2)
    cart.add("MUG-01")
    return cart


@pytest.fixture
def inventory():
    return Inventory(warehouse="Hamburg", levels={"MUG-01": 12, "TEA-10": 40, "POT-03": 1})
