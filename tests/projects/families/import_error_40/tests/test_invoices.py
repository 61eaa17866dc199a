import ledger_telemetry


def test_invoices():
    assert ledger_telemetry.count("invoices") == 0
