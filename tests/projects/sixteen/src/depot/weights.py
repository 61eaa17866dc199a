"""Weights, in grams."""

import warnings


def to_pounds(grams):
    return round(in_pounds(grams), 2)


def in_pounds(grams):
    warnings.warn("in_pounds() goes away in release 8, use convert()", DeprecationWarning, stacklevel=1)
    return grams / 453.592


def convert(grams, unit):
    return grams / {"lb": 453.592, "kg": 1000}[unit]
