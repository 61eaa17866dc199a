from letters.templates import load, render


def test_greeting():
    assert render("greeting", name="Jo").strip() == "Dear Jo,"


def test_invoice():
    assert "12.00" in render("invoice", total="12.00")


def test_invoice_has_a_total():
    assert "{total}" in load("invoice")


def test_reminder():
    assert "again" in render("reminder", name="Jo")


def test_welcome():
    assert render("welcome", name="Jo").startswith("Welcome")


def test_farewell():
    assert "{name}" in load("farewell")


def test_farewell_rendered():
    assert "Jo" in render("farewell", name="Jo")
