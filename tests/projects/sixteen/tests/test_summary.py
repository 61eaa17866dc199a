from depot.summary import by_country


def test_by_country():
    parcels = [
        {"country": "DE", "grams": 500},
        {"country": "FR", "grams": 900},
        {"country": "DE", "grams": 250},
    ]
    assert by_country(parcels) == {
        "DE": {"parcels": 2, "grams": 750},
        "FR": {"parcels": 1, "grams": 900},
    }


def test_no_parcels():
    assert by_country([]) == {}
