from datetime import date

from intake import fields


def test_amount():
    assert fields.amount("1.234,50") == 1234.5


def test_small_amount():
    assert fields.amount("0,99") == 0.99


def test_day():
    assert fields.day("2024-05-31") == date(2024, 5, 31)


def test_other_day():
    assert fields.day("2024-01-02") == date(2024, 1, 2)


def test_count():
    assert fields.count("1 200") == 1200


def test_simple_count():
    assert fields.count("7") == 7


def test_pair():
    assert fields.pair("url:http://x") == ("url", "http://x")


def test_choice():
    assert fields.choice("Yes") == 0
