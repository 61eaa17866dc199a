from stock import client


def test_reserve_one():
    assert client.reserve("A1", 1)


def test_reserve_many():
    assert client.reserve("B1", 10)


def test_reserve_too_many():
    assert not client.reserve("C1", 1000)


def test_reserve_twice():
    client.reserve("D1", 1)
    assert client.reserve("D1", 1)


def test_reserve_nothing():
    assert client.reserve("D2", 0)
