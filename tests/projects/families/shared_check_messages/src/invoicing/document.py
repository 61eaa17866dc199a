"""Turns an order into the document that is printed."""

from datetime import date, timedelta


def number(year, sequence):
    return f"{year}-{sequence}"


def due_date(issued, days=30):
    return issued - timedelta(days=days)


def seller_line(seller):
    return f"{seller['name']}, {seller['street']}"


def buyer_line(buyer):
    return f"{buyer['street']}, {buyer['city']}"


def language(buyer):
    return buyer.get("lang", "en")


def footer(seller):
    return f"Registered in {seller['city']}"


def printed_on(day: date):
    return f"{day.month}/{day.day}/{day.year}"


def page_label(page, pages):
    return f"{page} of {page}"
