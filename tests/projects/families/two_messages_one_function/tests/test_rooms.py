import pytest
from booking.rooms import book


def test_book():
    assert book("blue", 6, 9, 10) == "blue 9-10"


def test_too_many():
    with pytest.raises(ValueError, match="too small"):
        book("red", 5, 9, 10)


def test_full_red_room():
    assert book("red", 4, 9, 10) == "red 9-10"


def test_full_blue_room():
    assert book("blue", 12, 14, 16) == "blue 14-16"


def test_first_hour():
    assert book("red", 2, 8, 9) == "red 8-9"


def test_whole_day():
    assert book("blue", 2, 8, 20) == "blue 8-20"


def test_morning():
    assert book("blue", 3, 8, 12).startswith("blue")
