from geometry.shapes import area, describe, perimeter


def test_perimeter():
    assert perimeter(2, 3) == 10


def test_area():
    assert area(2, 3) == 6


def test_perimeter_of_square():
    assert perimeter(5, 5) == 20


def test_area_of_strip():
    got = area(10, 1)
    assert got == 10


def test_perimeter_of_strip():
    length = perimeter(100, 1)
    assert length == 202


def test_area_of_square():
    assert area(4, 4) == 16


def test_area_is_smaller_than():
    assert area(9, 2) < 20


def test_describe():
    assert describe(1, 2) == "1 by 2"
