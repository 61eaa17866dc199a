from exporter.sheets import header


def test_header():
    assert header(["name", "price"]) == ["Name", "Price"]
