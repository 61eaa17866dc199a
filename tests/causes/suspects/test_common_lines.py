import pytest
from called import CART, called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st

from loop_close.causes.locate import joint_less_apart, lines_of

TOTAL = called("total", 10, passed=20, lines={1: 20, 2: 0, 3: 5})


def of(known, *tests):
    return lines_of({nodeid(test) for test in tests}, known)


def difference(passed=20, **ran):
    """Of the tests whose names begin with ``a`` and those with ``b``."""
    known = calls(TOTAL, passed=passed, **ran)
    return joint_less_apart(*(of(known, *(name for name in ran if name[0] == side)) for side in "ab"))


def test_what_tests_ran():
    lines = of(calls(TOTAL, passed=20, a=[(0, 1), (0, 2)], b=[(0, 2)]), "a", "b", "unknown")
    assert (len(lines.tests), lines.failed, lines.passed) == (
        2,
        {(0, 11): 1, (0, 12): 2},
        {(0, 11): 20, (0, 12): 0},
    )
    assert lines.scores == [(1.0, (0, 12)), (pytest.approx(1 / (2 * 21) ** 0.5), (0, 11))]


def test_what_shows_a_value_is_left_out():
    assert of(calls(called("Cart.__repr__", 90), a=[(0, 1)]), "a").failed == {}


def test_what_hands_errors_on_is_left_out():
    known = calls(called("run.<locals>.<lambda>", 10), called("total", 30), a=[(0, 1), (1, 1)])
    assert lines_of({nodeid("a")}, known, {(CART, "run")}).failed == {(1, 31): 1}


def test_a_line_in_common_explains_both():
    assert difference(a=[(0, 2)], b=[(0, 2)]) == 1


def test_each_is_explained_by_a_line_of_its_own():
    assert difference(a=[(0, 2)], b=[(0, 3)]) == pytest.approx(0 - (1 + 6**-0.5) / 2)


def test_one_explains_both_as_well_as_two_do():
    assert difference(a=[(0, 2), (0, 4)], b=[(0, 2), (0, 5)]) == 0


def test_a_line_of_some_of_the_tests():
    """Two of four ran it; as the best of either it counts half, as half of the other's tests ran it."""
    joint, apart = 2 / (4 * 2) ** 0.5, 1 / (2 * 1) ** 0.5 / 2
    ran = {"a1": [(0, 2)], "a2": [(0, 1)], "b1": [(0, 2)], "b2": [(0, 1)]}
    assert difference(**ran) == pytest.approx(joint - apart)


def test_nothing_is_known():
    assert joint_less_apart(of(calls()), of(calls(TOTAL, a=[(0, 2)]), "a")) == -0.5


ran = st.lists(st.tuples(st.just(0), st.integers(1, 4)), unique=True, max_size=4)


@given(st.lists(ran, max_size=3), st.lists(ran, max_size=3))
def test_it_is_a_difference_of_two_measures(one, other):
    named = {f"{side}{n}": each for side, lists in (("a", one), ("b", other)) for n, each in enumerate(lists)}
    mirrored = {("b" if name[0] == "a" else "a") + name[1:]: each for name, each in named.items()}
    assert -1 <= difference(**named) <= 1
    assert difference(**named) == pytest.approx(difference(**mirrored))
