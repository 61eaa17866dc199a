import pytest
from depot.routes import last_gate


@pytest.fixture
def countries():
    return ["DE", "AT", "US"]


def test_last_gate(countries):
    assert last_gate(countries) == 9


def test_last_gate_in_europe():
    assert last_gate(["DE", "FR"]) == 4
