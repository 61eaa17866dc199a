import pytest
from stock import client


@pytest.mark.parametrize(
    ("sku", "expected"),
    [("A1", 3), ("A2", 0), ("B1", 12), ("B2", 7), ("C1", 1), ("C2", 99), ("D1", 4), ("D2", 5)],
)
def test_level(sku, expected):
    assert client.level(sku) == expected


def test_level_of_new_item():
    assert client.level("N1") == 0


def test_levels_add_up():
    assert client.level("A1") + client.level("A2") == 3
