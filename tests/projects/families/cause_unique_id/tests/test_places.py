from stock import client


def test_warehouse_north():
    assert client.warehouse("A1") == "north"


def test_warehouse_south():
    assert client.warehouse("B1") == "south"


def test_same_warehouse():
    assert client.warehouse("A1") == client.warehouse("A2")


def test_path():
    assert client.fetch("/health") == {"ok": True}


def test_version():
    answer = client.fetch("/version")
    assert answer["major"] == 2
