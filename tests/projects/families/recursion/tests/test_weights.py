from parts.weights import weight, weight_of_all


def test_frame():
    assert weight("frame") == 1800


def test_wheel():
    assert weight("wheel") == 560


def test_tandem():
    assert weight("tandem") > 2000


def test_set_of_bearings():
    assert weight_of_all(["bearing", "bearing"]) == 60
