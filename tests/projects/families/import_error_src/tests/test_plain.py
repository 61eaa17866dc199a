from exporter.plain import to_csv


def test_to_csv():
    assert to_csv([[1, 2], [3, 4]]) == "1,2\n3,4"
