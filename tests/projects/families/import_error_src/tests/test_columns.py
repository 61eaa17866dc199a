from exporter.sheets import columns


def test_columns():
    assert columns([[1, 2, 3]]) == 3
