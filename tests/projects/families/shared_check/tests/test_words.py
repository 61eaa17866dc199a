from helpers import check
from kit.words import count_words, initials, slugify, title_case, truncate


def test_slugify():
    check(slugify(" Red Shoes "), "red-shoes")


def test_slugify_one_word():
    check(slugify("Shoes"), "shoes")


def test_initials():
    check(initials("Ada Lovelace"), "AL")


def test_truncate():
    got = truncate("a long sentence", 8)
    check(got, "a lon...")


def test_truncate_short():
    check(truncate("short", 8), "short")


def test_title_case():
    check(title_case("war and peace"), "War And Peace")


def test_count_words():
    check(count_words("one  two   three"), 3)
