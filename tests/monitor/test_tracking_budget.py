import sys
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread
from types import CodeType, FunctionType
from unittest.util import safe_repr
from weakref import ref

import pytest

from loop_close import monitor
from loop_close.monitor import (
    ALLOWANCE,
    SHARE,
    SHARE_AFTER_FAILURE,
    Budget,
    executions,
)
from loop_close.monitor.codes import Ownership
from loop_close.monitor.session import Attribution
from loop_close.monitor.tool import FREE_IDS, TakenError
from loop_close.monitor.watch import LineTracker

needs_monitoring = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")


@pytest.fixture
def now(monkeypatch):
    """The CPU seconds of the process, as a list of one."""
    seconds = [1.0]
    monkeypatch.setattr(monitor, "_CPU", lambda: seconds[0])
    return seconds


def test_tests_are_tracked_until_the_share_is_spent_and_again_when_time_went_by(now):
    found = Budget()
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
    found = Budget(is_unlimited=True)
    found.spend(100)
    assert found.allows("a.py::test_a")


def test_what_failed_last_time_is_tracked_whatever_it_costs(now):
    found = Budget(["a.py::test_b[1]"])
    found.spend(100)
    assert [found.allows(f"a.py::test_b[{n}]") for n in (1, 2)] == [True, False]


def test_the_file_of_a_failure_has_a_share_of_its_own(now):
    found = Budget()
    found.spend(ALLOWANCE)
    found.failed("a.py::TestA::test_a")
    assert [found.allows(f"{file}.py::test_b") for file in "ab"] == [True, False]
    found.spend(SHARE_AFTER_FAILURE)
    assert not found.allows("a.py::test_c")


@pytest.mark.parametrize("case", ["test_a[{}]", "test_a_00{}"])
def test_cases_of_a_function_that_is_known_come_last(now, case):
    found = Budget()
    assert all(found.allows(f"a.py::{case.format(n)}") for n in range(4))
    found.spend(0.7 * ALLOWANCE)
    assert not found.allows(f"a.py::{case.format(4)}")
    assert found.allows("a.py::test_b[0]")


def test_parameters_wait_until_much_less_of_the_budget_is_spent(now):
    found = Budget()
    assert all(found.allows(f"a.py::test_a[{n}]") for n in range(3))
    found.spend(0.7 * ALLOWANCE)
    allowed = []
    for _ in range(1000):  # each test takes as much time as lets the next be tracked, if a little were enough
        now[0] += ALLOWANCE / SHARE / 500
        allowed.append(found.allows("a.py::test_a[4]"))
        found.spend(0.01 * ALLOWANCE * allowed[-1])
    assert 0 < sum(one != other for one, other in pairwise(allowed)) < 12


def test_what_is_too_short_for_a_clock_is_counted():
    found = Budget()
    found.line = 2.0
    found.spend(1.0, lines=10, functions=1, steps=1, armed=1)
    assert found.spent == 1 + 2 * (10 + monitor._RETURN + monitor._STEP + monitor._ARMED)


class Every(Budget):
    """Tracks some tests."""

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
def tracking():
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
def test_what_a_test_that_is_passed_over_runs_is_no_matter_of_the_next(tracking):
    run, tests, watch = tracking
    f, g, h = (made(name) for name in "fgh")
    run("a", f)
    run("b", f, g)  # passed over
    run("c", f, g, h)
    run("d", h, outcome="failed")  # passed over
    run("e", g, outcome="failed")
    tests.end()
    # h is known from a test that was tracked
    assert counted(tests, watch) == ({"f": 2, "g": 1, "h": 1}, {"e": ["g"]}, {"f", "g"})
    assert (tests.count.passed, tests.count.passed_over, tests.count.omitted) == (2, 2, 1)


@needs_monitoring
def test_function_that_only_a_test_that_is_passed_over_runs_is_known_to_have_run(tracking):
    run, tests, watch = tracking
    run("b", made("f"))
    tests.end()
    assert counted(tests, watch) == ({}, {}, {"f"})


@needs_monitoring
def test_such_a_function_is_known_also_when_tracking_has_ended(tracking):
    run, tests, watch = tracking
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
def test_setup_that_others_share_is_tracked_in_a_test_that_is_passed_over(tracking):
    _, tests, watch = tracking
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
def test_lines_of_a_test_that_is_passed_over_are_not_reported(tracking):
    run, _, watch = tracking
    f = made("f")
    run("a", f)
    run("b")
    f()
    assert watch.hits == []
    assert sys.monitoring.get_local_events(watch._tool.id, f.__code__) == 0


