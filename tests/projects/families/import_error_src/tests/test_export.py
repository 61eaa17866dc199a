import exporter.sheets as sheets


def test_export(tmp_path):
    assert sheets.export([[1]], tmp_path / "a.xlsx").exists()
