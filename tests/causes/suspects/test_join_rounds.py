from itertools import combinations, permutations, product

import pytest
from called import CART, called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.locate import CauseEvidence, Join, LinesRun, clusters, joined
from loop_close.model import Evidence, RootCause


def cause(test, exc=None):
    each = failure(exc or verdict(test=test), nodeid(test))
    return RootCause(
        id=test, kind="test-failure", evidence=(Evidence(kind="test-failure", snippet="", failure=each),)
    )


def out_of(function, type):
    return raised(type=type, frames=[in_test(), frame(CART, function)])


def groups(causes, known):
    return {
        frozenset(e.failure.nodeid.split("::")[1] for e in each.evidence) for each in joined(causes, known)
    }


def says(sure):
    """Groups that blame one function, each for its share, and share the line that no passing test ran."""

    def tell(group):
        share = sure.get(group, 0.9)
        tests = frozenset(map(str, group))
        lines = LinesRun(tests=tests, failed={(0, 1): len(tests)}, passed={(0, 1): 0}, scores=[(1.0, (0, 1))])
        blame = {("a.py", "total"): (share, 5)}
        return CauseEvidence(kind="test-failure", blame=blame, lines=lines, place=None)

    return tell


@pytest.mark.parametrize(
    ("sure", "expected"),
    [
        ({}, [(0, 1, 2)]),
        ({(0, 1, 2): 0.1}, [(0, 1), (2,)]),
        ({(0, 1, 2): 0.1, (0, 1): 0.1}, [(0,), (1,), (2,)]),
    ],
)
def test_a_whole_in_which_nothing_stands_out_is_refused(sure, expected):
    """Then the surest two are one, if they are as sure; else none of them."""
    assert Join(says(sure))(range(3)) == expected


def test_nothing_to_join():
    assert Join(says({}))([]) == []


def test_two_exceptions_stay_two_by_way_of_a_third():
    """With the verdict the first one blames another function than the two exceptions came out of."""
    known = calls(
        called("f0", 10, 20, {0: 1, 1: 3, 2: 8}),
        called("f2", 50, 20, {0: 9, 1: 7, 2: 16}),
        passed=40,
        t0=[(0, 0), (0, 1), (1, 0), (1, 2)],
        t1=[(1, 0)],
        t2=[(0, 1), (1, 1)],
    )
    causes = [cause("t0", out_of("f0", "ValueError")), cause("t1"), cause("t2", out_of("f0", "KeyError"))]
    assert not any({"t0", "t2"} <= group for group in groups(causes, known))


def test_the_order_of_the_causes_does_not_matter():
    """Of two twins the one or the other may be what is joined."""
    lines = {1: 10, 2: 3}
    known = calls(
        called("f", 10, 20, lines, file="f.py"),
        called("g", 10, 20, lines, file="g.py"),
        passed=40,
        a=[(0, 1), (0, 2)],
        b1=[(0, 1)],
        b2=[(1, 1)],
        c=[(1, 1), (1, 2)],
    )
    found = [groups(order, known) for order in permutations([cause(test) for test in ("a", "b1", "b2", "c")])]
    assert all(each == found[0] for each in found)


def test_of_a_list_any_two_are_one():
    """The first and the last agree with the second, and not with each other."""
    assert clusters(3, {(0, 1): 2.0, (1, 2): 1.0}) == [[0, 1], [2]]
    assert clusters(3, {(0, 1): 1.0, (1, 2): 2.0}) == [[0], [1, 2]]
    assert clusters(3, {(0, 1): 1.0, (0, 2): 0.0, (1, 2): 2.0}) == [[0, 1, 2]]
    assert clusters(2, {}) == [[0], [1]]


edges = st.dictionaries(st.sampled_from([*combinations(range(7), 2)]), st.floats(0, 5))


@given(edges)
def test_clusters_part_all_and_join_what_they_can(likely):
    found = clusters(7, likely)
    assert sorted(place for each in found for place in each) == [*range(7)]
    assert all(pair in likely for each in found for pair in combinations(each, 2))
    for one, other in combinations(found, 2):
        assert any((min(pair), max(pair)) not in likely for pair in product(one, other))
