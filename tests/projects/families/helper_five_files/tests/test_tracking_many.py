from courier.tracking import track_all


def test_track_none():
    assert track_all([]) == []


def test_track_all():
    assert len(track_all(["E1", "U2"])) == 2
