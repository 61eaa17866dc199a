import pytest

from shop.inventory import Inventory, OutOfStock


def test_level(inventory):
    assert inventory.level("MUG-01") == 12


def test_level_of_what_was_never_there(inventory):
    assert inventory.level("BOOK-7") == 0


def test_receive(inventory):
    inventory.receive("POT-03", 4)
    assert inventory.level("POT-03") == 5


def test_take(inventory):
    inventory.take("TEA-10", 15)
    assert inventory.level("TEA-10") == 25


def test_take_the_last_one(inventory):
    inventory.take("POT-03", 1)
    assert inventory.level("POT-03") == 0


def test_take_too_many(inventory):
    with pytest.raises(OutOfStock, match="1 of POT-03 missing in Hamburg"):
        inventory.take("POT-03", 2)


def test_nothing_is_taken_when_there_are_too_few(inventory):
    with pytest.raises(OutOfStock):
        inventory.take("MUG-01", 13)
    assert inventory.level("MUG-01") == 12


def test_to_reorder():
    inventory = Inventory("Bremen", {"TEA-11": 2, "MUG-02": 30, "BOOK-7": 0})
    assert inventory.to_reorder(5) == ["BOOK-7", "TEA-11"]
