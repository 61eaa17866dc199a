import pytest
from depot.weights import convert, to_pounds


def test_convert():
    assert convert(1000, "kg") == 1


def test_to_pounds():
    assert to_pounds(907.184) == 2


@pytest.mark.xfail(reason="stones are not supported", strict=True)
def test_kilograms_of_nothing():
    assert convert(0, "kg") == 0
