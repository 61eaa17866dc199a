import sys
from types import FunctionType

import pytest

from loop_close.monitor import watch
from loop_close.monitor.codes import Ownership
from loop_close.monitor.session import Attribution
from loop_close.monitor.watch import ALLOWANCE, SHARE, SHARE_AFTER_FAILURE, Budget, LineTracker

needs_monitoring = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")


@pytest.fixture
def now(monkeypatch):
    """The CPU seconds of the process, as a list of one."""
    seconds = [1.0]
    monkeypatch.setattr(watch, "_CPU", lambda: seconds[0])
    return seconds


def test_tests_are_tracked_until_the_share_is_spent_and_again_when_time_went_by(now):
    found = Budget()
    assert found.allows("a.py::test_a")
    found.spend(ALLOWANCE + SHARE)
    assert not found.allows("a.py::test_b")
    now[0] = 2 * ALLOWANCE / SHARE
    assert found.allows("a.py::test_c")


def test_without_a_limit_all_are_tracked(now):
    found = Budget(is_unlimited=True)
    found.spend(100)
    assert found.allows("a.py::test_a")


def test_what_failed_last_time_is_tracked_whatever_it_costs(now):
    found = Budget(["a.py::test_b[1]"])
    found.spend(100)
    assert [found.allows(f"a.py::test_b[{n}]") for n in (1, 2)] == [True, False]


def test_the_file_of_a_failure_has_a_share_of_its_own(now):
    found = Budget()
    found.spend(ALLOWANCE + SHARE)
    found.failed("a.py::TestA::test_a")
    assert [found.allows(f"{file}.py::test_b") for file in "ab"] == [True, False]
    found.spend(SHARE_AFTER_FAILURE)
    assert not found.allows("a.py::test_c")


def test_parameters_of_a_function_that_is_known_come_last(now):
    found = Budget()
    assert all(found.allows(f"a.py::test_a[{n}]") for n in range(4))
    found.spend(0.7 * ALLOWANCE)
    assert not found.allows("a.py::test_a[4]")
    assert found.allows("a.py::test_b[0]")


def test_what_is_too_short_for_a_clock_is_counted():
    found = Budget()
    found.line = 2.0
    found.spend(1.0, lines=10, functions=1, steps=1)
    assert found.spent == 1 + 2 * (10 + watch._RETURN + watch._STEP)


class Every(Budget):
    """Tracks what it is told to."""

    def __init__(self, tracked):
        super().__init__()
        self._tracked = tracked

    def allows(self, nodeid):
        return nodeid in self._tracked


class Report:
    when = "call"

    def __init__(self, outcome):
        self.outcome = outcome


def made(name, source="return 1"):
    space = {"__name__": "made"}
    exec(compile(f"def {name}():\n    {source}\n", f"/project/{name}.py", "exec"), space)
    return space[name]


@pytest.fixture
def told():
    """Run tests that call functions; what is known of it."""
    allowed = Every({"a", "c", "e"})
    watch = LineTracker(Ownership("/project"), allowed)
    assert watch.start() == ""
    tests = Attribution(watch, allowed)

    def run(nodeid, *functions, outcome="passed"):
        tests.begin_test(nodeid)
        for function in functions:
            function()
        tests.saw(Report(outcome))
        tests.end_test(nodeid, ())

    yield run, tests, watch
    watch.stop()


def counted(tests, watch):
    """Passing tests by function, failing ones with their functions, functions that ran without a test."""
    name = {number: function.code.co_name for number, function in watch.functions.items()}
    passed = {name[number]: found.tests for number, found in tests.count.passing.by_function().items()}
    lines = list(tests.count.failed_lines)
    failed = {test: [name[lines[place][0]] for place in each] for test, each in tests.count.failed.items()}
    return passed, failed, {name[number] for number in tests.count.in_untracked}


@needs_monitoring
def test_what_a_test_that_is_passed_over_runs_is_no_matter_of_the_next(told):
    run, tests, watch = told
    f, g, h = (made(name) for name in "fgh")
    run("a", f)
    run("b", f, g)  # passed over
    run("c", f, g, h)
    run("d", h, outcome="failed")  # passed over
    run("e", g, outcome="failed")
    tests.end()
    assert counted(tests, watch) == ({"f": 2, "g": 1, "h": 1}, {"e": ["g"]}, {"f", "g", "h"})
    assert (tests.count.passed, tests.count.passed_over, tests.count.omitted) == (2, 2, 1)


@needs_monitoring
def test_function_that_only_a_test_that_is_passed_over_runs_is_known_to_have_run(told):
    run, tests, watch = told
    run("b", made("f"))
    tests.end()
    assert counted(tests, watch) == ({}, {}, {"f"})


@needs_monitoring
def test_such_a_function_is_known_also_when_tracking_has_ended(told):
    run, tests, watch = told
    module = compile(
        "def g(): return 1", "/project/g.py", "exec"
    )  # never runs, as that of a module imported before
    run("a", made("f"), outcome="failed")
    run("b", FunctionType(module.co_consts[0], {}))
    watch.stop()
    tests.end()
    assert counted(tests, watch)[1] == {"a": ["f"]}
    assert {watch.functions[number].code.co_name for number in tests.count.outside} == {"g"}


@needs_monitoring
def test_setup_that_others_share_is_tracked_in_a_test_that_is_passed_over(told):
    _, tests, watch = told
    f, g = made("f"), made("g")
    fixture = object()
    f()
    tests.begin_test("b")
    tests.begin_setup()
    f()
    tests.end_setup(fixture, is_broken=False)
    g()
    tests.end_test("b", ())
    tests.begin_test("c")
    tests.saw(Report("passed"))
    tests.end_test("c", [(fixture, True)])
    assert counted(tests, watch)[0] == {"f": 1}


@needs_monitoring
def test_lines_are_not_told_again_to_a_test_that_is_passed_over(told):
    run, _, watch = told
    f = made("f")
    run("a", f)
    run("b")
    f()
    assert watch.hits != []
    watch.take()
    f()
    assert watch.hits == []


@needs_monitoring
def test_a_line_has_a_cost():
    watch = LineTracker(Ownership("/project"), found := Budget())
    assert watch.start() == ""
    watch.stop()
    assert 0 < found.line < 1e-3
    assert watch.hits == []
