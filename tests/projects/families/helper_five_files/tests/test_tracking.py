from courier.tracking import track


def test_track():
    assert track("E77").endswith("/E77")
