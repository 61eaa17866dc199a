from exporter import reports


def test_monthly(tmp_path):
    assert reports.monthly([[1]], tmp_path).exists()
