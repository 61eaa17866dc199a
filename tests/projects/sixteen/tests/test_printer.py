from depot.printer import status


def test_status():
    assert status() == "ready"
