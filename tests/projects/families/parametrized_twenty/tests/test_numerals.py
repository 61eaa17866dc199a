import pytest
from roman.numerals import parse


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("IV", 4),
        ("IX", 9),
        ("XIV", 14),
        ("XIX", 19),
        ("XXIV", 24),
        ("XXIX", 29),
        ("XL", 40),
        ("XLI", 41),
        ("XLIV", 44),
        ("XLIX", 49),
        ("XC", 90),
        ("XCV", 95),
        ("XCIX", 99),
        ("CD", 400),
        ("CDXL", 440),
        ("CDXCIX", 499),
        ("CM", 900),
        ("CMXC", 990),
        ("MCMXC", 1990),
        ("MCMLIV", 1954),
    ],
)
def test_smaller_before_larger(text, number):
    assert parse(text) == number


@pytest.mark.parametrize(("text", "number"), [("I", 1), ("VI", 6), ("MDC", 1600)])
def test_larger_before_smaller(text, number):
    assert parse(text) == number
