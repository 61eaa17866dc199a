import pytest
from convert.units import length, to_base, weight


def test_metres():
    assert length(3, "m") == 3


@pytest.mark.parametrize(
    ("function", "value", "unit", "expected"),
    [
        (length, 2, "km", 2000),
        (length, 5, "km", 5000),
        (length, 50, "cm", 0.5),
        (length, 300, "cm", 3),
        (weight, 2, "kg", 2000),
        (weight, 5, "kg", 5000),
        (weight, 7, "g", 7),
        (weight, 0, "g", 0),
    ],
)
def test_unit(function, value, unit, expected):
    assert function(value, unit) == expected


def test_base():
    assert to_base(4, "m") == 4
