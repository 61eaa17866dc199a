import pytest

from shop.customers import Customer, address, first_name


@pytest.fixture
def private(home):
    return Customer("Jo Meier", "jo@example.org", {"billing": home})


def test_delivery_address(customer, office):
    assert address(customer, "delivery") == office


def test_billing_address(customer, home):
    assert address(customer, "billing") == home


def test_only_one_address(private, home):
    assert address(private, "delivery") == home


def test_country_of_the_only_address(private):
    assert address(private, "delivery").country == "DE"


def test_no_address():
    with pytest.raises(LookupError, match="Kim has no address"):
        address(Customer("Kim", "kim@example.org"), "billing")


def test_first_name(customer):
    assert first_name(customer) == "Ada"
