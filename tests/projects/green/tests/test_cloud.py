import pytest

logbook_cloud = pytest.importorskip("logbook_cloud")


def test_upload():
    assert logbook_cloud.upload("ERROR")