@needs_monitoring
def test_all_lines_are_reported_again_in_a_test_after_it(tracking):
    run, tests, watch = tracking
    f = made("f", "x = [a for a in (1, 2)]\n    if x:\n        x = 3\n    return x")
    g, new = made("g", "return 1"), never_imported("new")
    run("a", f, g, outcome="failed")
    run("b", f, new)
    run("c", f, g, new, f, outcome="failed")
    run("d", f)
    run("e", f, g, outcome="failed")
    tests.end()
    lines = {
        nodeid: [*map([*tests.count.failed_lines].__getitem__, each)]
        for nodeid, each in tests.count.failed.items()
    }
    name = {number: function.code.co_name for number, function in watch.functions.items()}
    assert [name[number] for number, _ in lines["a"]] == ["f"] * 4 + ["g"]
    assert lines["a"] == lines["e"] == [line for line in lines["c"] if name[line[0]] != "new"]
    assert len(lines["c"]) == 6


def of_project(source, name="f", file="made"):
    space = {"__name__": "made"}
    exec(compile(source, f"/project/{file}.py", "exec"), space)
    return space.pop(name)


@pytest.fixture(params=["from_the_start", "after_one_that_is_passed_over"])
def lines(tracking, request):
    """Run failing tests whose lines are tracked; the lines of one, as names of functions and line numbers."""
    run, tests, watch = tracking
    if request.param == "after_one_that_is_passed_over":
        run("b")

    def lines_of(nodeid):
        known = list(tests.count.failed_lines)
        found = [known[place] for place in tests.count.failed[nodeid]]
        return [(watch.functions[number].code.co_name, line) for number, line in found]

    def run_failing(nodeid, *functions):
        run(nodeid, *functions, outcome="failed")
        return lines_of(nodeid)

    return run_failing, lines_of, tests, watch


@needs_monitoring
def test_lines_of_a_generator_that_an_earlier_test_began(lines):
    run, *_ = lines
    each = of_project("def f():\n    yield 1\n    x = 2\n    yield x\n    yield 3\n")()
    assert run("a", lambda: next(each)) == [("f", 2)]
    assert run("c", lambda: next(each)) == [("f", 3), ("f", 4)]
    assert run("e", lambda: next(each)) == [("f", 5)]


@needs_monitoring
def test_lines_of_a_function_that_runs_while_a_shared_fixture_is_set_up(lines):
    run, _, tests, _ = lines
    f = of_project("def f(call):\n    x = 1\n    call()\n    x = 2\n    return x\n")

    def set_up():
        tests.begin_setup()
        tests.end_setup(object(), is_broken=False)

    assert run("a", lambda: f(set_up)) == [("f", line) for line in (2, 3, 4, 5)]


@needs_monitoring
def test_lines_of_a_thread_that_an_earlier_test_began(lines):
    run, *_ = lines
    asked, answered = SimpleQueue(), SimpleQueue()
    f = of_project("def f(asked, answered):\n    while asked.get():\n        answered.put(\n            1)\n")
    thread = Thread(target=f, args=(asked, answered))

    def ask():
        asked.put(1)
        answered.get()

    def end():
        asked.put(0)
        thread.join()

    try:
        assert run("a", thread.start, ask)[:3] == [("f", 2), ("f", 3), ("f", 4)]
        assert {*run("c", ask)} >= {("f", 3), ("f", 4)}
    finally:
        end()


@needs_monitoring
def test_lines_of_a_function_that_a_shared_fixture_called_last_in_its_teardown(lines):
    run, _, tests, _ = lines
    f = of_project("def f():\n    return 1\n")
    tests.begin_test("a")
    tests.saw(Report("failed"))
    f()
    tests.torn_down(object(), is_shared=True)
    tests.end_test("a", ())
    assert run("c", f) == [("f", 2)]
    assert run("e", f) == [("f", 2)]


@needs_monitoring
def test_all_lines_of_a_function_whose_body_begins_on_its_first_line(lines):
    run, *_ = lines
    f = of_project("def f(a=1): return max(\n    a,\n    2)\n")
    g = of_project("def g():\n    return (lambda a, b=2: (a and\n        b and\n        a))(1)\n", "g")
    assert run("a", f) == [("f", 1), ("f", 2), ("f", 3)]
    assert {*run("c", g)} == {("g", 2), ("g", 3), ("g", 4)}


@pytest.mark.large
@needs_monitoring
def test_functions_that_a_test_makes_are_released(lines):
    run, *_ = lines
    made_now = []

    def make():
        for _ in range(3 * executions._FIRST_RELEASE):
            g = of_project("def g():\n    return 1\n", "g")
            g()
            made_now.append(ref(g.__code__))

    assert run("a", make) == [("g", 2)]
    assert sum(each() is not None for each in made_now) < executions._FIRST_RELEASE


@needs_monitoring
def test_function_that_starts_where_the_stack_is_used_up_is_reported_at_its_next_start(lines, monkeypatch):
    run, _, _, watch = lines
    f = of_project("def f():\n    return 1\n")
    events_of, left = watch._events_of, [1]

    def use_up(number):
        if left and watch._armed_now is not None:
            left.pop()
            raise RecursionError
        return events_of(number)

    assert run("a", f) == [("f", 2)]
    monkeypatch.setattr(watch, "_events_of", use_up)
    assert run("c", f, f) == [("f", 2)]


