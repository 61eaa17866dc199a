from menu import dishes


def test_dishes():
    assert len(dishes.DISHES) == 3
