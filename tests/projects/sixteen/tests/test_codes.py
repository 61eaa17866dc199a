import pytest
from depot.codes import check_digit, parse


def test_check_digit():
    assert check_digit(10042) == 7


@pytest.mark.parametrize(
    "text",
    [
        "DE-X-10042-7",
        "DE-X-10043-8",
        "DE-S-20011-4",
        "DE-S-20012-5",
        "FR-X-31111-7",
        "FR-X-31112-8",
        "FR-S-40001-5",
        "FR-S-40002-6",
        "AT-X-55555-5",
        "AT-X-55556-6",
        "AT-S-60606-8",
        "AT-S-60607-9",
        "US-X-70007-4",
        "US-X-70008-5",
        "US-S-81818-6",
        "US-S-81819-7",
        "IT-X-90001-0",
        "IT-X-90002-1",
        "IT-S-12345-5",
        "IT-S-12346-6",
    ],
)
def test_parse(text):
    assert parse(text).country == text[:2]


def test_too_few_parts():
    with pytest.raises(ValueError, match="not enough values"):
        parse("DE-X-1")
