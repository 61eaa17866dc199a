from helpers import check
from kit.figures import clamp, mean, median, percent, round_up


def test_clamp_inside():
    check(clamp(5, 0, 10), 5)


def test_clamp_above():
    check(clamp(50, 0, 10), 10)


def test_mean():
    check(mean([1, 2, 2, 2]), 1.75)


def test_median():
    values = [9, 1, 5, 4, 3]
    check(median(values), 4)


def test_percent():
    check(percent(5, 20), 25)


def test_round_up():
    check(round_up(13, 5), 15)
