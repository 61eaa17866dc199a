from itertools import pairwise

import pytest

from loop_close.trace import session
from loop_close.trace.session import ALLOWANCE, SHARE, Budget


class Spending(Budget):
    """Spends seconds as they are, not as a multiple of what was measured."""

    def spend(self, seconds):
        self.spent += seconds


@pytest.fixture
def now(monkeypatch):
    """The CPU seconds of the process, as a list of one."""
    seconds = [1.0]
    monkeypatch.setattr(session, "_CPU", lambda: seconds[0])
    return seconds


def test_tests_are_tracked_until_the_share_is_spent_and_again_when_time_went_by(now):
    found = Spending()
    assert found.allows("a.py::test_a")
    found.spend(ALLOWANCE)
    assert not found.allows("a.py::test_b")
    now[0] = 1.2 * ALLOWANCE / SHARE
    assert not found.allows("a.py::test_c")  # to begin again costs time
    now[0] = 1.3 * ALLOWANCE / SHARE
    assert found.allows("a.py::test_c")
    found.spend(0.28 * ALLOWANCE)
    assert found.allows("a.py::test_d")


def test_without_a_limit_all_are_tracked(now):
    found = Spending(is_unlimited=True)
    found.spend(100)
    assert found.allows("a.py::test_a")


def test_what_failed_last_time_is_tracked_whatever_it_costs(now):
    found = Spending(["a.py::test_b[1]"])
    found.spend(100)
    assert [found.allows(f"a.py::test_b[{n}]") for n in (1, 2)] == [True, False]


@pytest.mark.parametrize("case", ["test_a[{}]", "test_a_00{}"])
def test_cases_of_a_function_that_is_known_come_last(now, case):
    found = Spending()
    assert all(found.allows(f"a.py::{case.format(n)}") for n in range(4))
    found.spend(0.7 * ALLOWANCE)
    assert not found.allows(f"a.py::{case.format(4)}")
    assert found.allows("a.py::test_b[0]")


def test_parameters_wait_until_much_less_of_the_budget_is_spent(now):
    found = Spending()
    assert all(found.allows(f"a.py::test_a[{n}]") for n in range(3))
    found.spend(0.7 * ALLOWANCE)
    allowed = []
    for _ in range(1000):  # each test takes as much time as lets the next be tracked, if a little were enough
        now[0] += ALLOWANCE / SHARE / 500
        allowed.append(found.allows("a.py::test_a[4]"))
        found.spend(0.01 * ALLOWANCE * allowed[-1])
    assert 0 < sum(one != other for one, other in pairwise(allowed)) < 12
