from crm import reports


def test_line():
    assert reports.line
