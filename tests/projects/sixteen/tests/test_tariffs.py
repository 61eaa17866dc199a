from depot.tariffs import quote


def test_near():
    assert quote("near") == 490


def test_near_is_cheaper():
    assert quote("near") < 1290
