from depot.routes import gate_for


def test_near():
    assert gate_for("DE") == 1


def test_overseas():
    assert gate_for("US") == 9
