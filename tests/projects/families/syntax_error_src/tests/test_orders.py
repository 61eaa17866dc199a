from menu.orders import total


def test_total():
    assert total(["soup", "pie"]) == 10.5
