from depot.routes import plan


def test_plan():
    assert plan(["DE", "US"]) == {"DE": 1, "US": 9}
