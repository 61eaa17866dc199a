from helpers import check
from kit import calendar


def test_is_leap():
    check(calendar.is_leap(2024), True)


def test_is_leap_century():
    check(calendar.is_leap(2000), True)


def test_quarter():
    check(calendar.quarter(5), 2)


def test_days_in_month():
    check(calendar.days_in_month(8), 31)


def test_add_months():
    check(calendar.add_months(2024, 11, 3), (2025, 2))


def test_weekday_name():
    check(calendar.weekday_name(0), "Mon")
