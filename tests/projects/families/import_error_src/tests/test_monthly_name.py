from exporter.reports import monthly


def test_name(tmp_path):
    assert monthly([], tmp_path).name == "monthly.xlsx"
