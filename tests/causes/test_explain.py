import pytest
from records import failure, in_test, origin, raised

from loop_close.causes.grouping import join_explained
from loop_close.detectors import claim
from loop_close.model import Site


def about(*names, inner=(), type="AssertionError", kind="test-failure", file="src/a.py"):
    """A verdict on functions, and those whose results were handed to them."""
    site = Site(
        frame=in_test(),
        statement="assert f()",
        origins=tuple(origin(n, file) for n in names),
        inner=tuple(f"{file}:{n}" for n in inner),
    )
    found = failure(raised(type, "no", [in_test()], site=site))
    return claim(kind, found), found


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ([], []),
        ([about("f")], [[0]]),
        ([about("f"), about("g")], [[0], [1]]),
        # nothing fails on the inner one alone
        ([about("f", inner="g"), about("h")], [[0], [1]]),
        ([about("f", inner="g"), about("h", inner="g")], [[0], [1]]),
        ([about("f", inner="g"), about("g", "h")], [[0], [1]]),
        # no verdicts, or of the tests' own helpers
        ([about("f", inner="g"), about("g", type="ValueError")], [[0], [1]]),
        ([about("f", inner="g", type="ValueError"), about("g")], [[0], [1]]),
        ([about("f", "g"), about("g", file="tests/a.py")], [[0], [1]]),
        ([about("f", inner="g"), about("g", kind="other")], [[0], [1]]),
        # one wrong function explains both
        ([about("f", inner="g"), about("g")], [[1, 0]]),
        ([about("g"), about("f", inner="g")], [[0, 1]]),
        ([about("f", "g"), about("g")], [[1, 0]]),
        ([about("f", inner="g"), about("h", "g"), about("g")], [[2, 0, 1]]),
    ],
)
def test_parts_of_one(failing, expected):
    assert join_explained([[n] for n in range(len(failing))], failing) == expected


def test_every_failure_of_a_part_has_to_involve_it():
    failing = [about("f", inner="g"), about("f"), about("g")]
    assert join_explained([[0, 1], [2]], failing) == [[0, 1], [2]]
    assert join_explained([[0], [1], [2]], failing[:1] * 2 + failing[2:]) == [[2, 0, 1]]


def test_of_two_explanations_the_one_with_more_tests_is_taken():
    failing = [about("f", inner="gh"), about("g"), about("h"), about("h")]
    assert join_explained([[0], [1], [2, 3]], failing) == [[1], [2, 3, 0]]


def test_nothing_is_lost():
    failing = [about(a, inner=b) for a in "fgh" for b in ("", "f", "g", "gh")]
    joined = join_explained([[n] for n in range(len(failing))], failing)
    assert sorted(n for part in joined for n in part) == list(range(len(failing)))