@needs_monitoring
def test_program_that_takes_the_tool_id_of_starts_within_a_test_ends_call_tracking(tracking):
    run, _, _ = tracking
    f = made("f")
    run("b", f)
    with pytest.raises(TakenError, match="took over our tool id"):
        run("c", lambda: sys.monitoring.free_tool_id(4), f)


def timed_out(*_):
    raise TimeoutError


@needs_monitoring
def test_a_switch_that_a_time_limit_ended_is_done_again(tracking, monkeypatch):
    run, _, watch = tracking
    f = of_project("def f(call):\n    call()\n    x = 1\n    return x\n")
    run("b")

    def switch():
        with monkeypatch.context() as patch:
            patch.setattr(watch, "_arm_running", timed_out)
            with pytest.raises(TimeoutError):
                watch.track(is_on=True)
        watch.track(is_on=True)

    f(switch)
    assert [line for _, line in watch.hits][-2:] == [3, 4]


@needs_monitoring
def test_starts_are_enabled_by_the_next_test_where_a_time_limit_ended_that(tracking, monkeypatch):
    run, tests, watch = tracking
    f, g = made("f"), made("g")
    run("b")
    run("c", f, g)
    run("d")
    with monkeypatch.context() as patch:
        patch.setattr(watch._starts._tool, "check", timed_out)
        with pytest.raises(TimeoutError):
            watch.track(is_on=True)
    run("e", f, g, outcome="failed")
    assert counted(tests, watch)[1] == {"e": ["f", "g"]}


@needs_monitoring
def test_without_a_tool_id_for_starts_lines_stay_reported(tracking):
    run, tests, watch = tracking
    f = made("f")
    sys.monitoring.use_tool_id(4, "other")
    try:
        run("a", f)
        run("b", f)
        run("c", f)
    finally:
        sys.monitoring.free_tool_id(4)
    tests.end()
    assert counted(tests, watch)[0] == {"f": 2}
    assert tests.count.passed_over == 1


@needs_monitoring
def test_starts_whose_tool_id_the_program_took_are_replaced_by_lines(tracking):
    run, tests, watch = tracking
    f = made("f")
    run("a", f)
    run("b", f)
    sys.monitoring.free_tool_id(4)
    run("c", f)
    run("d", f)
    tests.end()
    assert counted(tests, watch)[0]["f"] == 2


def never_imported(name):
    """A function whose module is not seen to run, like that of a plugin."""
    module = compile(f"def {name}(self=None): return 'x'", f"/project/{name}.py", "exec")
    return FunctionType(
        next(each for each in module.co_consts if isinstance(each, CodeType)), {}, argdefs=(None,)
    )


@needs_monitoring
def test_function_that_waits_to_be_tracked_is_not_of_the_setup_that_tracks_it(tracking):
    run, tests, watch = tracking
    f, g = never_imported("f"), made("g")
    fixture = object()
    run("b", f)
    tests.begin_test("d")
    tests.begin_setup()
    g()
    tests.end_setup(fixture, is_broken=False)
    tests.end_test("d", ())
    tests.begin_test("c")
    tests.saw(Report("passed"))
    tests.end_test("c", [(fixture, True)])
    tests.end()
    assert counted(tests, watch) == ({"g": 1}, {}, {"f", "g"})


@needs_monitoring
def test_function_that_first_runs_for_a_failure_message_is_not_of_the_test(tracking):
    run, tests, watch = tracking
    other = type("Other", (), {"__repr__": never_imported("shown")})()
    f = made("f")
    run("b")
    run("c", f, lambda: safe_repr(other), f, outcome="failed")
    run("e", other.__repr__, outcome="failed")
    tests.end()
    assert counted(tests, watch)[1] == {"c": ["f"], "e": ["shown"]}


@needs_monitoring
def test_without_a_second_tool_id_a_test_is_passed_over(tracking):
    run, tests, watch = tracking
    other = next(tool for tool in FREE_IDS if tool != watch._tool.id)
    sys.monitoring.use_tool_id(other, "another")
    try:
        run("b", made("f"))
    finally:
        sys.monitoring.free_tool_id(other)
    assert tests.count.passed_over == 1


@needs_monitoring
def test_both_tool_ids_are_given_back(tracking):
    run, _, watch = tracking
    f = made("f")
    run("b", f)
    assert all(sys.monitoring.get_tool(tool) for tool in FREE_IDS)
    watch.stop()
    assert not any(sys.monitoring.get_tool(tool) for tool in FREE_IDS)
    assert watch.fault == ""


@needs_monitoring
def test_a_line_has_a_cost():
    watch = LineTracker(Ownership("/project"), found := Budget())
    assert watch.start() == ""
    watch.stop()
    assert 0 < found.line < 1e-3
    assert watch.hits == []
