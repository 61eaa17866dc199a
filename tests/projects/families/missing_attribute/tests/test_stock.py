from depot import stock


def test_level():
    assert stock.level("bolt") == 40


def test_reserve():
    assert stock.reserve("bolt", 5) == 5


def test_reserve_all():
    assert stock.reserve("nut", 25) == 25


def test_reserve_too_many():
    held = stock.reserve("nut", 100)
    assert held == 25


def test_reserve_unknown():
    assert stock.reserve("screw", 1) == 0


def test_release():
    assert stock.release("bolt", 2) == 42


def test_release_none():
    assert stock.release("bolt", 0) == 40


def test_release_unknown():
    level = stock.release("screw", 3)
    assert level == 3


def test_release_is_positive():
    assert stock.release("nut", 1) > 0
