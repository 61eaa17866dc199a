from courier.labels import Label


def test_label():
    assert Label("P1", "us").text() == "P1 via us.carrier.example"
