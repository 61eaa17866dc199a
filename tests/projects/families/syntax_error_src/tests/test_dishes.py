from menu.dishes import price


def test_price():
    assert price("soup") == 4.5
