from itertools import permutations

import pytest
from called import CART, called, calls, nodeid

from loop_close.causes.candidates import Candidate, with_words

FOUND = [
    Candidate(file=CART, function=name, spectrum=None, clue=None, features={"line_score": 0.5})
    for name in ("total", "tax")
]
KNOWN = calls(called("tax", 30), called("total", 10), passed=4)


def words(known, *tests):
    found = with_words(FOUND, known, [*map(nodeid, tests)])
    assert all(each.features["line_score"] == 0.5 for each in found)
    return [each.features["words"] for each in found]


def likes(**scores):
    names = [each.function for each in KNOWN.functions]
    like = {
        nodeid(test): tuple((names.index(name), score) for name, score in each.items())
        for test, each in scores.items()
    }
    return KNOWN._replace(like_tests=like)


def test_the_function_with_most_of_the_words_has_one():
    assert words(likes(a={"tax": 2.0, "total": 8.0}), "a") == [1.0, 0.25]


def test_scores_are_means_over_the_tests_that_are_known():
    known = likes(a={"tax": 2.0}, b={"tax": 2.0, "total": 8.0}, other={"tax": 90.0})
    assert words(known, "a", "b") == [1.0, 0.5]


def test_where_many_tests_fail_their_words_count_half():
    assert words(likes(a={"tax": 2.0, "total": 4.0}), "a", "b", "c") == [0.5, 0.25]


@pytest.mark.parametrize("known", [KNOWN, likes(a={}), likes(other={"tax": 2.0})])
def test_nothing_is_known(known):
    assert words(known, "a") == [0.0, 0.0]


def test_the_order_of_the_tests_changes_nothing():
    known = likes(a={"tax": 0.1, "total": 0.2}, b={"tax": 0.2, "total": 2.9}, c={"tax": 2.9, "total": 0.1})
    assert {tuple(words(known, *order)) for order in permutations("abc")} == {(0.5, 0.5)}


def test_a_low_highest_score_says_little():
    assert words(likes(a={"tax": 0.1}), "a") == [0.0, 0.1]
