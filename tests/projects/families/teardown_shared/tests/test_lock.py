from locks.lock import HELD


def test_held(held):
    assert held.lower() in HELD


def test_is_text(held):
    assert isinstance(held, str)


def test_not_empty(held):
    assert held


def test_title(held):
    assert held.istitle()


def test_set():
    assert isinstance(HELD, set)
