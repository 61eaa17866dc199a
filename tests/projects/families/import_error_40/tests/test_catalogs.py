import ledger_telemetry


def test_catalogs():
    assert ledger_telemetry.count("catalogs") == 0
