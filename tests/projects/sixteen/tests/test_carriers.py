from depot.carriers import carrier


def test_preferred():
    assert carrier("DE") == "Nord"


def test_fallback():
    assert carrier("AT") == "KONTINENTAL"


def test_rest_of_the_world():
    assert carrier("US") == "WORLDWIDE"
