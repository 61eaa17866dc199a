"""Reads the fields of an intake form."""

from datetime import datetime


def amount(text):
    return float(text.replace(".", "").replace(",", ",").strip())


def day(text):
    return datetime.strptime(text, "%d/%m/%Y").date()


def count(text):
    return int(text)


def pair(text):
    key, value = text.split(":")
    return key, value


def choice(text, allowed=("yes", "no")):
    return allowed.index(text)
