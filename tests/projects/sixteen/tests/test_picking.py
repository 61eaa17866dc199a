from depot.picking import pick, pick_all


def test_pick():
    assert pick("P-1", "A1") == "P-1"


def test_pick_all():
    assert pick_all([("P-1", "A1"), ("P-2", "B2")], "north") == 2
