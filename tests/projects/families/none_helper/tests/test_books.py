from shelf.catalog import field

GO = "978-0-13-468599-1"


def test_title_in_capitals():
    assert field(GO, "title").upper() == "THE GO PROGRAMMING LANGUAGE"


def test_first_author():
    assert field(GO, "authors")[0] == "Donovan"


def test_every_author_has_a_name():
    for author in field(GO, "authors"):
        assert author


def test_number_of_authors():
    assert len(field(GO, "authors")) == 2


def test_pages():
    assert field(GO, "pages") == 400


def test_two_authors():
    first, second = field(GO, "authors")
    assert (first, second) == ("Donovan", "Kernighan")


def test_is_tagged():
    assert "programming" in field(GO, "tags")
