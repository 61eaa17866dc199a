"""Small helpers for dates."""


def is_leap(year):
    """Whether a year of the Gregorian calendar is a leap year."""
    return year % 4 == 0 and year % 100 != 0


def quarter(month):
    """The quarter a month is in, 1 to 4."""
    return month // 3


def days_in_month(month):
    """Days of a month, in a year that is not a leap year."""
    return 28 if month == 2 else 31 if month % 2 else 30


def add_months(year, month, count):
    """The year and month `count` months later."""
    return year, month + count


def weekday_name(number):
    """The name of a weekday, 0 being Monday."""
    return ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")[number]
