from depot import manifest


def test_total_weight():
    assert manifest.total_weight([{"grams": 10}, {"grams": 5}]) == 15
