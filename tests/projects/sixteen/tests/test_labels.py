from depot.labels import render


def test_render():
    assert render("DE-X-10042-7").startswith("<svg")
